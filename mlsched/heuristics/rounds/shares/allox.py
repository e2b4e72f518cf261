"""AlloX (Le et al., EuroSys 2020), as Gavel has it: a matching of jobs to places in the queue of each GPU.

A job that is k-th from the end of a GPU's queue delays k jobs, itself included, by its own time p there, so that the
sum of completion times is that of k p + (age) over a matching of jobs and places. Jobs that run keep their GPU; the
others are matched to the GPUs that are left, and the first of each queue gets it. Jobs hold one GPU each.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.heuristics.rounds.shares.asked import Asked, Policy, Readings, Shares
from mlsched.solvers.rounds.shares import Floats

#: Steps per second of a job on a type on which it cannot run.
CANNOT = 1e-10


class _AlloX:
    """The types that jobs keep until they are done."""

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
        # GPUs stand in order of the alphabet of their types: it decides between equal matchings.
        alphabet = sorted(range(len(asked.types)), key=lambda m: asked.types[m])
        kept = list(self.given.values())
        gpus = np.repeat(alphabet, [int(asked.capacity[m]) - kept.count(m) for m in alphabet])
        if len(waiting) and len(gpus):
            waiting = waiting[np.argsort(-asked.age[waiting], kind="stable")]
            for row, kind in _first(asked, waiting, gpus):
                self.given[jobs[row]] = kind
        found = np.zeros(asked.rate.shape)
        for row, job in enumerate(jobs):
            if job in self.given:
                found[row, self.given[job]] = 1.0
        return found


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


ALLOX = Policy("allox", _start, aware=True, doc="AlloX: the matching that makes completion times smallest in sum")
