"""Gavel's mechanism (Narayanan et al., OSDI 2020, Section 5): who runs in the coming round, by what each job has had.

A policy gives shares X: the part of its time that job j is to spend on type m. Each job and type holds a time account
t_jm, each type one of its own, W_m, and the job that lacks most of its share comes first:

    priority_jm = X_jm / (t_jm / W_m);    10^9 X_jm where W_m = 0;    0 where X_jm, the rate, or all shares of j lack.

Accounts are reset when the policy is asked anew; what a job then lacks is carried on in its deficit. All numbers are
floats, as they are in Gavel's program: among jobs that have had the same, their last digits decide.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
#: A job, or two jobs that share their GPUs, the smaller number first.
Unit = tuple[int, ...]

#: Priority of a share of 1 on a type on which nothing has run since the reset.
UNTOUCHED = 1e9


class Accounts:
    """Time, deficit, share and priority of each job on each type; jobs are numbered in order of arrival."""

    def __init__(self, jobs: int, types: int, rate: Floats, opening: float) -> None:
        self.rate, self.opening = rate, opening
        self.time = np.full((jobs, types), opening)
        self.deficit = np.zeros((jobs, types))
        self.share = np.zeros((jobs, types))
        self.known = np.zeros(jobs, dtype=np.bool_)  # the policy has been asked since the job arrived
        self.total = np.zeros(types)
        self.last_reset = 0.0

    def rows(self, active: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Rows that may run, given the active jobs: these jobs."""
        return active

    def unit(self, row: int) -> Unit:
        """The jobs of a row."""
        return (row,)

    def row(self, unit: Unit) -> int:
        """The row of a job."""
        return unit[0]

    def book(self, unit: Unit, kind: int, seconds: float) -> None:
        """A job, or a pair, ran for so long on a type. However many GPUs it holds, the type's account grows once."""
        self.time[self.row(unit), kind] += seconds
        self.total[kind] += seconds

    def reset(self, active: npt.NDArray[np.int64], now: float) -> None:
        """Carry what the active jobs lack into their deficits, and open all accounts anew."""
        due = self.share[active] * (now - self.last_reset)
        self.deficit[active] += due - (self.time[active] - self.opening)
        self.time[active] = self.opening
        self.total[:] = self.opening * len(active)
        self.last_reset = now

    def allocate(self, active: npt.NDArray[np.int64], share: Floats) -> None:
        """The policy's answer for the active jobs."""
        self.share[active] = share
        self.known[active] = True

    def priority(self, active: npt.NDArray[np.int64]) -> Floats:
        """Of the active jobs on each type."""
        share, found = self.share[active], np.zeros((len(active), len(self.total)))
        wanted = (share != 0) & (self.rate[active] > 0) & self.known[active, None]
        for kind, total in enumerate(self.total.tolist()):
            rows = wanted[:, kind]
            if total == 0.0:
                found[rows, kind] = share[rows, kind] * UNTOUCHED
            else:
                found[rows, kind] = share[rows, kind] / (self.time[active[rows], kind] / total)
        return found

    def queue(self, active: npt.NDArray[np.int64], kind: int, priority: Floats) -> npt.NDArray[np.int64]:
        """Rows of the active jobs for a type: by priority, then deficit, then share, each falling; then by arrival."""
        keys = (-self.share[active, kind], -self.deficit[active, kind], -priority[:, kind])
        return np.lexsort(keys)
