"""AlloX's matching of jobs to places in the queues of machines (Le et al., EuroSys 2020, Section 4.2).

Each machine runs one job at a time. A job that is the k-th from the last on its machine delays itself and k - 1 others
by its own duration. The sum of completion times is therefore sum (k p_im + d_i), d_i being the past waiting time of job
i. This is a matching of jobs with places (machine, k), which is integral. Equal machines need at most k <= ceil(jobs /
machines) places, because a lower k is free on another of them. (The sum counts p of a job once for itself and for
everyone behind it, hence k, in whatever order the other machines work.)
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Queues:
    """A job's type, machine of that type, and place from the last (1: it runs last); -1, -1, 0 for one that cannot run.

    Attributes:
        total: Sum of completion times and past waiting times, over the jobs that can run, seconds.
    """

    type: IntArray
    machine: IntArray
    place: IntArray
    total: float

    def first(self) -> IntArray:
        """Return the jobs that run first on their machines."""
        top: dict[tuple[int, int], tuple[int, int]] = {}
        for job, spot in enumerate(zip(self.type.tolist(), self.machine.tolist(), strict=True)):
            if spot[0] >= 0:
                top[spot] = max(top.get(spot, (0, -1)), (int(self.place[job]), job))
        return np.array(sorted(job for _, job in top.values()), dtype=np.int64)


def allox(seconds: FloatArray, machines: IntArray, waited: FloatArray | None = None) -> Queues:
    """Return the queues of the least sum of completion times (AlloX, Eq. 2).

    Args:
        seconds: p_im, shape (jobs, types); inf if a job cannot run.
        machines: Number of machines of each type.
        waited: d_i, seconds.
    """
    from scipy.optimize import linear_sum_assignment

    if seconds.shape[1:] != machines.shape:
        raise InvalidInput(f"seconds: has shape {seconds.shape}, expected jobs x {len(machines)} types")
    if np.isnan(seconds).any() or (seconds < 0).any():
        raise InvalidInput("seconds: every entry must be >= 0, or inf where a job cannot run")
    usable = np.isfinite(seconds) & (machines > 0)
    able = np.flatnonzero(usable.any(axis=1))
    jobs = len(able)
    kinds, which, place = [], [], []
    for m, count in enumerate(np.minimum(machines, jobs).tolist()):
        if count:
            places = np.arange(1, -(-jobs // count) + 1)
            kinds.append(np.full(len(places) * count, m))
            which.append(np.tile(np.arange(count), len(places)))
            place.append(np.repeat(places, count))
    nowhere = np.full(len(seconds), -1)
    result = Queues(nowhere, nowhere.copy(), np.zeros_like(nowhere), 0.0)
    if not jobs:
        return result
    kind, number, k = np.concatenate(kinds), np.concatenate(which), np.concatenate(place)
    cost = np.where(usable, seconds, np.inf)[able][:, kind] * k
    rows, columns = linear_sum_assignment(cost)
    result.type[able[rows]], result.machine[able[rows]] = kind[columns], number[columns]
    result.place[able[rows]] = k[columns]
    sums = float(cost[rows, columns].sum()) + (0.0 if waited is None else float(waited[able].sum()))
    return dataclasses.replace(result, total=sums)
