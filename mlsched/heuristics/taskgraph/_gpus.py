"""Room on the individual GPUs of the nodes, if some task demands a fraction of a GPU.

If all tasks demand entire GPUs, a node with enough of the resource has room, and individual GPUs do not matter.
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
    """Return the GPUs of a snapshot, or None if individual GPUs do not matter."""
    unit = snapshot.gpu_unit
    return Gpus(snapshot) if unit and (snapshot.gpu_demand % unit).any() else None


class Gpus:
    """Free capacity of each GPU, `free` and `spare` as in `Placer`; `names`: the named GPU of each started task."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._unit, self._need = snapshot, snapshot.gpu_unit, snapshot.gpu_demand.tolist()
        self.free = snapshot.gpu_free
        self.spare = self.free
        self.names: dict[int, int] = {}
        self._taken: dict[int, tuple[int, list[int]]] = {}  # started task -> its node and GPUs

    def room(self, task: int, quiet: bool = False) -> npt.NDArray[np.bool_]:
        """Return for each node if the task has room there; `quiet`: without preemption."""
        need = self._need[task]
        if not need:
            return np.ones(len(self.free), dtype=np.bool_)
        free = np.minimum(self.free, self.spare) if quiet else self.free
        return np.asarray(fitting(np.maximum(free, 0), need, self._unit) > 0)

    def may_hold(self, tasks: range) -> bool:
        """Return False if these tasks cannot all start.

        The test counts the tasks that demand at least some amount of a GPU, and the room for tasks of exactly this
        amount.
        """
        needs = sorted((need for task in tasks if (need := self._need[task])), reverse=True)
        free = np.maximum(self.free, 0)
        last = [count for count, need in enumerate(needs, 1) if count == len(needs) or needs[count] < need]
        return all(int(fitting(free, needs[count - 1], self._unit).sum()) >= count for count in last)

    def take(self, task: int, node: int, named: int = -1, quiet: bool = True) -> None:
        """Start the task on the named GPU, else on the fullest GPU with room for its part.

        With `quiet`, a GPU without preemption is preferred.
        """
        need, free = self._need[task], self.free[node]
        remaining = np.minimum(free, self.spare[node])
        if quiet and need and fitting(np.maximum(remaining, 0)[None], need, self._unit)[0]:
            free = remaining
        self.names[task] = named if named >= 0 else tightest(free, need, self._unit)
        self._taken[task] = (node, taken(free, need, self._unit, self.names[task]))
        self._change_free(*self._taken[task], -need)

    def give(self, task: int) -> None:
        """Undo the start of the task."""
        del self.names[task]
        self._change_free(*self._taken.pop(task), self._need[task])

    def _change_free(self, node: int, gpus: list[int], amount: int) -> None:
        amount = max(-self._unit, min(self._unit, amount))
        self.free[node, gpus] += amount
        if self.spare is not self.free:
            self.spare[node, gpus] += amount

    def many(self, tasks: range, node: int, quiet: bool) -> int:
        """Count how many of the tasks, from the first on, fit on the node together; `quiet`: without preemption."""
        free = np.minimum(self.free[node], self.spare[node]) if quiet else self.free[node]
        remaining = np.maximum(free, 0)
        for count, task in enumerate(tasks):
            need = self._need[task]
            if need and not fitting(remaining[None], need, self._unit)[0]:
                return count
            remaining[taken(remaining, need, self._unit, tightest(remaining, need, self._unit))] -= min(
                need, self._unit
            )
        return len(tasks)

    # -- preemption ---------------------------------------------------------------------------------------------------

    def release(self, tasks: IntArray) -> None:
        """Release the GPUs of these running tasks until they are kept."""
        entries = self._running_use.of(tasks)
        np.add.at(self.free, entries.places, entries.amount)

    def keep(self, tasks: IntArray) -> bool:
        """Occupy the GPUs of these running tasks again if all of them can; else they pause."""
        entries = self._running_use.of(tasks)
        np.subtract.at(self.free, entries.places, entries.amount)
        if (self.free[entries.places] >= 0).all():
            return True
        np.add.at(self.free, entries.places, entries.amount)
        return False

    def leave(self, tasks: IntArray) -> None:
        """Pause these running tasks."""
        entries = self._running_use.of(tasks)
        np.add.at(self.spare, entries.places, entries.amount)

    @functools.cached_property
    def _running_use(self) -> _Held:
        """Return the GPUs of all running tasks."""
        task, node, gpu = self._snapshot.gpus_held
        return _Held(task, (node, gpu), np.minimum(self._snapshot.gpu_demand, self._unit)[task])


class _Held(NamedTuple):
    """One entry per GPU of a running task: the task, its node, the GPU, and the used amount."""

    task: IntArray
    places: tuple[IntArray, IntArray]
    amount: IntArray

    def of(self, tasks: IntArray) -> _Held:
        """Return the entries of these tasks."""
        at = np.isin(self.task, tasks)
        return _Held(self.task[at], (self.places[0][at], self.places[1][at]), self.amount[at])
