"""The Chic world: jobs that share workers and PSs, its interpretations, and the check of a finished run.

`phase` is Chic's decision phase for policies that act step by step; `batch` runs many episodes at once, for training.
"""

from mlsched.simulation.run import Drawn, Simulation
from mlsched.simulation.workers import outcome, replay, strategies
from mlsched.simulation.workers.options import Options
from mlsched.simulation.workers.rollout import rollout
from mlsched.simulation.workers.sources import SOURCES, from_trace
from mlsched.simulation.workers.tabulate import tabulate
from mlsched.simulation.workers.workload import MS, Workload, never_start, overload
from mlsched.simulation.workers.world import WorkersWorld

SIMULATION = Simulation(
    problem="workers",
    workload_type=Workload,
    options_type=Options,
    world=WorkersWorld,
    scheduling_events="events",
    jobs=outcome.jobs,
    summary=outcome.summary,
    series=outcome.series,
    violations=replay.violations,
    never_start=never_start,
    overload=overload,
    sources=SOURCES,
    from_trace=from_trace,
    rollout=rollout,
    tabulate=tabulate,
    unit=MS,
    drawn=Drawn(
        strategies.workloads,
        strategies.options,
        lambda: SOURCES["chic"](jobs=220),
        strategies.VERBS,
        strategies.WAKES,
        strategies.roomy,
    ),
)

__all__ = ["SIMULATION", "Options", "WorkersWorld", "Workload"]
