"""Exact search for joint places of several tasks, for cases in which placing one after another fails.

Tasks are placed the largest first, each on every distinct node in turn, the fullest first. Nodes are distinguished by
their free amounts and by the tasks that may use them, so that permutations of equal nodes, and of equal tasks, are
searched once.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np

from mlsched.core.fields import BoolArray, IntArray

#: Places that a search tries before it stops.
MOST_TRIES = 5000
#: A node and the index of a GPU of it; -1 for any.
Place = tuple[int, int]


def packing(
    need: IntArray,
    may: BoolArray,
    free: IntArray,
    gpu_need: list[int] | None = None,
    gpu_free: IntArray | None = None,
    unit: int = 0,
    most_tries: int = MOST_TRIES,
) -> list[Place] | None:
    """Return a place of each task, so that all fit at once; None if the search fails within `most_tries` tries.

    need: tasks x resources; may: tasks x nodes, the allowed nodes of each; free: nodes x resources. If the GPUs of a
    node are individual: gpu_need is each task's demand of the GPU resource, gpu_free the free amount of each GPU
    (nodes x GPUs), and unit the amount of one GPU.
    """
    if not _countable(need, may, free):
        return None
    return _Search(need, may, free, gpu_need or [0] * len(need), gpu_free, unit).run(most_tries)


def _countable(need: IntArray, may: BoolArray, free: IntArray) -> bool:
    """Return False if more tasks demand at least an amount of some resource than fit with exactly this amount."""
    room = np.maximum(free, 0)
    total = need.sum(axis=0)
    if not total.any():
        return True
    if (total > room.sum(axis=0)).any():
        return False
    same = (may == may[0]).all()
    if same:
        room = room[may[0]]
    for r in np.flatnonzero(total).tolist():
        amounts, there = need[:, r], room[:, r]
        for amount in set(amounts.tolist()) - {0}:
            asking = amounts >= amount
            able = there if same else there[may[asking].any(axis=0)]
            if (able // amount).sum() < asking.sum():
                return False
    return True


class _Search:
    """Depth-first search over the tasks, the largest first; failed states are not tried again."""

    def __init__(
        self, need: IntArray, may: BoolArray, free: IntArray, gpu_need: list[int], gpu_free: IntArray | None, unit: int
    ) -> None:
        largest = np.maximum(free.max(axis=0, initial=1), 1)
        self._weight = (1 / largest).tolist()
        order = np.argsort(-(need / largest).max(axis=1, initial=0.0), kind="stable")
        self._order: list[int] = order.tolist()
        self._need, self._may, self._gpu_need, self._unit = need.tolist(), may.tolist(), gpu_need, unit
        #: Resources and amounts that each task demands.
        self._asked = [[(r, amount) for r, amount in enumerate(row) if amount] for row in self._need]
        self._room: list[list[int]] = np.maximum(free, 0).tolist()
        self._devices: list[list[int]] = [[] for _ in self._room] if gpu_free is None else gpu_free.tolist()
        #: Fullness of each node, and its identity after the first use.
        self._fullness = [self._node_fullness(node) for node in range(len(self._room))]
        self._states: list[tuple[object, ...]] = [()] * len(self._room)
        names: dict[tuple[object, ...], int] = {}
        #: Number of each node's class: equal before any placement.
        self._kind = [
            names.setdefault((tuple(room), tuple(sorted(devices)), tuple(column)), len(names))
            for room, devices, column in zip(self._room, self._devices, may.T.tolist(), strict=True)
        ]
        self._used: dict[int, int] = {}  # node -> number of the tasks on it
        self._before: list[tuple[float, tuple[object, ...]]] = []  # fullness and state of the nodes before use
        self._failed: set[tuple[object, ...]] = set()

    def run(self, most_tries: int) -> list[Place] | None:
        """Return the place of each task; None if they do not fit, or after `most_tries` tries."""
        places: list[Place] = []
        gpus: list[list[int]] = []  # GPUs of each task
        stack = [self._distinct_places(0)]
        while stack:
            if len(places) == len(stack):
                self._release_place(len(places) - 1, places.pop(), gpus.pop())
            place = next(stack[-1], None)
            if place is None:
                stack.pop()
                continue
            most_tries -= 1
            if most_tries < 0:
                return None
            gpus.append(self._take_place(len(places), place))
            places.append(place)
            if len(places) == len(self._order):
                return [place for _, place in sorted(zip(self._order, places, strict=True))]
            state = self._remaining_state(len(places))
            if state in self._failed:
                continue
            self._failed.add(state)  # If it succeeds, the search ends and never reads this entry.
            stack.append(self._distinct_places(len(places)))
        return None

    def _remaining_state(self, depth: int) -> tuple[object, ...]:
        """Return the remaining state after `depth` placed tasks, equal for states that differ only in names."""
        return (depth, *sorted(map(self._states.__getitem__, self._used)))

    def _distinct_places(self, depth: int) -> Iterator[Place]:
        """Yield the distinct places of a task, the fullest nodes first."""
        task = self._order[depth]
        demands, gpu_need = self._asked[task], self._gpu_need[task]
        fresh: set[int] = set()
        result: list[tuple[float, int]] = []
        for node, (open_to, room) in enumerate(zip(self._may[task], self._room, strict=True)):
            if not open_to:
                continue
            for r, amount in demands:
                if amount > room[r]:
                    break
            else:
                if node not in self._used:
                    if self._kind[node] in fresh:
                        continue
                    fresh.add(self._kind[node])
                result.append((self._fullness[node], node))
        for _, node in sorted(result):
            if not 0 < gpu_need < self._unit:
                if self._devices[node].count(self._unit) * self._unit >= gpu_need or not self._unit:
                    yield node, -1
                continue
            levels = sorted({free for free in self._devices[node] if free >= gpu_need})
            yield from ((node, self._devices[node].index(free)) for free in levels)

    def _node_fullness(self, node: int) -> float:
        """Return the free amount of a node, in units of the maximum over the nodes: the fullest has least."""
        return float(sum(map(operator.mul, self._room[node], self._weight)))

    def _take_place(self, depth: int, place: Place) -> list[int]:
        task, (node, gpu) = self._order[depth], place
        self._before.append((self._fullness[node], self._states[node]))
        room = self._room[node] = list(map(operator.sub, self._room[node], self._need[task]))
        self._fullness[node] = self._node_fullness(node)
        self._used[node] = self._used.get(node, 0) + 1
        devices, gpus = self._devices[node], [gpu] if gpu >= 0 else []
        if gpu < 0 and self._unit:
            whole = [g for g, free in enumerate(devices) if free == self._unit]
            gpus = whole[: self._gpu_need[task] // self._unit]
        for g in gpus:
            devices[g] -= min(self._gpu_need[task], self._unit)
        self._states[node] = self._kind[node], tuple(room), tuple(sorted(devices))
        return gpus

    def _release_place(self, depth: int, place: Place, gpus: list[int]) -> None:
        task, node = self._order[depth], place[0]
        self._room[node] = list(map(operator.add, self._room[node], self._need[task]))
        self._fullness[node], self._states[node] = self._before.pop()
        for g in gpus:
            self._devices[node][g] += min(self._gpu_need[task], self._unit)
        self._used[node] -= 1
        if not self._used[node]:
            del self._used[node]
