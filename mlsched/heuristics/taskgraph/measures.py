"""Sort keys of rules: remaining work, shares and owners of jobs and tasks, and the iterations after which jobs stop."""

from __future__ import annotations

import math

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import check_choice
from mlsched.instances.taskgraph import Snapshot

#: Units per share, unless shares are counted exactly.
FINE = 2**20
#: When jobs that may stop early do: after the most or the fewest allowed iterations, or with the required accuracy.
STOPS = ("most", "least", "required")
#: Owner of a job's share: the job itself, or its user.
PER = ("job", "user")


def tasks_of(snapshot: Snapshot, job: int) -> tuple[int, int]:
    """Return the tasks of a job: from the first to before the second number."""
    first, end = snapshot.task_job.searchsorted((job, job + 1)).tolist()
    return first, end


def candidates(snapshot: Snapshot) -> IntArray:
    """Return the tasks that could start with enough room, the longest way to the end of their iteration first."""
    ready = np.flatnonzero(snapshot.startable)
    return np.asarray(ready[np.argsort(-snapshot.tails[ready], kind="stable")])


def by_job(snapshot: Snapshot, *keys: Array) -> IntArray:
    """Sort the candidates by their jobs' keys, the first key first, then by arrival; keep the order within a job.

    Jobs of a higher `priority` come before all others.
    """
    tasks = np.flatnonzero(snapshot.startable)
    jobs = snapshot.task_job[tasks]
    if (jobs[1:] == jobs[:-1]).any():  # otherwise the order within a job does not matter
        tasks = candidates(snapshot)
        jobs = snapshot.task_job[tasks]
    columns = [*by_class(snapshot), *keys, snapshot.arrival, snapshot.job_id]
    return np.asarray(tasks[np.lexsort([np.asarray(key)[jobs] for key in reversed(columns)])])


def by_class(snapshot: Snapshot) -> list[IntArray]:
    """Return the first key of an order of jobs: their classes, if there are several; else []."""
    return [-snapshot.priority] if snapshot.priority.any() else []


def remaining_ticks(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """Return for each task the estimated ticks of all its runs until its job stops, including the current run.

    A run that has exceeded its estimate counts one more tick.
    """
    rounds = np.maximum(stop_after - snapshot.finished, 1)[snapshot.task_job] - 1
    return np.asarray(rounds * snapshot.duration + run_left(snapshot))


def run_left(snapshot: Snapshot) -> IntArray:
    """Return for each task the estimated ticks left of its run in the current iteration; 0 if that is finished.

    A run that has exceeded its estimate counts one more tick.
    """
    elapsed = snapshot.progress + np.where(snapshot.state == 1, snapshot.now - snapshot.start, 0)
    remaining = np.maximum(snapshot.duration - elapsed, np.minimum(snapshot.duration, 1))
    return np.asarray(np.where(snapshot.state == 3, 0, remaining))


def remaining_time(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """Return each job's estimated ticks until it stops without waiting: the longest chain in every remaining iteration.

    In the current iteration, the longest chain of the rest of its runs counts. Transfers are not counted.
    """
    chains = np.zeros((2, len(snapshot.arrival)), dtype=np.int64)
    np.maximum.at(chains[0], snapshot.task_job, snapshot.tails)
    np.maximum.at(chains[1], snapshot.task_job, snapshot.chains(run_left(snapshot)))
    return np.asarray((np.maximum(stop_after - snapshot.finished, 1) - 1) * chains[0] + chains[1])


def iteration_ticks(snapshot: Snapshot) -> IntArray:
    """Return for each job the longest chain of estimated durations of one iteration."""
    ticks = np.zeros(len(snapshot.arrival), dtype=np.int64)
    np.maximum.at(ticks, snapshot.task_job, snapshot.tails)
    return ticks


def shares(snapshot: Snapshot) -> FloatArray:
    """Return for each task its demand's dominant share of the complete cluster."""
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    return np.asarray((snapshot.demand / total).max(axis=1, initial=0.0))


def share_units(snapshot: Snapshot) -> IntArray:
    """Return each task's dominant share of the complete cluster in integer units, the same for all tasks.

    Exact if the resources' totals have a least common multiple below 2^20, otherwise in units of 2^-20.
    """
    return units_of_shares(snapshot.demand, snapshot.node_capacity)


def units_of_shares(demand: IntArray, capacity: IntArray) -> IntArray:
    """Return `share_units` of amounts (tasks, resources) on nodes with this capacity."""
    total = np.maximum(capacity.sum(axis=0), 1)
    demands = np.flatnonzero(demand.any(axis=0))
    common = math.lcm(*total[demands].tolist())
    if common <= FINE:
        return np.asarray((demand[:, demands] * (common // total[demands])).max(axis=1, initial=0))
    return np.asarray(np.rint((demand / total).max(axis=1, initial=0.0) * FINE).astype(np.int64))


def sum_per_job(snapshot: Snapshot, values: IntArray) -> IntArray:
    """Sum an integer per task over the tasks of each job, exactly."""
    result = np.zeros(len(snapshot.arrival), dtype=np.int64)
    np.add.at(result, snapshot.task_job, values)
    return result


def per_job(snapshot: Snapshot, values: Array) -> FloatArray:
    """Sum a value per task over the tasks of each job."""
    jobs = len(snapshot.arrival)
    sums: FloatArray = np.bincount(snapshot.task_job, weights=values, minlength=jobs).astype(np.float64)
    return sums


def owners(snapshot: Snapshot, per: str) -> IntArray:
    """Return the owner of each job's share, numbered from 0: the job itself ("job"), or its user ("user")."""
    check_choice("per", per, PER)
    if per == "job":
        return np.arange(len(snapshot.arrival))
    return np.asarray(np.unique(snapshot.user, return_inverse=True)[1])


def stops_after(snapshot: Snapshot, stop: str) -> IntArray:
    """Return the number of iterations after which each job shall stop."""
    check_choice("stop", stop, STOPS)
    if stop == "most":
        return snapshot.max_iterations
    in_iteration = np.zeros(len(snapshot.arrival), dtype=np.int64)
    in_iteration[snapshot.task_job[snapshot.state != 0]] = 1
    low = np.maximum(snapshot.min_iterations, snapshot.finished + in_iteration)
    if stop == "least":
        return np.asarray(low)
    enough = snapshot.accuracy[snapshot.accuracy_table] >= snapshot.required[:, None]
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), snapshot.max_iterations)
    return np.asarray(np.clip(first, low, snapshot.max_iterations))
