"""Runs of a scheduler in the worlds of its problem: they end, and their logs pass the replay check."""

from __future__ import annotations

import dataclasses
import json
import warnings
from typing import Any

import numpy as np

from mlsched.core.contract import Instance
from mlsched.core.errors import MlschedError, SolverError, Stuck
from mlsched.simulation import every_simulation
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.run import Simulation
from mlsched.simulation.wake import Wake
from mlsched.testing.checks import Failed, fail
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.drawing import drawn
from mlsched.testing.room import served_with_room
from mlsched.testing.subject import Subject


class _Runs:
    """Makes runs in one world, and counts them, and those that end with jobs which the rule leaves waiting for room."""

    def __init__(self, tested: Subject, simulation: Simulation) -> None:
        self.tested, self.simulation = tested, simulation
        self.made = self.starved = 0

    def __call__(self, workload: Any, scheduling_events: str | None = None) -> None:
        """One run; raises Failed."""
        self.made += 1
        simulation, cadence = (
            self.simulation,
            Wake.parse(self.simulation.scheduling_events if scheduling_events is None else scheduling_events),
        )
        what = f"{simulation.simulator or simulation.problem} world, wake {cadence}, {workload!r}"
        implied = self.tested.solver.world_options(self.tested.params)
        options = simulation.options(implied)
        world = simulation.world(workload, options)
        try:
            unit = simulation.parts_of_second(workload)
            run_clock(world, _remembering(self.tested.rule()), scheduling_events=cadence, seed=0, unit=unit)
        except Stuck as error:
            if not served_with_room(self.tested, simulation, workload, implied, cadence):
                raise fail("runs", f"{error}; {what}") from error
            self.starved += 1
            return
        except MlschedError as error:
            raise fail("runs", f"{error}; {what}") from error
        for sentence in simulation.violations(workload, options, cadence, world.log):
            raise fail("runs", f"the replay check says: {sentence}; {what}")


def _remembering(rule: Rule) -> Rule:
    """The rule, held to what a memory must be: JSON, so that a run can be written to a file."""

    def call(instance: Instance, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        plan, after = rule.call(instance, memory, rng)
        try:
            json.dumps(after, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SolverError(f"{rule.name}: its memory is no JSON: {error}") from None
        return plan, after

    return dataclasses.replace(rule, call=call)


def make_runs(tested: Subject, problem: str, examples: int, long: bool) -> tuple[int, int, Counterexample | None]:
    """How many runs were made in all worlds of the problem, how many of them ended with jobs that wait for more room
    than there is, and what is wrong with the first bad one.

    One small run for 8 examples, two at least; long: a run of hundreds of decisions as well.
    """
    made = starved = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overloaded workloads are what is wanted here
        for simulation in every_simulation():
            if simulation.problem != problem or simulation.drawn is None:
                continue
            run = _Runs(tested, simulation)
            try:
                drawn(run, simulation.drawn.workloads(), max(2, examples // 8))
                if long:
                    run(simulation.drawn.long(), "events")
            except Failed as failed:
                return made + run.made, starved + run.starved, failed.counterexample
            made, starved = made + run.made, starved + run.starved
    return made, starved, None
