"""The stay between two decisions of the simulated workers world: allocations, and the remaining work after a time.

Integer workers and PSs, integer iterations: B iterations of g ns take ceil(B g / 10^6) ms, and an event after t ms
finds floor(10^6 t / g) done (Chic, Eq. 7). Shared by the searches over events; the judges are independent code.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.workers import NEVER

NS = 10**6
#: An allocation of one job, (workers, PSs); (0, 0): it waits.
Given = tuple[int, int]
WAITS: Given = (0, 0)


class Kinds:
    """Types of jobs (equal demands and times) on one cluster.

    time: types x workers x PSs, ns of an iteration or NEVER; demands: types x resources.
    """

    def __init__(self, time: IntArray, worker_demand: IntArray, ps_demand: IntArray, capacity: IntArray) -> None:
        self.time = [[[int(g) for g in row] for row in table] for table in time]
        self.capacity = capacity
        self.choices: list[list[tuple[Given, IntArray]]] = []  # allocations of each type, and their use
        nothing = np.zeros_like(capacity)
        for k, table in enumerate(self.time):
            pairs = [(w, p) for w in range(1, len(table) + 1) for p in range(1, len(table[0]) + 1)]
            uses = [(pair, pair[0] * worker_demand[k] + pair[1] * ps_demand[k]) for pair in pairs]
            fits = [(pair, use) for pair, use in uses if self.time[k][pair[0] - 1][pair[1] - 1] < NEVER]
            self.choices.append([(WAITS, nothing), *((pair, use) for pair, use in fits if (use <= capacity).all())])
        self.allocations = functools.cache(self._allocations)

    def _allocations(self, kinds: tuple[int, ...]) -> list[tuple[Given, ...]]:
        """Return every joint allocation of jobs of these types in which at least one job trains."""
        result = []
        for selection in itertools.product(*(self.choices[k] for k in kinds)):
            allocation = tuple(pair for pair, _ in selection)
            if any(pair != WAITS for pair in allocation):
                usage = sum((use for _, use in selection), start=np.zeros_like(self.capacity))
                if (usage <= self.capacity).all():
                    result.append(allocation)
        return result

    def iteration(self, kind: int, given: Given) -> int:
        """Return the ns of an iteration; 0 for a job that waits."""
        return self.time[kind][given[0] - 1][given[1] - 1] if given != WAITS else 0


def first_finish(remaining: Sequence[int], iteration: Sequence[int]) -> int:
    """Return the ms until the first training job finishes. iteration: ns, 0 for a job that waits."""
    return min(-(-b * g // NS) for b, g in zip(remaining, iteration, strict=True) if g)


def remaining_after(remaining: Sequence[int], iteration: Sequence[int], ms: int) -> tuple[int, ...]:
    """Return the remaining iterations of the jobs at an event after `ms` ms; 0: finished."""
    return tuple(
        0 if g and b * g <= ms * NS else b - (ms * NS // g if g else 0)
        for b, g in zip(remaining, iteration, strict=True)
    )


def changes(remaining: Sequence[int], iteration: Sequence[int], end: int) -> list[int]:
    """Return the ms before `end` at which another iteration of some job is complete, including the first ms."""
    pairs = zip(remaining, iteration, strict=True)
    starts = {1} | {-(-k * g // NS) for b, g in pairs if g for k in range(1, b)}
    return sorted(ms for ms in starts if 1 <= ms < end)
