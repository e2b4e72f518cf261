"""Whether tasks find places together, and where: an exact search, for what placing one after another does not find.

Tasks are placed the largest first, each on every node in turn that differs from the others in what is free there, the
fullest first. Nodes are told apart by what is free and by which of the tasks may go there, so that permutations of
equal nodes, and of equal tasks, are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._measures import Flags

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
    for r in np.flatnonzero(need.any(axis=0)).tolist():
        amounts, room = need[:, r], np.maximum(free[:, r], 0)
        for amount in np.unique(amounts[amounts > 0]).tolist():
            asking = amounts >= amount
            if (room[may[asking].any(axis=0)] // amount).sum() < asking.sum():
                return False
    return bool(need.sum() == 0 or (need.sum(axis=0) <= np.maximum(free, 0).sum(axis=0)).all())


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
        self._room: list[list[int]] = np.maximum(free, 0).tolist()
        self._devices: list[list[int]] = [[] for _ in self._room] if gpu_free is None else gpu_free.tolist()
        names: dict[tuple[object, ...], int] = {}
        #: Of each node, a number that it shares with those that are no different before anything is placed.
        self._kind = [
            names.setdefault((tuple(room), tuple(sorted(devices)), tuple(column)), len(names))
            for room, devices, column in zip(self._room, self._devices, may.T.tolist(), strict=True)
        ]
        self._used: dict[int, int] = {}  # node -> how many of the tasks are on it
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
        nodes = [(self._kind[n], tuple(self._room[n]), tuple(sorted(self._devices[n]))) for n in self._used]
        return (depth, *sorted(nodes))

    def _places(self, depth: int) -> Iterator[Place]:
        """The places of a task that differ, those on the fullest nodes first."""
        task = self._order[depth]
        need, gpu_need = self._need[task], self._gpu_need[task]
        fresh: set[int] = set()
        found: list[tuple[float, int]] = []
        for node, open_to in enumerate(self._may[task]):
            if not open_to or any(a > b for a, b in zip(need, self._room[node], strict=True)):
                continue
            if node not in self._used:
                if self._kind[node] in fresh:
                    continue
                fresh.add(self._kind[node])
            found.append((sum(a * w for a, w in zip(self._room[node], self._weight, strict=True)), node))
        for _, node in sorted(found):
            if not 0 < gpu_need < self._unit:
                if self._devices[node].count(self._unit) * self._unit >= gpu_need or not self._unit:
                    yield node, -1
                continue
            levels = sorted({free for free in self._devices[node] if free >= gpu_need})
            yield from ((node, self._devices[node].index(free)) for free in levels)

    def _take(self, depth: int, place: Place) -> list[int]:
        task, (node, gpu) = self._order[depth], place
        self._room[node] = [a - b for a, b in zip(self._room[node], self._need[task], strict=True)]
        self._used[node] = self._used.get(node, 0) + 1
        devices, gpus = self._devices[node], [gpu] if gpu >= 0 else []
        if gpu < 0 and self._unit:
            whole = [g for g, free in enumerate(devices) if free == self._unit]
            gpus = whole[: self._gpu_need[task] // self._unit]
        for g in gpus:
            devices[g] -= min(self._gpu_need[task], self._unit)
        return gpus

    def _give(self, depth: int, place: Place, gpus: list[int]) -> None:
        task, node = self._order[depth], place[0]
        self._room[node] = [a + b for a, b in zip(self._room[node], self._need[task], strict=True)]
        for g in gpus:
            self._devices[node][g] += min(self._gpu_need[task], self._unit)
        self._used[node] -= 1
        if not self._used[node]:
            del self._used[node]
