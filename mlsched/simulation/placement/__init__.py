"""The Harmony world: jobs placed in batches that disturb each other, its options, and the check of a finished run."""

from mlsched.simulation.placement import outcome, replay, strategies
from mlsched.simulation.placement.options import Options
from mlsched.simulation.placement.synthetic import SOURCES
from mlsched.simulation.placement.traces import from_trace
from mlsched.simulation.placement.workload import Workload, never_start, overload
from mlsched.simulation.placement.world import PlacementWorld
from mlsched.simulation.run import Drawn, Simulation

SIMULATION = Simulation(
    problem="placement",
    workload_type=Workload,
    options_type=Options,
    world=PlacementWorld,
    scheduling_events="interval:1200",
    jobs=outcome.jobs,
    summary=outcome.summary,
    series=outcome.series,
    violations=replay.violations,
    never_start=never_start,
    overload=overload,
    sources=SOURCES,
    from_trace=from_trace,
    drawn=Drawn(
        strategies.workloads,
        strategies.options,
        lambda: SOURCES["uniform"](jobs=500),
        strategies.VERBS,
        roomy=strategies.roomy,
    ),
)

__all__ = ["SIMULATION", "Options", "PlacementWorld", "Workload"]
