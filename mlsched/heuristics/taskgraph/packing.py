"""Whether tasks find places together, and where: an exact search, for what placing one after another does not find.

Tasks are placed the largest first, each on every node in turn that differs from the others in what is free there, the
fullest first. Nodes are told apart by what is free and by which of the tasks may go there, so that permutations of
equal nodes, and of equal tasks, are looked at once.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph.measures import Flags

#: Places that a search tries before it gives up.
MOST_TRIES = 5000
#: A node and the GPU of it that is named; -1: none is.
Place = tuple[int, int]


def packing(
    need: IntArray,
    may: Flags,
    free: IntArray,
    gpu_need: list[int] | None = None,
    gpu_free: IntArray | None = None,
    unit: int = 0,
    most_tries: int = MOST_TRIES,
) -> list[Place] | None:
    """A place of each task, so that all fit at once; None where there is none, or none was found in so many tries.

    need: tasks x resources; may: tasks x nodes, where each may go; free: nodes x resources. Where the GPUs of a node
    are told apart: what each task needs of the GPU resource, nodes x GPUs what is free of each, and what one GPU is.
    """
    if not _countable(need, may, free):
        return None
    return _Search(need, may, free, gpu_need or [0] * len(need), gpu_free, unit).run(most_tries)


def _countable(need: IntArray, may: Flags, free: IntArray) -> bool:
    """False where, of some resource, more tasks ask for an amount or more than there is room for tasks of just that."""
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
    """Depth first over the tasks, the largest first; what has failed once is not tried again."""

    def __init__(
        self, need: IntArray, may: Flags, free: IntArray, gpu_need: list[int], gpu_free: IntArray | None, unit: int
    ) -> None:
        largest = np.maximum(free.max(axis=0, initial=1), 1)
        self._weight = (1 / largest).tolist()
        order = np.argsort(-(need / largest).max(axis=1, initial=0.0), kind="stable")
        self._order: list[int] = order.tolist()
        self._need, self._may, self._gpu_need, self._unit = need.tolist(), may.tolist(), gpu_need, unit
        #: Of each task, the resources that it asks for, and how much.
        self._asked = [[(r, amount) for r, amount in enumerate(row) if amount] for row in self._need]
        self._room: list[list[int]] = np.maximum(free, 0).tolist()
        self._devices: list[list[int]] = [[] for _ in self._room] if gpu_free is None else gpu_free.tolist()
        #: Of each node: how full it is, and, once it is used, what tells it apart.
        self._fullness = [self._full(node) for node in range(len(self._room))]
        self._states: list[tuple[object, ...]] = [()] * len(self._room)
        names: dict[tuple[object, ...], int] = {}
        #: Of each node, a number that it shares with those that are no different before anything is placed.
        self._kind = [
            names.setdefault((tuple(room), tuple(sorted(devices)), tuple(column)), len(names))
            for room, devices, column in zip(self._room, self._devices, may.T.tolist(), strict=True)
        ]
        self._used: dict[int, int] = {}  # node -> how many of the tasks are on it
        self._before: list[tuple[float, tuple[object, ...]]] = []  # fullness and state of the nodes, before they were
        self._failed: set[tuple[object, ...]] = set()

    def run(self, most_tries: int) -> list[Place] | None:
        places: list[Place] = []
        taken: list[list[int]] = []  # the GPUs of each
        stack = [self._places(0)]
        while stack:
            if len(places) == len(stack):
                self._give(len(places) - 1, places.pop(), taken.pop())
            place = next(stack[-1], None)
            if place is None:
                stack.pop()
                continue
            most_tries -= 1
            if most_tries < 0:
                return None
            taken.append(self._take(len(places), place))
            places.append(place)
            if len(places) == len(self._order):
                return [place for _, place in sorted(zip(self._order, places, strict=True))]
            state = self._state(len(places))
            if state in self._failed:
                continue
            self._failed.add(state)  # unless it succeeds, and then nobody asks again
            stack.append(self._places(len(places)))
        return None

    def _state(self, depth: int) -> tuple[object, ...]:
        """What is left when the first so many tasks are placed, the same for what differs in names only."""
        return (depth, *sorted(map(self._states.__getitem__, self._used)))

    def _places(self, depth: int) -> Iterator[Place]:
        """The places of a task that differ, those on the fullest nodes first."""
        task = self._order[depth]
        asked, gpu_need = self._asked[task], self._gpu_need[task]
        fresh: set[int] = set()
        found: list[tuple[float, int]] = []
        for node, (open_to, room) in enumerate(zip(self._may[task], self._room, strict=True)):
            if not open_to:
                continue
            for r, amount in asked:
                if amount > room[r]:
                    break
            else:
                if node not in self._used:
                    if self._kind[node] in fresh:
                        continue
                    fresh.add(self._kind[node])
                found.append((self._fullness[node], node))
        for _, node in sorted(found):
            if not 0 < gpu_need < self._unit:
                if self._devices[node].count(self._unit) * self._unit >= gpu_need or not self._unit:
                    yield node, -1
                continue
            levels = sorted({free for free in self._devices[node] if free >= gpu_need})
            yield from ((node, self._devices[node].index(free)) for free in levels)

    def _full(self, node: int) -> float:
        """What is free of a node, in the most that any has: the fullest has least."""
        return float(sum(map(operator.mul, self._room[node], self._weight)))

    def _take(self, depth: int, place: Place) -> list[int]:
        task, (node, gpu) = self._order[depth], place
        self._before.append((self._fullness[node], self._states[node]))
        room = self._room[node] = list(map(operator.sub, self._room[node], self._need[task]))
        self._fullness[node] = self._full(node)
        self._used[node] = self._used.get(node, 0) + 1
        devices, gpus = self._devices[node], [gpu] if gpu >= 0 else []
        if gpu < 0 and self._unit:
            whole = [g for g, free in enumerate(devices) if free == self._unit]
            gpus = whole[: self._gpu_need[task] // self._unit]
        for g in gpus:
            devices[g] -= min(self._gpu_need[task], self._unit)
        self._states[node] = self._kind[node], tuple(room), tuple(sorted(devices))
        return gpus

    def _give(self, depth: int, place: Place, gpus: list[int]) -> None:
        task, node = self._order[depth], place[0]
        self._room[node] = list(map(operator.add, self._room[node], self._need[task]))
        self._fullness[node], self._states[node] = self._before.pop()
        for g in gpus:
            self._devices[node][g] += min(self._gpu_need[task], self._unit)
        self._used[node] -= 1
        if not self._used[node]:
            del self._used[node]
