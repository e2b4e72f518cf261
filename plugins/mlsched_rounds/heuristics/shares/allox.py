"""AlloX (Le et al., EuroSys 2020), as in Gavel: a matching of jobs to places in the queue of each GPU.

A job that is k-th from the end of a GPU's queue delays k jobs, itself included, by its own time p there. The sum of
completion times is therefore that of k p + (age) over a matching of jobs and places. Running jobs keep their GPU; the
others are matched to the remaining GPUs, and the first of each queue gets it. Jobs use one GPU each.

`allox_gangs` is the version in Shockwave's program (uw-mad-dash/shockwave, `policies/allox.py`) for jobs on s GPUs.
They are matched to one GPU like other jobs, and get 1 / s of its time. Only jobs on one GPU keep theirs. Only the
oldest waiting jobs are matched: one fifth of them, or the number of GPUs if that is larger.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares

#: Steps per second of a job on a type on which it cannot run.
CANNOT = 1e-10
#: Least fraction of the waiting jobs that `allox_gangs` matches (its alpha).
OLDEST = 0.2


class _AlloX:
    """Types that jobs keep until they end."""

    remembers = ("given",)

    def __init__(self, readings: Readings) -> None:
        self.given: dict[int, int] = {}

    def __call__(self, query: Asked) -> FloatArray:
        if (query.gpus != 1).any():
            where = int(np.flatnonzero(query.gpus != 1)[0])
            raise InvalidInput(
                f"allox: job {int(query.jobs[where])} uses {int(query.gpus[where])} GPUs, expected 1; give gpus=1"
            )
        jobs = query.jobs.tolist()
        self.given = {job: kind for job, kind in self.given.items() if job in set(jobs)}
        waiting = np.array([row for row, job in enumerate(jobs) if job not in self.given], dtype=np.int64)
        gpus = _remaining_gpus(query, list(self.given.values()))
        if len(waiting) and len(gpus):
            waiting = waiting[np.argsort(-query.age[waiting], kind="stable")]
            for row, kind in _first_in_queues(query, waiting, gpus):
                self.given[jobs[row]] = kind
        result = np.zeros(query.rate.shape)
        for row, job in enumerate(jobs):
            if job in self.given:
                result[row, self.given[job]] = 1.0
        return result


class _Gangs:
    """Types of the matched jobs, which keep them and their shares until they end."""

    remembers = ("given",)

    def __init__(self, readings: Readings) -> None:
        self.given: dict[int, list[int]] = {}

    def __call__(self, query: Asked) -> FloatArray:
        jobs, size = query.jobs.tolist(), dict(zip(query.jobs.tolist(), query.gpus.tolist(), strict=True))
        self.given = {job: kinds for job, kinds in self.given.items() if job in size}
        keep = {job: kinds for job, kinds in self.given.items() if size[job] == 1}
        waiting = np.array([row for row, job in enumerate(jobs) if job not in keep], dtype=np.int64)
        gpus = _remaining_gpus(query, [kind for kinds in keep.values() for kind in kinds])
        if len(waiting) and len(gpus):
            waiting = waiting[np.argsort(-query.age[waiting], kind="stable")]
            waiting = waiting[: max(int(OLDEST * len(waiting)), len(gpus))]
            for row, kind in _first_in_queues(query, waiting, gpus):
                if kind not in (kinds := self.given.setdefault(jobs[row], [])):
                    kinds.append(kind)
        result = np.zeros(query.rate.shape)
        for row, job in enumerate(jobs):
            result[row, sorted(self.given.get(job, ()))] = 1.0 / size[job]
        return result


def _remaining_gpus(query: Asked, keep: list[int]) -> np.ndarray:
    """Return the type of each remaining GPU, in alphabetical order, which decides ties."""
    alphabet = sorted(range(len(query.types)), key=lambda m: query.types[m])
    return np.repeat(alphabet, [int(query.capacity[m]) - keep.count(m) for m in alphabet])


def _first_in_queues(query: Asked, waiting: np.ndarray, gpus: np.ndarray) -> list[tuple[int, int]]:
    """Return (row, type) of the first job in the queue of each GPU."""
    from scipy.optimize import linear_sum_assignment

    rate = np.where(query.rate > 0, query.rate, CANNOT)[waiting][:, gpus]
    alone = query.remaining[waiting, None] / rate
    places = len(waiting)
    cost = np.concatenate([k * alone for k in range(1, places + 1)], axis=1) + query.age[waiting, None]
    rows, columns = linear_sum_assignment(cost)
    last: dict[int, tuple[int, int]] = {}
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        place, gpu = divmod(column, len(gpus))
        if gpu not in last or place > last[gpu][0]:
            last[gpu] = (place, row)
    return [(int(waiting[row]), int(gpus[gpu])) for gpu, (_, row) in sorted(last.items())]


def _start(readings: Readings) -> Shares:
    return _AlloX(readings)


GANGS = Policy("allox_gangs", _Gangs, aware=True, doc="AlloX as Shockwave's program runs it, with jobs on several GPUs")
ALLOX = Policy("allox", _start, aware=True, doc="AlloX: the matching that makes completion times smallest in sum")
