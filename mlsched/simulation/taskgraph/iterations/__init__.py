"""The world of task graphs by iterations: jobs keep nodes and run at the pace of their graph, at scale."""

from mlsched.simulation.run import AsLogged, Drawn, Simulation
from mlsched.simulation.taskgraph import strategies as tasks
from mlsched.simulation.taskgraph.iterations import as_logged, bound, outcome, replay, strategies
from mlsched.simulation.taskgraph.iterations.assumed import assumed
from mlsched.simulation.taskgraph.iterations.fits import never_start, overload
from mlsched.simulation.taskgraph.iterations.from_log import from_trace
from mlsched.simulation.taskgraph.iterations.lint import Finding, lint
from mlsched.simulation.taskgraph.iterations.log import Segments
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.sources import SOURCES, from_tasks
from mlsched.simulation.taskgraph.iterations.workload import Jobs
from mlsched.simulation.taskgraph.iterations.world import IterationWorld
from mlsched.simulation.taskgraph.results import ticks_per_second

_AS_LOGGED = Simulation(
    problem="taskgraph",
    simulator="iterations",
    workload_type=Jobs,
    options_type=Options,
    world=IterationWorld,
    scheduling_events="events",
    jobs=as_logged.jobs_of,
    summary=as_logged.summary,
    series=as_logged.series,
    table=as_logged.table,
    over_time=as_logged.over_time,
    violations=as_logged.violations,
    never_start=never_start,
    overload=overload,
    sources={},
    from_trace=from_trace,
    bound=as_logged.bound,
    assumed=as_logged.assumed,
    lint=lint,
)
SIMULATION = Simulation(
    problem="taskgraph",
    simulator="iterations",
    workload_type=Jobs,
    options_type=Options,
    world=IterationWorld,
    scheduling_events="events",
    unit_of=lambda jobs: ticks_per_second(jobs.tick_ms),
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
    replays_logs=True,
    knows_nodes=True,
    assumed=assumed,
    as_logged=AsLogged(as_logged.NAME, _AS_LOGGED, as_logged.LoggedRuns, as_logged.played),
    drawn=Drawn(
        lambda: strategies.workloads(gpus=True),
        strategies.options,
        lambda: SOURCES["gangs"](jobs=140, nodes=2),
        tasks.VERBS,
        roomy=strategies.roomy,
    ),
)

__all__ = ["SIMULATION", "Finding", "IterationWorld", "Jobs", "Options", "Segments", "from_tasks"]
