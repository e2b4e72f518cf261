"""Runs of a scheduler in the simulators of its problem: they must end, and their logs must pass the replay."""

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
from mlsched.testing.checks import Failed, failure
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.drawing import examine_draws
from mlsched.testing.room import serves_in_larger_cluster
from mlsched.testing.subject import Subject


class _RunExaminer:
    """Runs in one simulator, with their number, and the number that ended with jobs waiting for space."""

    def __init__(self, tested: Subject, simulation: Simulation) -> None:
        self.tested, self.simulation = tested, simulation
        self.made = self.starved = 0

    def __call__(self, workload: Any, scheduling_events: str | None = None) -> None:
        """Make one run; raise Failed for a fault."""
        self.made += 1
        simulation, cadence = (
            self.simulation,
            Wake.parse(self.simulation.scheduling_events if scheduling_events is None else scheduling_events),
        )
        description = f"{simulation.simulator or simulation.problem} world, wake {cadence}"
        implied_options = self.tested.solver.world_options(self.tested.params)
        options = simulation.options(implied_options)
        world = simulation.world(workload, options)
        try:
            unit = simulation.parts_of_second(workload)
            run_clock(world, _with_memory_check(self.tested.rule()), scheduling_events=cadence, seed=0, unit=unit)
        except Stuck as error:
            if not serves_in_larger_cluster(self.tested, simulation, workload, implied_options, cadence):
                raise failure("runs", f"{error}; {description}", workload=workload) from error
            self.starved += 1
            return
        except MlschedError as error:
            raise failure("runs", f"{error}; {description}", workload=workload) from error
        for sentence in simulation.violations(workload, options, cadence, world.log):
            raise failure("runs", f"the replay check reports: {sentence}; {description}", workload=workload)


def _with_memory_check(rule: Rule) -> Rule:
    """Wrap the rule to check that its memory is JSON, so that a run can be saved."""

    def call(instance: Instance, memory: object, rng: np.random.Generator) -> tuple[Any, Any]:
        plan, after = rule.call(instance, memory, rng)
        try:
            json.dumps(after, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SolverError(f"{rule.name}: its memory is not JSON: {error}") from None
        return plan, after

    return dataclasses.replace(rule, call=call)


def make_runs(scheduler: Subject, problem: str, examples: int, long: bool) -> tuple[int, int, Counterexample | None]:
    """Make runs in all simulators of the problem: one small run per 8 examples, at least two.

    Args:
        scheduler: The scheduler under test.
        problem: Name of the problem.
        examples: Number of examples of the complete check.
        long: Also make a run of hundreds of decisions.

    Returns:
        Number of runs, number of runs that ended with jobs waiting for more space than the cluster has, and the
        counterexample of the first faulty run.
    """
    run_count = starved_count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overloaded workloads are intended here
        for simulation in every_simulation():
            if simulation.problem != problem or simulation.drawn is None:
                continue
            run = _RunExaminer(scheduler, simulation)
            try:
                examine_draws(run, simulation.drawn.workloads(), max(2, examples // 8))
                if long:
                    run(simulation.drawn.long(), "events")
            except Failed as failed_run:
                return run_count + run.made, starved_count + run.starved, failed_run.counterexample
            run_count, starved_count = run_count + run.made, starved_count + run.starved
    return run_count, starved_count, None
