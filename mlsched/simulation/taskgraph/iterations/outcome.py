"""Results of a run of the iteration engine: per-job columns, and figures of merit by the objectives' own names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Columns, Data
from mlsched.core.fields import UNLIMITED, FloatArray, IntArray
from mlsched.instances.taskgraph import gpus
from mlsched.instances.taskgraph.gpus import gpu_column
from mlsched.simulation.taskgraph import results
from mlsched.simulation.taskgraph.iterations.log import FAIL, MOVE, PAUSE, Segments
from mlsched.simulation.taskgraph.iterations.pace import Paces
from mlsched.simulation.taskgraph.iterations.segment import Segment
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.merits import samples, summed_up


def jobs(workload: Jobs, log: Segments) -> dict[str, Any]:
    """Return column name -> one value per job.

    Times are in ticks: `start` and `completion` since the run began, `jct` since arrival.

    - waiting: ticks of its stay without a task on a node.
    - iterations: number run; `on_time` by its deadline.
    - accuracy: ppm, of the iterations that `accuracy_at` counts.
    - traffic: volume of the edges between nodes, for every iteration that ended under the placement (of lag 1 not in a
      job's first); the data fetched by moves is left out.
    """
    return _job_columns(workload, log, log.columns())


def _job_columns(workload: Jobs, log: Segments, columns: dict[str, IntArray]) -> dict[str, IntArray]:
    count = len(workload.arrival)
    start, completion = np.full(count, UNLIMITED), workload.arrival.copy()
    np.minimum.at(start, columns["job"], columns["start"])
    np.maximum.at(completion, columns["job"], columns["end"])
    placed_ticks = np.bincount(columns["job"], columns["end"] - columns["start"], minlength=count).astype(np.int64)
    iterations = workload.max_iterations.copy()
    for job, limit, _ in log.stops:
        iterations[job] = limit
    on_time = _on_time(workload, log, columns, iterations, completion)
    accuracy_iterations = on_time if workload.accuracy_at == "deadline" else iterations
    column = np.minimum(accuracy_iterations, max(0, workload.accuracy.shape[1] - 1))
    return {
        "arrival": workload.arrival,
        "start": np.where(start == UNLIMITED, -1, start),
        "completion": completion,
        "jct": completion - workload.arrival,
        "waiting": completion - workload.arrival - placed_ticks,
        "iterations": iterations,
        "on_time": on_time,
        "met": (completion <= workload.deadline).astype(np.int64),
        "accuracy": workload.accuracy[workload.accuracy_table[workload.template], column],
        "traffic": _traffic_volume(workload, log, iterations),
        "pauses": np.bincount(columns["job"][columns["outcome"] == PAUSE], minlength=count),
        "migrations": np.bincount(columns["job"][columns["outcome"] == MOVE], minlength=count),
    }


def _on_time(
    workload: Jobs, log: Segments, columns: dict[str, IntArray], iterations: IntArray, completion: IntArray
) -> IntArray:
    """Return the iterations of each job that ended by its deadline."""
    on_time = np.where(completion <= workload.deadline, iterations, 0)
    # Late jobs: the last segment that starts by the deadline counts; the rows of a job are in order of time.
    deadlines = workload.deadline[columns["job"]]
    for at in np.flatnonzero((completion[columns["job"]] > deadlines) & (deadlines >= columns["start"])).tolist():
        job, start, end, finished, part, first, cycle, delay, cost, _ = log.rows[at]
        segment = Segment(start, finished, part, log.places[at], first, cycle, delay, cost)
        on_time[job] = min(int(iterations[job]), segment.progress(min(int(workload.deadline[job]), end))[0])
    return on_time


def _traffic_volume(workload: Jobs, log: Segments, iterations: IntArray) -> IntArray:
    """Return the volume that each job sent between nodes."""
    sent_volume = np.zeros(len(workload.arrival), dtype=np.int64)
    if not len(workload.edge_from):
        return sent_volume
    owner = workload.task_template[workload.edge_from]
    edges = {template: np.flatnonzero(owner == template) for template in np.unique(owner).tolist()}
    finished_after = dict(
        enumerate(iterations.tolist())
    )  # finished iterations at the end of the segment, from the last on
    for row, nodes in sorted(zip(log.rows, log.places, strict=True), key=lambda r: r[0][1], reverse=True):
        job, finished, ended_iterations = row[0], row[3], finished_after[row[0]] - row[3]
        finished_after[job] = finished
        of_it = edges.get(int(workload.template[job]))
        if of_it is None or not ended_iterations:
            continue
        place, first = np.array(nodes), workload.span(job)[0]
        is_cut = place[workload.edge_from[of_it] - first] != place[workload.edge_to[of_it] - first]
        times = ended_iterations - (workload.edge_lag[of_it] == 1) * (finished == 0)
        sent_volume[job] += int((workload.edge_volume[of_it] * is_cut * times).sum())
    return sent_volume


def summary(workload: Jobs, log: Segments) -> Data:
    """Return the objectives of the run by name, and additional figures. Times in ticks."""
    segments = log.columns()
    table, holding = _job_columns(workload, log, segments), _node_use(workload, log, segments)
    use = (holding.demand * (holding.end - holding.start)[:, None]).sum(axis=0, dtype=np.float64)
    figures = summed_up(table, workload, use, {"segments": len(log.rows)})
    if table["waiting"].any() and gpu_column(workload.resources) >= 0:
        shape = results.shape_of(table, holding, _cluster_columns(workload), _kinds_of_jobs(workload))
        figures["waiting_for_shape"] = shape.share_for_shape()
        figures["fragmentation"] = shape.mean_fragmentation()
    if len(workload.failure_node):
        figures["failed_runs"] = int((segments["outcome"] == FAIL).sum())
    return figures | ({"overload": _overload_figures(workload, log, figures["makespan"])} if log.above else {})


def _overload_figures(workload: Jobs, log: Segments, makespan: int) -> Data:
    """Return frequency and cost of usage above capacity, for a run with drawn usage.

    `above`: for each demanded resource, the share of node-time (for individual GPUs, of GPU-time) with more usage than
    capacity. `slowdown`: the time in which jobs worked over the undisturbed time of the same work.
    """
    places = (workload.node_capacity > 0).sum(axis=0)
    if workload.gpu_unit:
        places[gpu_column(workload.resources)] = gpus.counts(workload).sum()
    is_demanded = (workload.demand.max(axis=0, initial=0) > 0).tolist()
    paces, worked, undisturbed = Paces(workload), 0.0, 0.0
    for row, nodes in zip(log.rows, log.places, strict=True):
        job, start, end, _, _, _, cycle, delay, cost, _ = row
        if cycle:
            ticks = max(0.0, end - start - delay - cost / WHOLE)
            worked += ticks
            undisturbed += ticks * paces.of(job, list(nodes)).cycle / cycle
    above = zip(workload.resources, is_demanded, log.above, places.tolist(), strict=True)
    return {
        "above": {name: ticks / max(1, count * makespan) for name, demanded, ticks, count in above if demanded},
        "slowdown": worked / undisturbed if undisturbed else 1.0,
    }


def holdings(workload: Jobs, log: Segments) -> results.Holdings:
    """Return the node use over time: one row for each placed task of each segment."""
    return _node_use(workload, log, log.columns())


def _node_use(workload: Jobs, log: Segments, columns: dict[str, IntArray]) -> results.Holdings:
    counts = np.fromiter(map(len, log.places), dtype=np.int64, count=len(log.places))
    nodes = np.fromiter(itertools.chain.from_iterable(log.places), dtype=np.int64, count=int(counts.sum()))
    row = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.array([begin for begin, _ in workload.tasks], dtype=np.int64)
    job = columns["job"][row]
    task = first[workload.template[job]] + within
    demand = (workload.demand * (workload.duration > 0)[:, None])[task]
    placed = nodes >= 0
    start, end, slowed = columns["start"][row], columns["end"][row], _slowed_segments(workload, log, columns)[row]
    return results.Holdings(job[placed], nodes[placed], start[placed], end[placed], demand[placed], slowed[placed])


def _slowed_segments(workload: Jobs, log: Segments, columns: dict[str, IntArray]) -> npt.NDArray[np.bool_]:
    """Return which segments had iterations longer than undisturbed, shape (segments,)."""
    if not log.above:  # disturbances need drawn usage
        return np.zeros(len(log.rows), dtype=np.bool_)
    paces = Paces(workload)
    rows = zip(columns["job"].tolist(), columns["cycle"].tolist(), log.places, strict=True)
    alone = [paces.of(job, nodes).cycle if cycle else 0 for job, cycle, nodes in rows]
    return np.asarray(columns["cycle"] > np.array(alone, dtype=np.int64))


def table(workload: Jobs, log: Segments) -> Columns:
    """Return the results of every job, see `results.table`."""
    return results.table(jobs(workload, log), holdings(workload, log), _cluster_columns(workload), **names(workload))


def names(workload: Jobs) -> Data:
    """Return names and users of the jobs, and their groups, partitions and statuses if the log has them."""
    columns: Columns = {"job": np.array(workload.job_names)} if workload.job_names else {}
    columns["user"] = np.array(workload.user_names)[workload.user] if workload.user_names else workload.user
    for name in ("group", "partition", "status"):
        entry_names = getattr(workload, f"{name}_names")
        if entry_names:
            columns[name] = np.array(entry_names)[getattr(workload, name)]
    return columns


def over_time(workload: Jobs, log: Segments) -> dict[str, FloatArray | IntArray]:
    """Return the cluster over time, see `results.over_time`."""
    return results.over_time(
        jobs(workload, log), holdings(workload, log), _cluster_columns(workload), _kinds_of_jobs(workload)
    )


def _kinds_of_jobs(workload: Jobs) -> results.Kinds:
    """Return the tasks of the templates, which are the kinds of jobs."""
    demand, may = workload.demand * (workload.duration > 0)[:, None], workload.eligible[workload.task_class] == 1
    spans = [slice(*span) for span in workload.tasks]
    return workload.template, [demand[span] for span in spans], [may[span] for span in spans]


def _cluster_columns(workload: Jobs) -> results.Cluster:
    return results.Cluster(workload.resources, workload.node_capacity, workload.tick_ms, workload.gpu_unit)


def series(workload: Jobs, log: Segments) -> Columns:
    """Return samples for plots of distributions, ticks."""
    return samples(jobs(workload, log))
