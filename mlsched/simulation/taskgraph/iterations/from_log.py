"""Conversion of a job log to a workload: its arrivals, sizes and running times as gangs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import NotNegative, Number, Positive, Range, flatten_groups
from mlsched.instances.traces import ABSENT, Nodes, Trace
from mlsched.instances.traces.picked import from_eligible, picked, separated
from mlsched.simulation.nodes import RESOURCES, capacities
from mlsched.simulation.taskgraph.iterations import of_log, sized
from mlsched.simulation.taskgraph.iterations.asked import Asked
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.fits import oversize as too_large
from mlsched.simulation.taskgraph.iterations.gangs import Cluster, made_gangs
from mlsched.simulation.taskgraph.iterations.rates import alike, typed
from mlsched.simulation.taskgraph.iterations.shape import shapes
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

#: Thousandths of a GPU, the unit of traces.
GPU = 1000
#: Ticks of a job from which rounding ends up to a tick has little effect.
SHORT = 5


@dataclasses.dataclass(frozen=True)
class GangOptions(ValidatedFields):
    """Parameters of `from_trace`; its docstring describes them."""

    tick: Number = 60
    iteration: Number = 60
    load: NotNegative = 0.0
    error: Annotated[float, Range(0, 0.5)] = 0.0
    arrivals: Positive = 1.0
    oversize: Literal["refuse", "drop"] = "refuse"
    shape: Literal["log", "fewest", "anywhere"] = "log"
    pause_cost: Annotated[float, Range(0, 10**6)] = 30.0
    movement: Literal["anytime", "between_iterations", "none"] = "anytime"
    partitions: Literal["log", "ignore"] = "log"
    gpu_types: Literal["log", "ignore"] = "log"
    classes: str = ""
    limits: Literal["ignore", "kill"] = "ignore"
    attempts: Literal["one", "separate"] = "one"
    arrive: Literal["submit", "eligible"] = "submit"
    failures: str = ""
    unlogged: Literal["keep", "drop"] = "keep"
    throughputs: str = ""
    measured_on: str = ""


@flatten_groups
@validate_arguments
def from_trace(trace: Trace, nodes: IntArray | Nodes | None, *, seed: int = 0, settings: GangOptions) -> Jobs:
    """Convert a trace's arrivals, GPUs and durations to gangs without edges: a task is a job's part on one node.

    A job with a share of a GPU, or without a GPU, is one task with that share. If such a job exists, the GPUs of a node
    are individual (`gpu_unit`). If all jobs lack GPUs, CPUs are counted instead. The tasks share the trace's other
    resources by GPU. A resource that the cluster lacks is left out, as are jobs without remaining demand. Only the
    errors of estimates are drawn. Traces lack graphs, deadlines and accuracies; the workload has none.

    Args:
        trace: Jobs of the trace.
        nodes: Nodes of the cluster. None: if the log has the times at which all of its jobs ran, the nodes that it
            names, or nodes of eight GPUs (or CPUs), for its own peak. Otherwise, or with a `load`, nodes of eight in
            the number that has this load while jobs arrive (0.8), and room for the largest job.
        seed: Seed of the errors.
        settings: Parameters with the following fields.
        shape: "fewest": a job of g GPUs has a task on each of the fewest possible nodes; on nodes of G GPUs one of g,
            or full ones and a remainder (see `shape`). "log": the same, but with the log's number of nodes of a job, in
            tasks as equal as possible, and with one task per logged pod. "anywhere": g tasks of one GPU on any nodes.
        pause_cost: Seconds without progress whenever a job continues after a pause or a move; a column of the log has
            priority.
        movement: Nodes on which runs may resume: "anytime" on any, "none" only on their own.
        tick: Seconds of a tick.
        iteration: Approximate seconds of an iteration, of which a job has at least one, so that rules can stop it after
            one.
        error: Errors of estimates are uniform up to twice this share.
        arrivals: Factor on the arrival rate.
        oversize: "drop" leaves out jobs that never fit.
        partitions, gpu_types: "log": a job runs on nodes of its partitions and GPU types, if the node list has them.
            "ignore": on any nodes.
        classes: Classes of jobs, served from the highest by rules that order jobs. "log": by the priorities of the log.
            "high/normal/low": by QoS, the first of these names first. "": without.
        limits: "kill": jobs run at most for their time limit.
        attempts: Jobs that were interrupted. "one": all runs together are one job. "separate": each is a job, submitted
            when the previous one ended.
        arrive: "eligible": jobs arrive at their logged earliest start, not at their submission.
        failures: File of failing nodes (node, from, to), on the log's clock; tasks on them stop (see the world's option
            restart).
        unlogged: "drop" leaves out jobs without logged run times, which prevent a replay.
        throughputs: Table of rates, by the log's `model` and GPUs, of the nodes' types (JSON of Gavel, or a CSV with
            model, gpus and one column per type).
        measured_on: Type of the log's durations; by default that of its `gpu_type` (see `rates`).
    """
    options = {"seed": seed, **dataclasses.asdict(settings)}
    if not len(trace.submit):
        raise InvalidInput(f"{trace.source}: 0 jobs, expected at least one; check limit")
    log, given_nodes = trace, nodes
    node_list, nodes = (nodes, capacities(nodes)) if isinstance(nodes, Nodes) else (None, nodes)
    trace, changed = _changed_trace(trace, settings.attempts, settings.arrive, settings.unlogged)
    demands = Asked.of(trace, nodes)
    rows, notes = demands.rows, [*demands.said, *changed]
    submit = trace.submit[rows]
    length, killed = of_log.killed(trace, rows, settings.limits)
    ticks = np.maximum(length, 1) / (1000 * settings.tick)
    arrival = np.floor((submit - submit[0]) / (settings.arrivals * settings.tick)).astype(np.int64)
    if nodes is None:
        nodes, how = sized.for_load(demands, arrival, ticks, settings.load or sized.LOAD)
        notes.append(how)
    notes += _rounding_notes(submit, arrival, settings.arrivals * settings.tick, ticks)
    costs = np.where(trace.pause_cost_ms[rows] < 0, round(1000 * settings.pause_cost), trace.pause_cost_ms[rows])
    eligible, of_class, where = of_log.eligible(
        trace, rows, node_list, len(nodes), settings.partitions, settings.gpu_types
    )
    kinds = typed(trace, rows, node_list, eligible, of_class, settings.throughputs, settings.measured_on)
    if kinds is not None:
        eligible, of_class = kinds.eligible, kinds.of_class
    rates = kinds.said if kinds else alike(trace, rows, node_list, settings.gpu_types == "log")
    priority, order = of_log.priorities(trace, rows, settings.classes)
    notes += [sentence for sentence in (killed, where, order, rates) if sentence]
    demand = demands.by_gpu()
    columns, gpu = np.flatnonzero(demand.any(axis=0) | nodes.any(axis=0)), RESOURCES.index("gpu_milli")
    workload = made_gangs(
        Cluster(
            capacity=nodes[:, columns],
            resources=tuple(RESOURCES[r] for r in columns.tolist()),
            gpu_unit=GPU if (demand[:, gpu] % GPU).any() and not (nodes[:, gpu] % GPU).any() else 0,
            tick_ms=1000 * settings.tick,
        ),
        tasks=_shaped_tasks(demands, columns, nodes, eligible, of_class, settings.shape, trace.node_count[rows]),
        eligible=eligible,
        classes=of_class,
        pause_cost=costs * (WHOLE // 1000) // settings.tick,
        movement=settings.movement,
        arrival=arrival,
        ticks=ticks,
        iteration=settings.iteration / settings.tick,
        factor=1 + settings.error * np.random.default_rng([seed, len(rows)]).uniform(-2, 2, len(rows)),
        source=f"{trace.source}; gangs; shape={settings.shape}; a pause costs {_pause_cost_text(costs)}; "
        f"movement={settings.movement}; "
        f"ticks of {settings.tick} s; iterations of {settings.iteration} s; estimates off by {settings.error:g}; "
        f"arrival rate x {settings.arrivals:g}{''.join(f'; {sentence}' for sentence in notes)}",
    )
    workload = workload.replace(
        **of_log.of_users(trace, rows, settings.tick),
        **of_log.logged(trace, rows, int(submit[0])),
        priority=priority,
        node_names=() if node_list is None else node_list.ids,
        rate_ppm=max(1, round(WHOLE * settings.arrivals)),
        **(kinds.fields() if kinds else {}),
    )
    if given_nodes is None and len(workload.logged_job):
        if not settings.load and settings.arrivals == 1:
            return _on_logged_peak(workload, demands, lambda nodes: from_trace(log, nodes, **options))
        workload = workload.replace(made_for_load=1)
    if settings.failures:
        workload = workload.replace(
            **of_log.failing(workload, settings.failures, node_list, settings.arrivals * 1000 * settings.tick)
        )
    return _without_oversize(workload) if settings.oversize == "drop" else workload


def _on_logged_peak(workload: Jobs, demands: Asked, again: Callable[[IntArray | Nodes], Jobs]) -> Jobs:
    """Return the workload on nodes by the log's own peak: the named ones, or equal ones if a job does not fit on these.

    Args:
        workload: The workload on any nodes.
        demands: Demands of the jobs.
        again: Builds the workload on given nodes.
    """
    if (log_nodes := sized.by_names(workload)) is not None:
        nodes, how = log_nodes
        fitting_workload = again(nodes)
        if not never_start(fitting_workload):
            return sized.enlarged(fitting_workload.replace(source=f"{fitting_workload.source}; {how}"))
    equal, how = sized.by_peak(workload, demands)
    fitting_workload = again(equal)
    return sized.enlarged(fitting_workload.replace(source=f"{fitting_workload.source}; {how}"))


def _changed_trace(trace: Trace, attempts: str, arrive: str, unlogged: str) -> tuple[Trace, list[str]]:
    """Return the trace changed by these options, and a description of the changes."""
    notes = []
    if unlogged == "drop" and len(known_jobs := np.unique(trace.runs.job)) < len(trace):
        notes.append(f"{len(trace) - len(known_jobs)} jobs left out of which the log does not say when they ran")
        if not len(known_jobs):
            raise InvalidInput(f"{shorten(trace.source, 100)}: start times are missing; read start=COLUMN")
        trace = picked(trace, known_jobs, trace.submit[known_jobs])
    if attempts == "separate":
        trace, more = separated(trace)
        notes.append(f"every run of an interrupted job is a job: {more} more")
    elif (again := _count_requeued(trace)) > 0:
        notes.append(f"{again} jobs were interrupted: their runs are one job (attempts=separate: a job each)")
    if arrive == "eligible":
        trace, later_jobs = from_eligible(trace)
        notes.append(f"{later_jobs} jobs come when they are eligible, after their submit")
    elif (trace.eligible_ms != ABSENT).any():
        later = int((trace.eligible_ms >= 1000 * (trace.submit + 1)).sum())
        notes += [f"{later} jobs were eligible after their submit only (arrive=eligible)"] if later else []
    if any(trace.after):
        waiting = sum(map(bool, trace.after))
        notes.append(f"{waiting} jobs of the log wait for others: that does not count (arrive=eligible comes near)")
    return trace, notes


def _count_requeued(trace: Trace) -> int:
    """Return the number of jobs that ran again after they had ended."""
    runs = trace.runs
    again = (runs.job[1:] == runs.job[:-1]) & (runs.start_ms[1:] >= runs.end_ms[:-1])
    return len(np.unique(runs.job[1:][again]))


def _rounding_notes(submit: IntArray, arrival: IntArray, tick: float, ticks: FloatArray) -> list[str]:
    """Describe submissions that are rounded down to ticks, and jobs that are short compared with a tick."""
    notes = []
    if late := round(float(((submit - submit[0]) - arrival * tick).max(initial=0)), 3):
        notes.append(f"submits rounded down by up to {late:.4g} s")
    if len(ticks) and np.median(ticks) < SHORT:
        notes.append(f"half the jobs run less than {SHORT} ticks, and ends are rounded up to one: set tick to less")
    return notes


def _shaped_tasks(
    demands: Asked,
    columns: IntArray,
    nodes: IntArray,
    eligible: IntArray,
    of_class: IntArray,
    shape: str,
    node_count: IntArray,
) -> list[IntArray]:
    """Return the demands of each job's tasks, shape (tasks, used resources), made for the nodes of its class.

    Args:
        demands: Demands of the jobs.
        columns: Numbers of the used resources.
        nodes: Capacities, shape (nodes, RESOURCES).
        eligible: 1 where jobs of a class may use a node, shape (classes, nodes).
        of_class: Class of each job.
        shape: The option `shape` of workloads from logs.
        node_count: Logged number of nodes of each job.
    """
    task_column = columns.tolist().index(demands.counted)
    tasks: list[IntArray] = [demands.of_jobs[:0]] * len(of_class)
    for number, is_eligible in enumerate(eligible == 1):
        jobs = np.flatnonzero(of_class == number)
        logged_tasks = [demands.of_tasks[job][:, columns] for job in jobs.tolist()] if demands.of_tasks else []
        tasks_of_jobs = shapes(
            demands.of_jobs[jobs][:, columns],
            nodes[is_eligible][:, columns],
            task_column,
            shape,
            1000,
            node_count[jobs],
            logged_tasks,
        )
        for job, rows in zip(jobs.tolist(), tasks_of_jobs, strict=True):
            tasks[job] = rows
    return tasks


def _pause_cost_text(milliseconds: IntArray) -> str:
    """Describe the costs of pauses."""
    low, high = milliseconds.min() / 1000, milliseconds.max() / 1000
    return f"{low:g} s" if low == high else f"{low:g} to {high:g} s"


def _without_oversize(jobs: Jobs) -> Jobs:
    """Remove the jobs that never fit the cluster; the source gives their number."""
    fits = np.array([not too_large(jobs, template) for template in range(len(jobs.gang))])
    rows = np.flatnonzero(fits[jobs.template])
    dropped = len(jobs.template) - len(rows)
    return jobs.replace(**jobs.only(rows), source=f"{jobs.source}; {dropped} jobs that never fit left out")
