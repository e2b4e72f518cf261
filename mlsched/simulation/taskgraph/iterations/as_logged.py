"""The log itself as a policy: every job starts when the log says it started, and ends when it ended.

Nobody decides anything, and nothing is rounded to ticks: times are the log's milliseconds. Where jobs ran is known by
node only if the log says so, so that what holds is the cluster's capacity (`lint`), not that every job had room on
some node. The bound is that of the same log in milliseconds; it may differ from the bound of the runs beside it by what
ticks round (with ticks as fine as the log's times, it does not).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
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
    """A row for every run that the log has: its job, and [start, end) in milliseconds after the log's first submit."""

    names: ClassVar[tuple[str, ...]] = ("job", "start", "end")
    order: ClassVar[tuple[str, ...]] = ("job", "start")


def played(jobs: Jobs) -> LoggedRuns:
    """What the log says; InvalidInput where it does not say when its jobs ran."""
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
    """Whether the run is the log's; what in the log itself cannot have been is for `lint` to say."""
    return [] if log.rows == played(jobs).rows else ["log: its runs are not those that the workload has as logged"]


def jobs_of(jobs: Jobs, log: LoggedRuns) -> dict[str, Any]:
    """Column name -> one value a job, as of runs, but in milliseconds."""
    c, count = log.columns(), len(jobs.arrival)
    start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, c["job"], c["start"])
    np.maximum.at(end, c["job"], c["end"])
    reached = _reached(c["job"], c["end"])
    busy = _busy(c["job"], c["start"], c["end"], reached, count)
    return {
        "arrival": jobs.submit_ms,
        "start": start,
        "completion": end,
        "jct": end - jobs.submit_ms,
        "waiting": end - np.minimum(jobs.submit_ms, start) - busy,
        "iterations": jobs.max_iterations,
        "pauses": _gaps(c["job"], c["start"], reached, count),
    }


def _busy(job: IntArray, start: IntArray, end: IntArray, reached: IntArray, count: int) -> IntArray:
    """For each job, how long some run of it was under way: runs at the same time (pods) count once."""
    found = np.zeros(count, dtype=np.int64)
    np.add.at(found, job, np.maximum(end - np.maximum(start, reached), 0))
    return found


def _gaps(job: IntArray, start: IntArray, reached: IntArray, count: int) -> IntArray:
    """For each job, how often it went on after a time without any run."""
    again = np.append(False, job[1:] == job[:-1]) & (start > reached)
    return np.bincount(job[again], minlength=count)


def _reached(job: IntArray, end: IntArray) -> IntArray:
    """For each run, the latest end of the runs of its job before it; far back where there is none."""
    far = np.iinfo(np.int64).min // 2
    reached = np.full(len(job), far)
    latest, of = far, -1
    for k, (number, until) in enumerate(zip(job.tolist(), end.tolist(), strict=True)):
        if number != of:
            latest, of = far, number
        reached[k] = latest
        latest = max(latest, until)
    return reached


def summary(jobs: Jobs, log: LoggedRuns) -> dict[str, Any]:
    """The figures of a run that a log has as well, by the same names; times in ticks, with fractions."""
    table, tick, c = jobs_of(jobs, log), jobs.tick_ms, log.columns()
    makespan = float(table["completion"].max() - jobs.submit_ms.min())
    used = held(jobs) * (c["end"] - c["start"])[:, None].astype(np.float64)
    there = jobs.node_capacity.sum(axis=0) * makespan
    wanted = jobs.demand.max(axis=0, initial=0) > 0
    shares = zip(jobs.resources, wanted.tolist(), used.sum(axis=0).tolist(), there.tolist(), strict=True)
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
        "utilisation": {name: u / t if t else 0.0 for name, asked, u, t in shares if asked},
    }


def bound(jobs: Jobs, pausing: bool = True) -> dict[str, float]:
    """What no schedule of the log's jobs can be below that gives them as long as they ran; ticks, with fractions.

    While a job runs it holds no less than in that of its runs in which it had least. Jobs whose runs overlap (pods) are
    a piece a run. pausing: whatever is said, since a log does not say what was allowed, jobs may pause.
    """
    pieces, unit = _pieces(jobs)
    try:
        found = lower_bounds(pieces)
    except InvalidInput:  # demand x time beyond whole numbers: the resource that tasks are counted by is enough
        counted = [next((k for k, name in enumerate(jobs.resources) if name == "gpu_milli"), 0)]
        narrow = dataclasses.replace(pieces, demand=pieces.demand[:, counted], capacity=pieces.capacity[counted])
        found = lower_bounds(narrow)
    return {name: value * unit / jobs.tick_ms for name, value in found.items()}


def _pieces(jobs: Jobs) -> tuple[Pieces, int]:
    """The jobs as bounds ask for them, and how many milliseconds their unit of time is."""
    amounts, job = held(jobs), jobs.logged_job
    length = jobs.logged_end - jobs.logged_start
    reached = _reached(job, jobs.logged_end)
    overlap = np.unique(job[jobs.logged_start < reached])
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
    """What was held when, in milliseconds; the node is not told apart (0)."""
    c = log.columns()
    nothing = np.zeros(len(c["job"]), dtype=np.int64)
    return results.Holdings(c["job"], nothing, c["start"], c["end"], held(jobs), nothing.astype(np.bool_))


def _cluster(jobs: Jobs) -> results.Cluster:
    return results.Cluster(jobs.resources, jobs.node_capacity, 1, jobs.gpu_unit)


def table(jobs: Jobs, log: LoggedRuns) -> dict[str, Any]:
    """What came of every job, as of runs; on how many nodes it was is 0 where the log names none."""
    made = results.table(jobs_of(jobs, log), holdings(jobs, log), _cluster(jobs), **names(jobs))
    named = np.flatnonzero(jobs.place_name >= 0)
    pairs = np.unique(np.column_stack([jobs.logged_job[jobs.place_run[named]], jobs.place_name[named]]), axis=0)
    return made | {"nodes": np.bincount(pairs[:, 0], minlength=len(jobs.arrival))}


def over_time(jobs: Jobs, log: LoggedRuns) -> dict[str, Any]:
    """The cluster over time, as of runs, without what needs to know the nodes."""
    return results.over_time(jobs_of(jobs, log), holdings(jobs, log), _cluster(jobs), None)


def series(jobs: Jobs, log: LoggedRuns) -> dict[str, Any]:
    """Samples for plots of distributions, ticks."""
    table_ = jobs_of(jobs, log)
    return {"job completion time": table_["jct"] / jobs.tick_ms, "waiting time": table_["waiting"] / jobs.tick_ms}


def assumed(jobs: Jobs, options: Options) -> dict[str, str]:
    """What the log's own run takes for granted."""
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
