"""What rules order jobs and tasks by: what is left of them, their shares, their owners, and when jobs stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.params import check_choice
from mlsched.instances.taskgraph import Snapshot

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Shares are counted in parts of this, where they are not counted exactly.
FINE = 2**20
#: When jobs that may stop early do: after as many iterations as allowed, as few, or with the required accuracy.
STOPS = ("most", "least", "required")
#: Whose share a job's tasks count towards: its own, or its user's.
PER = ("job", "user")


def tasks_of(snapshot: Snapshot, job: int) -> tuple[int, int]:
    """The tasks of a job: from the first to before the second number."""
    first, end = snapshot.task_job.searchsorted((job, job + 1)).tolist()
    return first, end


def candidates(snapshot: Snapshot) -> IntArray:
    """Tasks that could start, were there room: those with the longest way to the end of their iteration first."""
    ready = np.flatnonzero(snapshot.startable)
    return np.asarray(ready[np.argsort(-snapshot.tails[ready], kind="stable")])


def by_job(snapshot: Snapshot, *keys: Any) -> IntArray:
    """Candidates in the order of their jobs' keys, the first key first, then by arrival; a job's own as they come.

    Jobs of a higher `priority` come before all others.
    """
    tasks = np.flatnonzero(snapshot.startable)
    jobs = snapshot.task_job[tasks]
    if (jobs[1:] == jobs[:-1]).any():  # the order within a job matters
        tasks = candidates(snapshot)
        jobs = snapshot.task_job[tasks]
    columns = [*by_class(snapshot), *keys, snapshot.arrival, snapshot.job_id]
    return np.asarray(tasks[np.lexsort([np.asarray(key)[jobs] for key in reversed(columns)])])


def by_class(snapshot: Snapshot) -> list[IntArray]:
    """The first key of an order of jobs: their classes, where there are several; else nothing."""
    return [-snapshot.priority] if snapshot.priority.any() else []


def remaining_ticks(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """For each task, the estimated ticks of all its runs until its job stops, the one under way included.

    A run that has outlasted its estimate counts one more tick.
    """
    rounds = np.maximum(stop_after - snapshot.finished, 1)[snapshot.task_job] - 1
    return np.asarray(rounds * snapshot.duration + run_left(snapshot))


def run_left(snapshot: Snapshot) -> IntArray:
    """For each task, the estimated ticks left of its run in the current iteration; 0 where that is done.

    A run that has outlasted its estimate counts one more tick.
    """
    elapsed = snapshot.progress + np.where(snapshot.state == 1, snapshot.now - snapshot.start, 0)
    left = np.maximum(snapshot.duration - elapsed, np.minimum(snapshot.duration, 1))
    return np.asarray(np.where(snapshot.state == 3, 0, left))


def remaining_time(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """For each job, the estimated ticks until it stops if it never waits: the longest chain, in every iteration left.

    Of the iteration under way, the longest chain of what is left of its runs. Transfers are not counted.
    """
    chains = np.zeros((2, len(snapshot.arrival)), dtype=np.int64)
    np.maximum.at(chains[0], snapshot.task_job, snapshot.tails)
    np.maximum.at(chains[1], snapshot.task_job, snapshot.chains(run_left(snapshot)))
    return np.asarray((np.maximum(stop_after - snapshot.finished, 1) - 1) * chains[0] + chains[1])


def iteration_ticks(snapshot: Snapshot) -> IntArray:
    """For each job, the longest chain of estimated durations of one iteration."""
    ticks = np.zeros(len(snapshot.arrival), dtype=np.int64)
    np.maximum.at(ticks, snapshot.task_job, snapshot.tails)
    return ticks


def shares(snapshot: Snapshot) -> Floats:
    """For each task, its demand's dominant share of the whole cluster."""
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    return np.asarray((snapshot.demand / total).max(axis=1, initial=0.0))


def share_units(snapshot: Snapshot) -> IntArray:
    """For each task, its demand's dominant share of the whole cluster in whole units, the same for all tasks.

    Exact where the resources' totals have a least common multiple below 2^20, otherwise in units of 2^-20.
    """
    return units_of_shares(snapshot.demand, snapshot.node_capacity)


def units_of_shares(demand: IntArray, capacity: IntArray) -> IntArray:
    """As `share_units`, of amounts (tasks, resources) on nodes with this capacity."""
    total = np.maximum(capacity.sum(axis=0), 1)
    asked = np.flatnonzero(demand.any(axis=0))
    common = math.lcm(*total[asked].tolist())
    if common <= FINE:
        return np.asarray((demand[:, asked] * (common // total[asked])).max(axis=1, initial=0))
    return np.asarray(np.rint((demand / total).max(axis=1, initial=0.0) * FINE).astype(np.int64))


def sum_per_job(snapshot: Snapshot, values: IntArray) -> IntArray:
    """Sum of a whole number a task over the tasks of each job, exactly."""
    found = np.zeros(len(snapshot.arrival), dtype=np.int64)
    np.add.at(found, snapshot.task_job, values)
    return found


def per_job(snapshot: Snapshot, values: Any) -> Floats:
    """Sum of a value a task over the tasks of each job."""
    sums: Floats = np.bincount(snapshot.task_job, weights=values, minlength=len(snapshot.arrival)).astype(np.float64)
    return sums


def owners(snapshot: Snapshot, per: str) -> IntArray:
    """jobs: whose share each job's tasks count towards, 0 and on: the job's own ("job"), or its user's ("user")."""
    check_choice("per", per, PER)
    if per == "job":
        return np.arange(len(snapshot.arrival))
    return np.asarray(np.unique(snapshot.user, return_inverse=True)[1])


def stops_after(snapshot: Snapshot, stop: str) -> IntArray:
    """After how many iterations each job shall stop."""
    check_choice("stop", stop, STOPS)
    if stop == "most":
        return snapshot.max_iterations
    begun = np.zeros(len(snapshot.arrival), dtype=np.int64)
    begun[snapshot.task_job[snapshot.state != 0]] = 1
    low = np.maximum(snapshot.min_iterations, snapshot.finished + begun)
    if stop == "least":
        return np.asarray(low)
    enough = snapshot.accuracy[snapshot.accuracy_table] >= snapshot.required[:, None]
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), snapshot.max_iterations)
    return np.asarray(np.clip(first, low, snapshot.max_iterations))
