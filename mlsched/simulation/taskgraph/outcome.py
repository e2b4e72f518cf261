"""Results of a task-graph run: per-job columns, and figures of merit by the objectives' own names."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np

from mlsched.core.aliases import Columns, Data
from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.taskgraph import results
from mlsched.simulation.taskgraph.log import FINISH, MOVE, PAUSE, Log
from mlsched.simulation.taskgraph.merits import samples, summed_up
from mlsched.simulation.taskgraph.workload import Workload


def jobs(workload: Workload, log: Log) -> dict[str, Any]:
    """Return column name -> one value per job.

    Times are in ticks: `start` and `completion` since the run began, `jct` since arrival.

    - waiting: ticks of its stay without a running task.
    - iterations: number run; `on_time` by its deadline.
    - accuracy: ppm, of the iterations that `accuracy_at` counts.
    - traffic: volume sent between nodes.
    """
    horizon, c = workload.horizon, log.columns()
    count = len(horizon.arrival)
    start, completion = np.full(count, -1), horizon.arrival.copy()
    start[c["job"][::-1]] = c["start"][::-1]  # columns are sorted by start: the last write is the first row
    np.maximum.at(completion, c["job"], c["end"])
    iterations, on_time = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.maximum.at(iterations, c["job"], c["iteration"] + 1)
    for (job, _), end in _iteration_ends(c).items():
        on_time[job] += end <= int(horizon.deadline[job])
    accuracy_iterations = on_time if horizon.accuracy_at == "deadline" else iterations
    return {
        "arrival": horizon.arrival,
        "start": start,
        "completion": completion,
        "jct": completion - horizon.arrival,
        "waiting": completion - horizon.arrival - _executed_ticks(c, count),
        "iterations": iterations,
        "on_time": on_time,
        "met": (completion <= horizon.deadline).astype(np.int64),
        "accuracy": horizon.accuracy[np.arange(count), accuracy_iterations],
        "traffic": _traffic_volume(workload, c),
        "pauses": np.bincount(c["job"][c["outcome"] == PAUSE], minlength=count),
        "migrations": np.bincount(c["job"][c["outcome"] == MOVE], minlength=count),
    }


def _iteration_ends(c: dict[str, IntArray]) -> dict[tuple[int, int], int]:
    """Return (job, iteration) -> its completion time."""
    ends: dict[tuple[int, int], int] = defaultdict(int)
    for job, iteration, end in zip(c["job"].tolist(), c["iteration"].tolist(), c["end"].tolist(), strict=True):
        ends[job, iteration] = max(ends[job, iteration], end)
    return ends


def _executed_ticks(c: dict[str, IntArray], count: int) -> IntArray:
    """Return the ticks in which some task of each job ran: the length of the union of its segments."""
    executed, until = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for job, start, end in zip(c["job"].tolist(), c["start"].tolist(), c["end"].tolist(), strict=True):
        executed[job] += max(0, end - max(start, int(until[job])))
        until[job] = max(int(until[job]), end)
    return executed


def _traffic_volume(workload: Workload, c: dict[str, IntArray]) -> IntArray:
    """Return the volume that each job sent between nodes.

    A run fetches its inputs wherever it starts, and again if it continues elsewhere; then the volume of the task's edge
    to itself also moves.
    """
    horizon = workload.horizon
    places: dict[tuple[int, int], list[int]] = defaultdict(list)  # of each run, in order of time
    for task, iteration, node in zip(c["task"].tolist(), c["iteration"].tolist(), c["node"].tolist(), strict=True):
        if places[task, iteration][-1:] != [node]:
            places[task, iteration].append(node)
    final = {(task, i): nodes[-1] for (task, i), nodes in places.items()}
    rounds: dict[int, int] = defaultdict(int)
    for task, i in places:
        rounds[task] = max(rounds[task], i + 1)
    sent_volume = np.zeros(len(horizon.arrival), dtype=np.int64)
    columns = (horizon.edge_from, horizon.edge_to, horizon.edge_lag, horizon.edge_volume)
    for u, v, lag, volume in zip(*(column.tolist() for column in columns), strict=True):
        for i in range(rounds[v]):
            nodes = places[v, i]
            moves = len(nodes) - 1 if u == v and lag else 0
            source = final.get((u, i - lag))
            fetched = sum(node != source for node in (nodes[:1] if u == v else nodes)) if source is not None else 0
            sent_volume[horizon.task_job[v]] += volume * (fetched + moves)
    return sent_volume


def summary(workload: Workload, log: Log) -> Data:
    """Return the objectives of the run by name, and additional figures. Times in ticks."""
    horizon, c = workload.horizon, log.columns()
    use = (horizon.demand[c["task"]] * (c["end"] - c["start"])[:, None]).sum(axis=0)
    return summed_up(jobs(workload, log), horizon, use, {"runs": int((c["outcome"] == FINISH).sum())})


def holdings(workload: Workload, log: Log) -> results.Holdings:
    """Return the node use over time: one row for each run of a task, or part of a run."""
    c = log.columns()
    demand = workload.horizon.demand[c["task"]]
    return results.Holdings(c["job"], c["node"], c["start"], c["end"], demand, np.zeros(len(demand), dtype=np.bool_))


def table(workload: Workload, log: Log) -> Columns:
    """Return the results of every job, see `results.table`."""
    return results.table(jobs(workload, log), holdings(workload, log), _cluster_columns(workload))


def over_time(workload: Workload, log: Log) -> dict[str, FloatArray | IntArray]:
    """Return the cluster over time, see `results.over_time`."""
    return results.over_time(
        jobs(workload, log), holdings(workload, log), _cluster_columns(workload), _kinds_of_jobs(workload)
    )


def _kinds_of_jobs(workload: Workload) -> results.Kinds:
    """Return the tasks of the jobs, each job being a kind of its own."""
    horizon = workload.horizon
    demand, ends = horizon.demand * (horizon.duration > 0)[:, None], np.arange(len(horizon.arrival) + 1)
    spans = [slice(a, b) for a, b in pairwise(np.searchsorted(horizon.task_job, ends).tolist())]
    may = horizon.eligible == 1
    return ends[:-1], [demand[span] for span in spans], [may[span] for span in spans]


def _cluster_columns(workload: Workload) -> results.Cluster:
    horizon = workload.horizon
    return results.Cluster(horizon.resources, horizon.node_capacity, horizon.tick_ms, horizon.gpu_unit)


def series(workload: Workload, log: Log) -> dict[str, IntArray]:
    """Return samples for plots of distributions, ticks."""
    return samples(jobs(workload, log))
