"""Chic-plus for few jobs: scores of all numbers of workers and PSs in one pass, then plain integers.

Takes the same actions as `Allocation.fill` step by step (scores differ by float32 rounding at most), several times as
fast: a NumPy call costs as much as dozens of comparisons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.learned.workers._plus import PlusNet, dynamic

if TYPE_CHECKING:
    from mlsched.learned.workers.chic_plus import Allocation

#: Most jobs, and most entries of the table of scores, for which this is the quicker way.
MOST_JOBS, MOST_CELLS = 16, 8_000
NEVER = float("-inf")


def suits(state: Allocation) -> bool:
    """Whether the question is small enough."""
    jobs, wide, high = state.time.shape
    return bool(0 < jobs <= MOST_JOBS and jobs * wide * high <= MOST_CELLS)


def fill(state: Allocation, net: PlusNet) -> IntArray:
    """Tasks of every job (jobs x 2) when always the highest score is taken."""
    table = _table(state, net)
    jobs = [j for j in range(len(table)) if state.there[j]]
    needs = [[row.tolist() for row in need] for need in state.need]
    most_w, most_p = state.most.tolist()
    free: list[int] = state.free.tolist()
    tasks = [[0, 0] for _ in table]

    def fits(need: list[int]) -> bool:
        return all(a <= b for a, b in zip(need, free, strict=True))

    while True:
        best, chosen = NEVER, (-1, 0)
        for j in jobs:
            (w, p), (worker, ps, both) = tasks[j], needs[j]
            for kind, score in enumerate(table[j][w][p]):
                room = w < most_w if kind == 0 else p < most_p
                if score > best and room and fits(both if not w else (worker, ps)[kind]):
                    best, chosen = score, (j, kind)
        job, task = chosen
        if job < 0:
            return np.array(tasks, dtype=np.int64)
        for kind in (task,) if tasks[job][0] else (0, 1):  # a job begins with a worker and at once its PS
            tasks[job][kind] += 1
            free = [a - b for a, b in zip(free, needs[job][kind], strict=True)]


def _table(state: Allocation, net: PlusNet) -> list[list[list[list[float]]]]:
    """Scores by job, workers, PSs and kind of task; -inf where one more does not help (`valid`, but for what fits)."""
    time = state.time
    ahead = np.stack([time[:, :-1, :-1], time[:, 1:, :-1], time[:, :-1, 1:], time[:, 1:, 1:]])
    _, jobs, wide, high = ahead.shape
    workers, servers = np.arange(wide)[None, :, None], np.arange(high)[None, None, :]
    best, (worker, ps) = state.best[:, None, None], state.shares.T[..., None, None]
    changing = dynamic(ahead, best, workers, servers, worker, ps)
    code = net.encode(state.start(), state.there)[:, None, None]
    scores = net.score(np.broadcast_to(code, (jobs, wide, high, code.shape[-1])), changing)
    helps = (ahead[1:3] < ahead[0]) | np.isinf(ahead[0])
    allowed = np.stack([helps[0], helps[1]], axis=-1) & ((workers > 0) & (servers > 0))[..., None]
    allowed[:, 0, 0, 0] = True
    table: list[list[list[list[float]]]] = np.where(allowed, scores, -np.inf).tolist()
    return table
