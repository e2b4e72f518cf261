"""Simulator of rounds: jobs do steps at a rate for each GPU type, in rounds of some minutes (Gavel)."""

from mlsched.simulation.run import Drawn, Simulation
from mlsched_rounds.simulation import bound, outcome, replay, strategies
from mlsched_rounds.simulation.assumed import assumed
from mlsched_rounds.simulation.log import Log
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.sources import SOURCES, from_file, from_trace
from mlsched_rounds.simulation.workload import MICRO, Workload, never_start, overload
from mlsched_rounds.simulation.world import RoundsWorld

SIMULATION = Simulation(
    problem="rounds",
    simulator="gavel",
    workload_type=Workload,
    options_type=Options,
    world=RoundsWorld,
    scheduling_events="events",
    jobs=outcome.jobs,
    summary=outcome.summary,
    series=outcome.series,
    table=outcome.table,
    violations=replay.violations,
    never_start=never_start,
    overload=overload,
    sources=SOURCES,
    from_trace=from_trace,
    from_file=from_file,
    bound=bound.bound,
    held=outcome.complete,
    unit=MICRO,
    assumed=assumed,
    drawn=Drawn(
        strategies.workloads,
        strategies.options,
        lambda: SOURCES["mixed"](jobs=150, hours=2.0, cluster="fast=2,slow=4"),
        strategies.VERBS,
        wakes=("events",),
        roomy=strategies.roomy,
    ),
)

__all__ = ["SIMULATION", "Log", "Options", "RoundsWorld", "Workload"]
