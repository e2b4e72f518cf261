"""Gandiva's packing (Xiao et al., OSDI 2018), as in Gavel (`policies/gandiva.py`): random pairs share their GPUs.

Packing is used only while the jobs need more GPUs than there are; otherwise each job runs by itself. Jobs without a
partner are drawn two at a time, and two with equal GPU counts become a pair, whatever they train. At the next reset a
pair is kept if the sum of its jobs' relative rates is at least 1, and both fit on every type. A relative rate is the
rate in the pair over the rate without sharing. Gavel's program sums over all types, so with several types nearly every
pair that fits is kept. Jobs and pairs have equal parts of every type, as under `isolated`.
"""

from __future__ import annotations

import random

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.accounts import Unit
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings
from mlsched_rounds.heuristics.shares.isolated import equal_parts

#: Least sum of relative rates at which a pair is kept.
WORTH = 1.0


class _Gandiva:
    """Pairs, kept from reset to reset."""

    def __init__(self, readings: Readings) -> None:
        self.draw = random.Random(readings.seed)
        self.pairs: set[Unit] = set()

    def __call__(self, query: Asked) -> FloatArray:
        gpus = dict(zip(query.jobs.tolist(), query.gpus.tolist(), strict=True))
        rate = dict(zip(query.jobs.tolist(), query.rate, strict=True))
        self.pairs = {
            pair for pair in self.pairs if set(pair) <= gpus.keys() and _relative_rate_sum(query, rate, pair) >= WORTH
        }
        choice: set[Unit] = {(job,) for job in gpus}
        if query.gpus.sum() > query.capacity.sum():
            waiting = sorted(gpus.keys() - {job for pair in self.pairs for job in pair})
            alone = self._draw_pairs(waiting, gpus)
            choice = self.pairs | {(job,) for job in alone}
        rows = [row for row, unit in enumerate(query.units) if unit in choice]
        sizes = np.array([gpus[query.units[row][0]] for row in rows], dtype=np.int64)
        result = np.zeros((len(query.units), len(query.types)))
        result[rows] = equal_parts(query, sizes)
        return result

    def _draw_pairs(self, jobs: list[int], gpus: dict[int, int]) -> list[int]:
        """Draw pairs among the jobs, one draw per job, and return the jobs without a partner."""
        rest = list(jobs)
        for _ in jobs:
            if len(rest) < 2:
                break
            pair = self.draw.sample(rest, 2)
            if gpus[pair[0]] == gpus[pair[1]]:
                self.pairs.add((min(pair), max(pair)))
                rest = [job for job in rest if job not in pair]
        return rest


def _relative_rate_sum(query: Asked, rate: dict[int, FloatArray], pair: Unit) -> float:
    """Return the sum of both jobs' relative rates over all types; 0 for a pair that does not fit on a type."""
    assert query.together is not None
    together = query.together(*pair)
    if (together <= 0).any():
        return 0.0
    return float((together / np.stack([rate[job] for job in pair])).sum())


GANDIVA = Policy("gandiva", _Gandiva, aware=True, packs=True, doc="random pairs of jobs share their GPUs")
