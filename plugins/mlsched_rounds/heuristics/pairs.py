"""Accounts of jobs and of pairs of jobs that share their GPUs, as in Gavel's program.

Every two active jobs with equal GPU counts are a pair, whatever the policy wants. A pair has accounts, deficits and
priorities like a job, and both kinds are in one queue. Each job enters when it arrives, followed by its pairs with
earlier jobs. A new pair's account opens with 0, a job's with half a round; after a reset both have half a round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.heuristics.accounts import Accounts, Unit

#: Steps per second of two jobs that share their GPUs, shape (2, types); 0 if they do not fit.
Together = Callable[[int, int], FloatArray]
#: Placeholder for the second job in a row of a single job.
ALONE = -1


class PairAccounts(Accounts):
    """Accounts of the active jobs and pairs; `rows` brings them up to date.

    Attributes:
        gpus: GPUs of each job of the run.
        rate: Steps per second of each single job, shape (jobs, types).
    """

    def __init__(self, gpus: IntArray, rate: FloatArray, opening: float, together: Together) -> None:
        super().__init__(0, rate.shape[1], np.zeros((0, rate.shape[1])), opening)
        self.gpus, self._alone, self._together = gpus, rate, together
        self.first: IntArray = np.zeros(0, dtype=np.int64)
        self.second: IntArray = np.zeros(0, dtype=np.int64)

    def rows(self, active: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Drop the rows of jobs that ended, add those of new jobs, and return all rows."""
        here = np.zeros(len(self.gpus) + 1, dtype=np.bool_)  # the last entry is `ALONE`'s
        here[active], here[ALONE] = True, True
        keep = here[self.first] & here[self.second]
        if not keep.all():
            for name in ("first", "second", "rate", "time", "deficit", "share", "known"):
                setattr(self, name, getattr(self, name)[keep])
        lookup = set(self.first[self.second == ALONE].tolist())
        for place, job in enumerate(active.tolist()):
            if job not in lookup:
                before = active[:place]
                self._add_job_and_pairs(job, before[self.gpus[before] == self.gpus[job]])
        return np.arange(len(self.first))

    def _add_job_and_pairs(self, job: int, partners: IntArray) -> None:
        count, types = len(partners) + 1, self.time.shape[1]
        paired = [self._together(partner, job).min(axis=0) for partner in partners.tolist()]
        time = np.zeros((count, types))
        time[0] = self.opening
        new = {
            "first": np.append(job, partners),
            "second": np.append(ALONE, np.full(len(partners), job)),
            "rate": np.vstack([self._alone[job], *paired]),
            "time": time,
            "deficit": np.zeros((count, types)),
            "share": np.zeros((count, types)),
            "known": np.zeros(count, dtype=np.bool_),
        }
        for name, values in new.items():
            setattr(self, name, np.concatenate([getattr(self, name), values]))

    def unit(self, row: int) -> Unit:
        """Return the job or the two jobs of a row."""
        first, second = int(self.first[row]), int(self.second[row])
        return (first,) if second == ALONE else (first, second)

    def row(self, unit: Unit) -> int:
        """Return the row of a job or of a pair."""
        second = unit[1] if len(unit) > 1 else ALONE
        return int(np.flatnonzero((self.first == unit[0]) & (self.second == second))[0])
