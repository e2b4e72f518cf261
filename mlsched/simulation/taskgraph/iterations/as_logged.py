"""Replay of a log as a policy: every job starts and ends at its logged times.

There are neither decisions nor rounding to ticks: times are the log's milliseconds. Nodes are known only if the log has
them, so that `lint` compares the runs with the cluster's capacity, and not with the room of some node. The bound is
that of the same log in milliseconds. It may differ from the bound of other runs by the rounding to ticks; with ticks as
fine as the log's times, it is equal.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from mlsched.core.aliases import Columns, Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.bound import Pieces, lower_bounds
from mlsched.simulation.log import Log
from mlsched.simulation.metrics import percentiles
from mlsched.simulation.taskgraph import results
from mlsched.simulation.taskgraph.iterations.lint import held
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.outcome import names
from mlsched.simulation.taskgraph.iterations.workload import Jobs
from mlsched.simulation.taskgraph.merits import fairness
from mlsched.simulation.wake import Wake

NAME = "as-logged"


@dataclasses.dataclass(eq=False)
class LoggedRuns(Log):
    """One row for every run of the log: its job, and [start, end) in milliseconds after the log's first submission."""

    names: ClassVar[tuple[str, ...]] = ("job", "start", "end")
    order: ClassVar[tuple[str, ...]] = ("job", "start")


def played(jobs: Jobs) -> LoggedRuns:
    """Return the logged runs.

    Raises:
        InvalidInput: The log lacks the times at which its jobs ran.
    """
    if not len(jobs.logged_job):
        raise InvalidInput(
            f"{NAME}: the log lacks the start of some jobs; read start=COLUMN,end=COLUMN (sacct: Start "
            "and End), or drop jobs without them with unlogged=drop"
        )
    if jobs.rate_ppm != 10**6:
        rate = jobs.rate_ppm / 10**6
        raise InvalidInput(
            f"{NAME}: the log ran at its own rate of arrivals, not {rate:g} times as fast; leave out arrivals"
        )
    if jobs.made_for_load:
        raise InvalidInput(
            f"{NAME}: the nodes were made for a load, not for the log's own run; leave out load, or give a cluster"
        )
    if jobs.slowness.size:
        raise InvalidInput(f"{NAME}: the log ran at its own rates; leave out throughputs, or rates of the log: rates=")
    columns = (jobs.logged_job, jobs.logged_start, jobs.logged_end)
    return LoggedRuns(list(zip(*(column.tolist() for column in columns), strict=True)))


def violations(jobs: Jobs, options: Options, scheduling_events: Wake, log: LoggedRuns) -> list[str]:
    """Check that the run is the log's; impossible entries of the log itself are reported by `lint`."""
    return [] if log.rows == played(jobs).rows else ["log: its runs are not those that the workload has as logged"]


def jobs_of(jobs: Jobs, log: LoggedRuns) -> Columns:
    """Return column name -> one value per job, as of other runs, but in milliseconds."""
    c, count = log.columns(), len(jobs.arrival)
    start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, c["job"], c["start"])
    np.maximum.at(end, c["job"], c["end"])
    latest_end = _latest_end_before(c["job"], c["end"])
    busy = _busy_time(c["job"], c["start"], c["end"], latest_end, count)
    return {
        "arrival": jobs.submit_ms,
        "start": start,
        "completion": end,
        "jct": end - jobs.submit_ms,
        "waiting": end - np.minimum(jobs.submit_ms, start) - busy,
        "iterations": jobs.max_iterations,
        "pauses": _count_gaps(c["job"], c["start"], latest_end, count),
    }


def _busy_time(job: IntArray, start: IntArray, end: IntArray, latest_end: IntArray, count: int) -> IntArray:
    """Return for each job the time with at least one of its runs: simultaneous runs (pods) count once."""
    ticks = np.zeros(count, dtype=np.int64)
    np.add.at(ticks, job, np.maximum(end - np.maximum(start, latest_end), 0))
    return ticks


def _count_gaps(job: IntArray, start: IntArray, latest_end: IntArray, count: int) -> IntArray:
    """Return for each job the number of continuations after a time without any run."""
    again = np.append(False, job[1:] == job[:-1]) & (start > latest_end)
    return np.bincount(job[again], minlength=count)


def _latest_end_before(job: IntArray, end: IntArray) -> IntArray:
    """Return for each run the latest end of the previous runs of its job; a very early time without any."""
    far = np.iinfo(np.int64).min // 2
    latest_end = np.full(len(job), far)
    latest, of = far, -1
    for k, (number, until) in enumerate(zip(job.tolist(), end.tolist(), strict=True)):
        if number != of:
            latest, of = far, number
        latest_end[k] = latest
        latest = max(latest, until)
    return latest_end


def summary(jobs: Jobs, log: LoggedRuns) -> Data:
    """Return the figures of a run that are available for logs, by the same names; times in fractional ticks."""
    table, tick, c = jobs_of(jobs, log), jobs.tick_ms, log.columns()
    makespan = float(table["completion"].max() - jobs.submit_ms.min())
    use = held(jobs) * (c["end"] - c["start"])[:, None].astype(np.float64)
    there = jobs.node_capacity.sum(axis=0) * makespan
    is_demanded = jobs.demand.max(axis=0, initial=0) > 0
    shares = zip(jobs.resources, is_demanded.tolist(), use.sum(axis=0).tolist(), there.tolist(), strict=True)
    return {
        "jobs": len(jobs.arrival),
        "tick_seconds": tick / 1000,
        "total_jct": float(table["jct"].sum()) / tick,
        "makespan": makespan / tick,
        "mean_jct": float(table["jct"].mean()) / tick,
        "jct_percentiles": percentiles(table["jct"] / tick),
        "mean_waiting": float(table["waiting"].mean()) / tick,
        **fairness(table, jobs),
        "segments": len(log.rows),
        "pauses": int(table["pauses"].sum()),
        "utilisation": {name: u / t if t else 0.0 for name, demanded, u, t in shares if demanded},
    }


