"""The SLAQ world: training jobs with loss curves on shared cores, its options, and the check of a finished run."""

from mlsched.simulation.quality import outcome, replay, strategies
from mlsched.simulation.quality.options import Options
from mlsched.simulation.quality.rollout import rollout
from mlsched.simulation.quality.synthetic import SOURCES, from_trace
from mlsched.simulation.quality.workload import Workload, never_start, overload
from mlsched.simulation.quality.world import QualityWorld
from mlsched.simulation.run import Drawn, Simulation

SIMULATION = Simulation(
    problem="quality",
    workload_type=Workload,
    options_type=Options,
    world=QualityWorld,
    scheduling_events="interval:3",
    jobs=outcome.jobs,
    summary=outcome.summary,
    series=outcome.series,
    violations=replay.violations,
    never_start=never_start,
    overload=overload,
    sources=SOURCES,
    from_trace=from_trace,
    rollout=rollout,
    drawn=Drawn(
        strategies.workloads,
        strategies.options,
        lambda: SOURCES["table1"](jobs=60),
        strategies.VERBS,
        roomy=strategies.roomy,
    ),
)

__all__ = ["SIMULATION", "Options", "QualityWorld", "Workload"]
