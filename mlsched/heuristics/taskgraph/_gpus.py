"""Room on the GPUs of the nodes, where they are told apart and some task asks for a part of one.

Where all tasks ask for whole GPUs, a node has room for them whenever it has as much of the resource, and nobody needs
to look at GPUs.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.gpus import fitting, taken, tightest


def of(snapshot: Snapshot) -> Gpus | None:
    """The GPUs of a snapshot, if anything depends on them."""
    unit = snapshot.gpu_unit
    return Gpus(snapshot) if unit and (snapshot.gpu_demand % unit).any() else None


class Gpus:
    """What is free of each GPU, `free` and `spare` as of `Placer`; `names`: the GPU that each started task names."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._unit, self._need = snapshot, snapshot.gpu_unit, snapshot.gpu_demand.tolist()
        self.free = snapshot.gpu_free
        self.spare = self.free
        self.names: dict[int, int] = {}
        self._taken: dict[int, tuple[int, list[int]]] = {}  # started task -> its node and GPUs

    def room(self, task: int, quiet: bool = False) -> npt.NDArray[np.bool_]:
        """nodes: whether the task finds room there; `quiet`: without anything having to leave for it."""
        need = self._need[task]
        if not need:
            return np.ones(len(self.free), dtype=np.bool_)
        free = np.minimum(self.free, self.spare) if quiet else self.free
        return np.asarray(fitting(np.maximum(free, 0), need, self._unit) > 0)

    def may_hold(self, tasks: range) -> bool:
        """False where these tasks cannot all start: more of them ask for so much of a GPU, or more, than there is room
        for tasks that ask for just so much.
        """
        needs = sorted((need for task in tasks if (need := self._need[task])), reverse=True)
        free = np.maximum(self.free, 0)
        last = [count for count, need in enumerate(needs, 1) if count == len(needs) or needs[count] < need]
        return all(int(fitting(free, needs[count - 1], self._unit).sum()) >= count for count in last)

    def take(self, task: int, node: int, named: int = -1, quiet: bool = True) -> None:
        """The task starts there, on the GPU that is named; else on the fullest one with room for its part, where
        nothing has to leave if it can be (and `quiet` says so).
        """
        need, free = self._need[task], self.free[node]
        left = np.minimum(free, self.spare[node])
        if quiet and need and fitting(np.maximum(left, 0)[None], need, self._unit)[0]:
            free = left
        self.names[task] = named if named >= 0 else tightest(free, need, self._unit)
        self._taken[task] = (node, taken(free, need, self._unit, self.names[task]))
        self._change(*self._taken[task], -need)

    def give(self, task: int) -> None:
        """The task does not start after all."""
        del self.names[task]
        self._change(*self._taken.pop(task), self._need[task])

    def _change(self, node: int, gpus: list[int], amount: int) -> None:
        amount = max(-self._unit, min(self._unit, amount))
        self.free[node, gpus] += amount
        if self.spare is not self.free:
            self.spare[node, gpus] += amount

    def many(self, tasks: range, node: int, quiet: bool) -> int:
        """How many of the tasks, from the first on, find room on the node at once."""
        free = np.minimum(self.free[node], self.spare[node]) if quiet else self.free[node]
        left = np.maximum(free, 0)
        for count, task in enumerate(tasks):
            need = self._need[task]
            if need and not fitting(left[None], need, self._unit)[0]:
                return count
            left[taken(left, need, self._unit, tightest(left, need, self._unit))] -= min(need, self._unit)
        return len(tasks)

    # -- preemption ---------------------------------------------------------------------------------------------------

    def release(self, tasks: IntArray) -> None:
        """These running tasks hold nothing until they are kept."""
        held = self._held.of(tasks)
        np.add.at(self.free, held.places, held.amount)

    def keep(self, tasks: IntArray) -> bool:
        """These running tasks take their GPUs again, if all of them can; else they pause."""
        held = self._held.of(tasks)
        np.subtract.at(self.free, held.places, held.amount)
        if (self.free[held.places] >= 0).all():
            return True
        np.add.at(self.free, held.places, held.amount)
        return False

    def leave(self, tasks: IntArray) -> None:
        """These running tasks pause."""
        held = self._held.of(tasks)
        np.add.at(self.spare, held.places, held.amount)

    @functools.cached_property
    def _held(self) -> _Held:
        """What all running tasks hold."""
        task, node, gpu = self._snapshot.gpus_held
        return _Held(task, (node, gpu), np.minimum(self._snapshot.gpu_demand, self._unit)[task])


class _Held(NamedTuple):
    """An entry for each GPU of which a running task holds something: the task, its node and the GPU, how much."""

    task: IntArray
    places: tuple[IntArray, IntArray]
    amount: IntArray

    def of(self, tasks: IntArray) -> _Held:
        """The entries of these tasks."""
        at = np.isin(self.task, tasks)
        return _Held(self.task[at], (self.places[0][at], self.places[1][at]), self.amount[at])
