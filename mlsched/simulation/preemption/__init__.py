"""The FitGpp world: its workloads, its simulator, its interpretations, and the check of a finished run."""

from mlsched.simulation.preemption import outcome, replay, strategies
from mlsched.simulation.preemption.bound import bound
from mlsched.simulation.preemption.options import Options
from mlsched.simulation.preemption.rollout import rollout
from mlsched.simulation.preemption.sources import SOURCES, from_trace
from mlsched.simulation.preemption.workload import Workload, never_start, overload
from mlsched.simulation.preemption.world import PreemptionWorld
from mlsched.simulation.run import Drawn, Simulation

SIMULATION = Simulation(
    problem="preemption",
    workload_type=Workload,
    options_type=Options,
    world=PreemptionWorld,
    scheduling_events="interval:60",
    jobs=outcome.jobs,
    summary=outcome.summary,
    series=outcome.series,
    violations=replay.violations,
    never_start=never_start,
    overload=overload,
    sources=SOURCES,
    from_trace=from_trace,
    rollout=rollout,
    bound=bound,
    drawn=Drawn(
        strategies.workloads,
        strategies.options,
        lambda: SOURCES["z"](jobs=6000, nodes=6),
        strategies.VERBS,
        strategies.WAKES,
    ),
)

__all__ = ["SIMULATION", "Options", "PreemptionWorld", "Workload"]
