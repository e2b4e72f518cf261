"""Graphene's offline part: the best order of a job's tasks (Grandl et al., OSDI 2016, Section 4).

A virtual schedule of one iteration is built on the cluster as a single machine. Troublesome tasks (long tasks, and
tasks that are hard to pack) and all tasks on paths between them (T) are placed first. Then come the others: their
ancestors (P), their descendants (C) and the rest (O), in one of the orders that never leave a task between two placed
tasks without room. The best schedule over thresholds and orders is kept. Its start times define the order of the
tasks.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray

#: Possible orders of the four sets. A set is placed backwards, as late as possible, if its descendants are already
#: placed, else forwards. T, and O right after it, can go in both directions; a small letter means backwards. Of equal
#: schedules the first is kept, and schedules that only go forwards come first.
FORWARDS = ("TOCP", "TOPC", "TPOC", "TCOP")
ORDERS = (*FORWARDS, "ToCP", "ToPC", "tOCP", "tOPC", "toCP", "toPC", "tPOC", "tCOP")
#: Thresholds on length (share of the longest task) and size (share of the largest dominant share); inf: unused.
THRESHOLDS = (0.25, 0.5, 0.75, 1.0, math.inf)

Edges = tuple[tuple[int, int], ...]


class Space:
    """Placed tasks in a virtual machine: rows of (start, end, demand)."""

    def __init__(self, capacity: IntArray) -> None:
        self.capacity = capacity
        self.start: dict[int, int] = {}
        self.end: dict[int, int] = {}
        self._demand: dict[int, IntArray] = {}

    def fits(self, demand: IntArray, start: int, end: int) -> bool:
        """Return if `demand` fits beside the placed tasks, all through [start, end)."""
        here = [k for k in self.start if self.start[k] < end and self.end[k] > start]
        for moment in {start, *(self.start[k] for k in here if self.start[k] > start)}:
            use = sum((self._demand[k] for k in here if self.start[k] <= moment < self.end[k]), demand)
            if (use > self.capacity).any():
                return False
        return True

    def put(self, task: int, start: int, end: int, demand: IntArray) -> None:
        """Place a task."""
        self.start[task], self.end[task], self._demand[task] = start, end, demand

    def forwards(self, task: int, ticks: int, demand: IntArray, low: int) -> None:
        """Place the task as early as possible from `low` on."""
        times = sorted({low, *(t for t in self.end.values() if t > low)})
        start = next(t for t in times if self.fits(demand, t, t + ticks))
        self.put(task, start, start + ticks, demand)

    def backwards(self, task: int, ticks: int, demand: IntArray, high: int) -> None:
        """Place the task as late as possible, to end at `high` at the latest."""
        times = sorted({high, *(t for t in self.start.values() if t < high)}, reverse=True)
        end = next(t for t in times if self.fits(demand, t - ticks, t))
        self.put(task, end - ticks, end, demand)

    def length(self) -> int:
        """Return the time from the first start to the last end."""
        return max(self.end.values(), default=0) - min(self.start.values(), default=0)


@functools.lru_cache(maxsize=4096)
def ranks(
    duration: tuple[int, ...], demand: tuple[tuple[int, ...], ...], edges: Edges, capacity: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the position of each task of a job in the order of the best virtual schedule, 0 first."""
    count = len(duration)
    before, after = _reach(count, edges), _reach(count, tuple((v, u) for u, v in edges))
    size = np.array(demand, dtype=np.int64).reshape(count, len(capacity))
    share = (size / np.maximum(np.array(capacity), 1)).max(axis=1, initial=0.0)
    best: Space | None = None
    sets = {_troublesome(duration, share, before, after, a, b) for a in THRESHOLDS for b in THRESHOLDS}
    for orders in (FORWARDS, ORDERS[len(FORWARDS) :]):
        for troublesome, order in itertools.product(sorted(sets, key=sorted), orders):
            space = schedule(duration, size, before, after, np.array(capacity), troublesome, order)
            if best is None or space.length() < best.length():
                best = space
    if best is None:
        return ()
    # Equal starts: ancestors first, so that runs of duration 0 stay in order.
    place = sorted(range(count), key=lambda k: (best.start[k], len(before[k]), k))
    result = [0] * count
    for rank, task in enumerate(place):
        result[task] = rank
    return tuple(result)


def _reach(count: int, edges: Edges) -> list[frozenset[int]]:
    """Return for each task all tasks with a path to it."""
    result: list[set[int]] = [set() for _ in range(count)]
    changed = True
    while changed:
        changed = False
        for u, v in edges:
            more = (result[u] | {u}) - result[v]
            if more:
                result[v] |= more
                changed = True
    return [frozenset(s) for s in result]


def _troublesome(
    duration: Sequence[int],
    share: object,
    before: list[frozenset[int]],
    after: list[frozenset[int]],
    long: float,
    large: float,
) -> frozenset[int]:
    """Return the long tasks, the large tasks, and all tasks on paths between two of these.

    A task is long with at least the share `long` of the longest duration, and large with the share `large` of the
    largest demand.
    """
    shares = np.asarray(share)
    # inf x 0 is undefined: 1 replaces a longest or largest of 0.
    limit, size = long * max(1, *duration), large * (float(shares.max(initial=0.0)) or 1.0)
    core = {k for k in range(len(duration)) if duration[k] >= limit or shares[k] >= size}
    return frozenset(core | {k for k in range(len(duration)) if before[k] & core and after[k] & core})


def schedule(
    duration: Sequence[int],
    demand: IntArray,
    before: list[frozenset[int]],
    after: list[frozenset[int]],
    capacity: IntArray,
    chosen: frozenset[int],
    order: str,
) -> Space:
    """Return the virtual schedule for one choice of troublesome tasks and one order of the sets."""
    parents = frozenset(k for k in range(len(duration)) if k not in chosen and after[k] & chosen)
    children = frozenset(k for k in range(len(duration)) if k not in chosen and before[k] & chosen)
    rest = frozenset(range(len(duration))) - chosen - parents - children
    sets = {"T": chosen, "P": parents, "C": children, "O": rest, "t": chosen, "o": rest}
    space = Space(capacity)
    for name in order:
        members = sorted(sets[name], key=lambda k: (len(before[k]), -duration[k], k))
        # Ancestors have fewer ancestors: the order is topological; forwards long tasks of a level come first.
        placed = set(space.start)
        if name.islower() or any(after[k] & placed for k in members):
            for k in sorted(members, key=lambda k: (len(after[k]), -duration[k], k)):
                ends = [space.start[s] for s in after[k] if s in space.start]
                high = min(ends, default=max(space.end.values(), default=0))
                space.backwards(k, duration[k], demand[k] * (duration[k] > 0), high)
        else:
            low = min(space.start.values(), default=0)
            for k in members:
                starts = [space.end[p] for p in before[k] if p in space.end]
                space.forwards(k, duration[k], demand[k] * (duration[k] > 0), max(starts, default=low))
    return space
