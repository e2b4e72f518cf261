"""Gandiva's packing (Xiao et al., OSDI 2018), as Gavel has it (`policies/gandiva.py`): random pairs share their GPUs.

Packing is used only while the jobs ask for more GPUs than there are; otherwise each job is alone. Jobs without a
partner are then drawn two at a time, and two of as many GPUs become a pair, whatever they train. At the next reset a
pair is kept if its jobs' rates, each over the job's rate alone, add up to at least 1, and both fit on every type.
Gavel's program adds up over all types, so with several types nearly every pair that fits is kept. Jobs and pairs have
equal parts of every type, as under `isolated`.
"""

from __future__ import annotations

import random

import numpy as np

from mlsched_rounds.heuristics.accounts import Unit
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings
from mlsched_rounds.heuristics.shares.isolated import equal_parts
from mlsched_rounds.solvers.shares import Floats

#: The least sum of relative rates at which a pair is kept.
WORTH = 1.0


class _Gandiva:
    """The pairs, kept from reset to reset."""

    def __init__(self, readings: Readings) -> None:
        self.draw = random.Random(readings.seed)
        self.pairs: set[Unit] = set()

    def __call__(self, asked: Asked) -> Floats:
        gpus = dict(zip(asked.jobs.tolist(), asked.gpus.tolist(), strict=True))
        rate = dict(zip(asked.jobs.tolist(), asked.rate, strict=True))
        self.pairs = {pair for pair in self.pairs if set(pair) <= gpus.keys() and _worth(asked, rate, pair) >= WORTH}
        chosen: set[Unit] = {(job,) for job in gpus}
        if asked.gpus.sum() > asked.capacity.sum():
            waiting = sorted(gpus.keys() - {job for pair in self.pairs for job in pair})
            alone = self._group(waiting, gpus)
            chosen = self.pairs | {(job,) for job in alone}
        rows = [row for row, unit in enumerate(asked.units) if unit in chosen]
        sizes = np.array([gpus[asked.units[row][0]] for row in rows], dtype=np.int64)
        found = np.zeros((len(asked.units), len(asked.types)))
        found[rows] = equal_parts(asked, sizes)
        return found

    def _group(self, jobs: list[int], gpus: dict[int, int]) -> list[int]:
        """Draw pairs among the jobs, as often as there are jobs, and return the jobs that are left alone."""
        left = list(jobs)
        for _ in jobs:
            if len(left) < 2:
                break
            pair = self.draw.sample(left, 2)
            if gpus[pair[0]] == gpus[pair[1]]:
                self.pairs.add((min(pair), max(pair)))
                left = [job for job in left if job not in pair]
        return left


def _worth(asked: Asked, rate: dict[int, Floats], pair: Unit) -> float:
    """The sum of both jobs' rates over their rates alone, over all types; 0 for a pair that does not fit on a type."""
    assert asked.together is not None
    together = asked.together(*pair)
    if (together <= 0).any():
        return 0.0
    return float((together / np.stack([rate[job] for job in pair])).sum())


GANDIVA = Policy("gandiva", _Gandiva, aware=True, packs=True, doc="random pairs of jobs share their GPUs")
