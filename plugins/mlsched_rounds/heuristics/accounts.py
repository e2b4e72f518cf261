"""Gavel's mechanism (Narayanan et al., OSDI 2020, Section 5): choose the jobs of a round by the time they have had.

A policy gives shares X: the fraction of time that job j spends on type m. Each job has a time account t_jm on each
type, and each type has an account W_m. The job furthest below its share comes first:

    priority_jm = X_jm / (t_jm / W_m);    10^9 X_jm if W_m = 0;    0 if X_jm, the rate, or all shares of j are 0.

Accounts are reset when the policy is called again; the deficit carries a job's missing time over. All numbers are
floats, as in Gavel's program: among jobs with the same time, the last digits decide.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray

#: A job, or two jobs that share their GPUs, the smaller number first.
Unit = tuple[int, ...]

#: Priority of a share of 1 on a type that has been idle since the reset.
UNTOUCHED = 1e9


class Accounts:
    """Time, deficit, share and priority of each job on each type; jobs are numbered in order of arrival."""

    def __init__(self, jobs: int, types: int, rate: FloatArray, opening: float) -> None:
        self.rate, self.opening = rate, opening
        self.time = np.full((jobs, types), opening)
        self.deficit = np.zeros((jobs, types))
        self.share = np.zeros((jobs, types))
        self.known = np.zeros(jobs, dtype=np.bool_)  # the policy has been called since the job arrived
        self.total = np.zeros(types)
        self.last_reset = 0.0

    def rows(self, active: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows that may run: the active jobs."""
        return active

    def unit(self, row: int) -> Unit:
        """Return the jobs of a row."""
        return (row,)

    def row(self, unit: Unit) -> int:
        """Return the row of a job."""
        return unit[0]

    def book(self, unit: Unit, kind: int, seconds: float) -> None:
        """Add the time of a job or pair on a type. The type's account grows once, whatever the number of GPUs."""
        self.time[self.row(unit), kind] += seconds
        self.total[kind] += seconds

    def reset(self, active: npt.NDArray[np.int64], now: float) -> None:
        """Carry the missing time of the active jobs into their deficits, and restart all accounts."""
        due = self.share[active] * (now - self.last_reset)
        self.deficit[active] += due - (self.time[active] - self.opening)
        self.time[active] = self.opening
        self.total[:] = self.opening * len(active)
        self.last_reset = now

    def allocate(self, active: npt.NDArray[np.int64], share: FloatArray) -> None:
        """Store the policy's shares of the active jobs."""
        self.share[active] = share
        self.known[active] = True

    def priority(self, active: npt.NDArray[np.int64]) -> FloatArray:
        """Return the priorities of the active jobs on each type."""
        share, result = self.share[active], np.zeros((len(active), len(self.total)))
        request = (share != 0) & (self.rate[active] > 0) & self.known[active, None]
        for kind, total in enumerate(self.total.tolist()):
            rows = request[:, kind]
            if total == 0.0:
                result[rows, kind] = share[rows, kind] * UNTOUCHED
            else:
                result[rows, kind] = share[rows, kind] / (self.time[active[rows], kind] / total)
        return result

    def queue(self, active: npt.NDArray[np.int64], kind: int, priority: FloatArray) -> npt.NDArray[np.int64]:
        """Return the rows of the active jobs for a type: by falling priority, deficit and share, then by arrival."""
        keys = (-self.share[active, kind], -self.deficit[active, kind], -priority[:, kind])
        return np.lexsort(keys)
