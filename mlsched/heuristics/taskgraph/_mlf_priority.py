"""Priorities of the tasks in MLF-H: Equations 2 to 6 of MLFS (Section 3.3.1), for all tasks of a snapshot at once."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import UNLIMITED, FloatArray, IntArray
from mlsched.heuristics.taskgraph.measures import remaining_ticks
from mlsched.instances.taskgraph import Snapshot

#: `role` of a parameter server.
SERVER = 1
#: The deadline's term of Equation 4 after the deadline: as for a deadline in one tick; as printed, below 0; or left
#: out.
OVERDUE = ("tick", "printed", "none")
#: The highest urgency.
LEVELS = 10


@dataclasses.dataclass(frozen=True)
class Weights:
    """The constants of Equations 2 to 6, under the paper's names, and the scales that make their terms comparable.

    `levels`: m, the highest urgency; 0 ignores urgency. `scale`: ticks of one unit of time in Equation 4; 0: the mean
    of the tasks' estimated running times. `overdue`: the deadline's term of an overdue task (see `OVERDUE`).
    """

    alpha: float = 0.3
    gamma: float = 0.8
    gamma_d: float = 0.3
    gamma_r: float = 0.3
    gamma_w: float = 0.35
    levels: int = LEVELS
    scale: float = 0.0
    overdue: str = "tick"


def priorities(snapshot: Snapshot, stop_after: IntArray, weights: Weights) -> FloatArray:
    """Return P of each task (Eq. 6); a parameter server has the highest of its job.

    Equations 3 and 5 are the same sum over paths, with the same gamma, so both parts are summed together.
    """
    ml, computation = learning(snapshot, weights), computing(snapshot, stop_after, weights)
    combined = along_paths(snapshot, weights.alpha * ml + (1 - weights.alpha) * computation, weights.gamma)
    servers = np.flatnonzero(snapshot.role == SERVER)
    if servers.size:
        highest = np.full(len(snapshot.arrival), -np.inf)
        np.maximum.at(highest, snapshot.task_job, combined)
        combined[servers] = highest[snapshot.task_job[servers]]
    return combined


def learning(snapshot: Snapshot, weights: Weights) -> FloatArray:
    """Return P'ML of each task (Eq. 2), in [0, 1]: urgency x 1/I x share of last loss reduction x partition's share.

    I counts from 1: the current iteration. Urgency counts as a share of the highest urgency.
    """
    urgency = np.minimum(snapshot.urgency / weights.levels, 1.0) if weights.levels else 1.0
    of_job = urgency / (snapshot.finished + 1) * loss_share(snapshot)
    return np.asarray(of_job[snapshot.task_job] * partition_share(snapshot))


def loss_share(snapshot: Snapshot) -> FloatArray:
    """Return for each job the loss reduction of the last finished iteration over the total so far, within [0, 1].

    The share is 1 if the ratio is 0/0 because fewer than two iterations are finished. It is 0 for jobs whose loss has
    not fallen or is not reported. If reports are more than an iteration apart, an iteration's part of the last report
    counts.
    """
    counts = np.bincount(snapshot.sample_job, minlength=len(snapshot.arrival))
    has_reports = counts >= 2
    last = (np.cumsum(counts) - 1)[has_reports]
    first = last - counts[has_reports] + 1
    at, loss = snapshot.sample_iteration, snapshot.sample_loss
    fell = (loss[last - 1] - loss[last]) / np.maximum(at[last] - at[last - 1], 1)
    share = np.zeros(len(counts))
    share[has_reports] = fell / np.maximum(loss[first] - loss[last], 1)
    return np.asarray(np.where(snapshot.finished < 2, 1.0, np.clip(share, 0.0, 1.0)))


def partition_share(snapshot: Snapshot) -> FloatArray:
    """Return S_k / S_J for each task: its parameters over the parameters of its job's model, within [0, 1].

    The model is counted once, for any number of replicas. Without known parameters, partitions are equal.
    """
    job, jobs = snapshot.task_job, len(snapshot.arrival)
    works = snapshot.role != SERVER
    replicas = np.ones(jobs, dtype=np.int64)
    np.maximum.at(replicas, job, snapshot.replica + 1)
    model = np.bincount(job, weights=snapshot.parameters * works, minlength=jobs) / replicas
    workers = np.bincount(job, weights=works, minlength=jobs) / replicas
    equal = 1 / np.maximum(workers, 1)
    share = np.divide(snapshot.parameters, model[job], out=equal[job], where=model[job] > 0)
    return np.asarray(np.minimum(share, 1.0))


def computing(snapshot: Snapshot, stop_after: IntArray, weights: Weights) -> FloatArray:
    """Return P'C of each task (Eq. 4): near deadline, little left, long wait; times in units of `weights.scale`.

    A task is a worker that runs in every iteration: its remaining work is all of its runs until its job stops. Its
    deadline is the job's, minus the longest estimated path after it. Time to the deadline and time left count as at
    least one tick, so that the terms stay finite. `weights.overdue` defines the term of an overdue task.
    """
    remaining = remaining_ticks(snapshot, stop_after)
    scale = weights.scale or _mean_running_time(snapshot, stop_after)
    deadline = snapshot.deadline[snapshot.task_job]
    slack = deadline - (snapshot.tails - snapshot.duration) - snapshot.now
    ahead = np.where((slack < 0) & (weights.overdue == "printed"), slack, np.maximum(slack, 1))
    lacks = (deadline >= UNLIMITED) | ((slack <= 0) & (weights.overdue == "none"))
    near = np.where(lacks, 0.0, weights.gamma_d * scale / ahead)
    waited = snapshot.now - snapshot.waiting_since
    return np.asarray(near + weights.gamma_r * scale / np.maximum(remaining, 1) + weights.gamma_w * waited / scale)


def _mean_running_time(snapshot: Snapshot, stop_after: IntArray) -> float:
    """Return the mean of the estimated running times of all tasks, from a job's first iteration to its last."""
    times = snapshot.duration * stop_after[snapshot.task_job]
    return float(max(times.mean(), 1.0)) if times.size else 1.0


def along_paths(snapshot: Snapshot, own: FloatArray, gamma: float) -> FloatArray:
    """Return for each task its own value plus gamma times the values of its successors in the iteration (Eq. 3, 5)."""
    inside = snapshot.edge_lag == 0
    u, v = snapshot.edge_from[inside], snapshot.edge_to[inside]
    total, ahead = own.copy(), own  # `ahead`: sums along the paths of one length, then of the next length
    while u.size:
        ahead = np.asarray(gamma * np.bincount(u, weights=ahead[v], minlength=len(own)), dtype=np.float64)
        total += ahead
        longer = ahead[v] != 0
        u, v = u[longer], v[longer]
    return total
