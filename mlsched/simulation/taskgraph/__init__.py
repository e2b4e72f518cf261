"""The world of task graphs: training jobs on the nodes of a cluster, and the check of a finished run."""

from mlsched.simulation.run import Drawn, Simulation
from mlsched.simulation.taskgraph import bound, outcome, replay, strategies
from mlsched.simulation.taskgraph.adapters import receding, rollout
from mlsched.simulation.taskgraph.assumed import assumed
from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.results import ticks_per_second
from mlsched.simulation.taskgraph.sources import SOURCES, from_trace
from mlsched.simulation.taskgraph.workload import Workload, never_start, overload
from mlsched.simulation.taskgraph.world import TaskgraphWorld

SIMULATION = Simulation(
    problem="taskgraph",
    simulator="tasks",
    workload_type=Workload,
    options_type=Options,
    world=TaskgraphWorld.of,
    scheduling_events="events",
    unit_of=lambda workload: ticks_per_second(workload.horizon.tick_ms),
    jobs=outcome.jobs,
    summary=outcome.summary,
    series=outcome.series,
    table=outcome.table,
    over_time=outcome.over_time,
    violations=replay.violations,
    never_start=never_start,
    overload=overload,
    sources=SOURCES,
    from_trace=from_trace,
    bound=bound.bound,
    assumed=assumed,
    rollout=rollout,
    receding=receding,
    drawn=Drawn(
        strategies.workloads,
        strategies.options,
        lambda: SOURCES["mlfs"](jobs=12, nodes=2),
        strategies.VERBS,
        roomy=strategies.roomy,
    ),
)

__all__ = ["SIMULATION", "Options", "TaskgraphWorld", "Workload"]
