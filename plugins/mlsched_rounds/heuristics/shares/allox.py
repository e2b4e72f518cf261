"""AlloX (Le et al., EuroSys 2020), as Gavel has it: a matching of jobs to places in the queue of each GPU.

A job that is k-th from the end of a GPU's queue delays k jobs, itself included, by its own time p there, so that the
sum of completion times is that of k p + (age) over a matching of jobs and places. Jobs that run keep their GPU; the
others are matched to the GPUs that are left, and the first of each queue gets it. Jobs hold one GPU each.

`allox_gangs` is what Shockwave's program (uw-mad-dash/shockwave, `policies/allox.py`) makes of it for jobs on s GPUs:
they are matched to one GPU like the others, and get 1 / s of its time; only jobs on one GPU keep theirs; and of the
jobs to be matched only the oldest are, a fifth of them or as many as there are GPUs.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.shares import Floats

#: Steps per second of a job on a type on which it cannot run.
CANNOT = 1e-10
#: The part of the waiting jobs that `allox_gangs` matches at least (its alpha).
OLDEST = 0.2


class _AlloX:
    """The types that jobs keep until they are done."""

    remembers = ("given",)

    def __init__(self, readings: Readings) -> None:
        self.given: dict[int, int] = {}

    def __call__(self, asked: Asked) -> Floats:
        if (asked.gpus != 1).any():
            where = int(np.flatnonzero(asked.gpus != 1)[0])
            raise InvalidInput(
                f"allox: job {int(asked.jobs[where])} holds {int(asked.gpus[where])} GPUs: only jobs with one are "
                "matched; give gpus=1"
            )
        jobs = asked.jobs.tolist()
        self.given = {job: kind for job, kind in self.given.items() if job in set(jobs)}
        waiting = np.array([row for row, job in enumerate(jobs) if job not in self.given], dtype=np.int64)
        gpus = _free(asked, list(self.given.values()))
        if len(waiting) and len(gpus):
            waiting = waiting[np.argsort(-asked.age[waiting], kind="stable")]
            for row, kind in _first(asked, waiting, gpus):
                self.given[jobs[row]] = kind
        found = np.zeros(asked.rate.shape)
        for row, job in enumerate(jobs):
            if job in self.given:
                found[row, self.given[job]] = 1.0
        return found


class _Gangs:
    """The types that jobs were given, and keep their shares of, until they are done."""

    remembers = ("given",)

    def __init__(self, readings: Readings) -> None:
        self.given: dict[int, list[int]] = {}

    def __call__(self, asked: Asked) -> Floats:
        jobs, size = asked.jobs.tolist(), dict(zip(asked.jobs.tolist(), asked.gpus.tolist(), strict=True))
        self.given = {job: kinds for job, kinds in self.given.items() if job in size}
        kept = {job: kinds for job, kinds in self.given.items() if size[job] == 1}
        waiting = np.array([row for row, job in enumerate(jobs) if job not in kept], dtype=np.int64)
        gpus = _free(asked, [kind for kinds in kept.values() for kind in kinds])
        if len(waiting) and len(gpus):
            waiting = waiting[np.argsort(-asked.age[waiting], kind="stable")]
            waiting = waiting[: max(int(OLDEST * len(waiting)), len(gpus))]
            for row, kind in _first(asked, waiting, gpus):
                if kind not in (kinds := self.given.setdefault(jobs[row], [])):
                    kinds.append(kind)
        found = np.zeros(asked.rate.shape)
        for row, job in enumerate(jobs):
            found[row, sorted(self.given.get(job, ()))] = 1.0 / size[job]
        return found


def _free(asked: Asked, kept: list[int]) -> np.ndarray:
    """The type of each GPU that is not kept. They stand in alphabetical order, which decides ties."""
    alphabet = sorted(range(len(asked.types)), key=lambda m: asked.types[m])
    return np.repeat(alphabet, [int(asked.capacity[m]) - kept.count(m) for m in alphabet])


def _first(asked: Asked, waiting: np.ndarray, gpus: np.ndarray) -> list[tuple[int, int]]:
    """(row, type) of the first job in the queue of each GPU."""
    from scipy.optimize import linear_sum_assignment

    rate = np.where(asked.rate > 0, asked.rate, CANNOT)[waiting][:, gpus]
    alone = asked.remaining[waiting, None] / rate
    places = len(waiting)
    cost = np.concatenate([k * alone for k in range(1, places + 1)], axis=1) + asked.age[waiting, None]
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