def bound(jobs: Jobs, pausing: bool = True) -> dict[str, float]:
    """Return lower bounds for schedules that run the log's jobs for their logged times; in fractional ticks.

    A running job uses at least the smallest amount of its runs. Jobs with overlapping runs (pods) have one piece per
    run. `pausing` is ignored: a log does not record whether pauses were allowed, so jobs may pause.
    """
    pieces, unit = _job_pieces(jobs)
    try:
        bounds = lower_bounds(pieces)
    except InvalidInput:  # demand x time exceeds exact integers: the resource by which tasks are counted is enough
        task_column = [next((k for k, name in enumerate(jobs.resources) if name == "gpu_milli"), 0)]
        narrow = dataclasses.replace(
            pieces, demand=pieces.demand[:, task_column], capacity=pieces.capacity[task_column]
        )
        bounds = lower_bounds(narrow)
    return {name: value * unit / jobs.tick_ms for name, value in bounds.items()}


def _job_pieces(jobs: Jobs) -> tuple[Pieces, int]:
    """Return the jobs as pieces for bounds, and the milliseconds of their unit of time."""
    amounts, job = held(jobs), jobs.logged_job
    length = jobs.logged_end - jobs.logged_start
    latest_end = _latest_end_before(job, jobs.logged_end)
    overlap = np.unique(job[jobs.logged_start < latest_end])
    unit = max(1, math.gcd(*jobs.submit_ms.tolist(), *length.tolist()))
    of, lengths, demand, weight = list[int](), list[int](), list[IntArray](), list[float]()
    first = np.searchsorted(job, np.arange(len(jobs.arrival) + 1)).tolist()
    together = set(overlap.tolist())
    for number, (begin, end) in enumerate(zip(first[:-1], first[1:], strict=True)):
        if number not in together:
            of.append(number)
            lengths.append(int(length[begin:end].sum()))
            demand.append(amounts[begin:end].min(axis=0))
            weight.append(1.0)
            continue
        area = (length[begin:end] * np.maximum(amounts[begin:end].max(axis=1), 1)).astype(np.float64)
        for run in range(begin, end):
            of.append(number)
            lengths.append(int(length[run]))
            demand.append(amounts[run])
            weight.append(float(area[run - begin] / area.sum()))
    arrival = jobs.submit_ms // unit
    running = np.zeros(len(arrival), dtype=np.int64)
    np.maximum.at(running, np.array(of), np.array(lengths) // unit)
    pieces = Pieces(
        arrival=arrival,
        running=running,
        capacity=jobs.node_capacity.sum(axis=0),
        job=np.array(of, dtype=np.int64),
        release=arrival[of],
        length=np.array(lengths, dtype=np.int64) // unit,
        demand=np.array(demand, dtype=np.int64),
        after=np.zeros(len(of), dtype=np.int64),
        weight=np.array(weight),
    )
    return pieces, unit


def holdings(jobs: Jobs, log: LoggedRuns) -> results.Holdings:
    """Return the use over time in milliseconds; the node is always 0."""
    c = log.columns()
    nothing = np.zeros(len(c["job"]), dtype=np.int64)
    return results.Holdings(c["job"], nothing, c["start"], c["end"], held(jobs), nothing.astype(np.bool_))


def _cluster_columns(jobs: Jobs) -> results.Cluster:
    return results.Cluster(jobs.resources, jobs.node_capacity, 1, jobs.gpu_unit)


def table(jobs: Jobs, log: LoggedRuns) -> Columns:
    """Return the results of every job, as of other runs; the number of nodes is 0 if the log lacks them."""
    columns = results.table(jobs_of(jobs, log), holdings(jobs, log), _cluster_columns(jobs), **names(jobs))
    named_places = np.flatnonzero(jobs.place_name >= 0)
    pairs = np.unique(
        np.column_stack([jobs.logged_job[jobs.place_run[named_places]], jobs.place_name[named_places]]), axis=0
    )
    return columns | {"nodes": np.bincount(pairs[:, 0], minlength=len(jobs.arrival))}


def over_time(jobs: Jobs, log: LoggedRuns) -> dict[str, FloatArray | IntArray]:
    """Return the cluster over time, as of other runs, without the columns that need nodes."""
    return results.over_time(jobs_of(jobs, log), holdings(jobs, log), _cluster_columns(jobs), None)


def series(jobs: Jobs, log: LoggedRuns) -> Columns:
    """Return samples for plots of distributions, ticks."""
    table_ = jobs_of(jobs, log)
    return {"job completion time": table_["jct"] / jobs.tick_ms, "waiting time": table_["waiting"] / jobs.tick_ms}


def assumed(jobs: Jobs, options: Options) -> dict[str, str]:
    """Return the assumptions of the log's own run."""
    return {
        "shape": "as logged: what jobs held in all, wherever it was",
        "pause cost": "as logged",
        "movement": "as logged",
        "tick": "none: the log's own times, not rounded; its bound is that of the same times",
    }


__all__ = [
    *("NAME", "LoggedRuns", "assumed", "bound", "holdings", "jobs_of", "over_time", "played", "series"),
    *("summary", "table", "violations"),
]
