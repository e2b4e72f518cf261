"""GPUs of each running task on its node, if the GPUs of a node are individual."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.instances.taskgraph import gpus
from mlsched.instances.taskgraph.instance import Instance


class Board:
    """GPU books of the nodes, updated as tasks start and leave.

    Attributes:
        total, free: Capacity and free amount of each GPU, shape (nodes, GPUs); 0 for missing GPUs.
        holder: Task that uses the complete GPU, or -1, shape (nodes, GPUs).
        gpu: GPU of which each task uses a part or the total; -1 for none or several.
        unit: Amount of a GPU. With 0, a node's GPUs are one pool, and the books stay empty.
    """

    def __init__(self, horizon: Instance) -> None:
        self.unit = horizon.gpu_unit
        self.total = gpus.empty(horizon)
        self.free = self.total.copy()
        self.holder = np.full(self.free.shape, -1)
        self.gpu = np.full(len(horizon.task_job), -1)
        self._held: dict[int, tuple[int, list[int]]] = {}
        self._need: list[int] = []
        if self.unit:
            needs = horizon.demand[:, gpus.gpu_column(horizon.resources)] * (horizon.duration > 0)
            self._need = needs.tolist()

    def room(self, task: int) -> npt.NDArray[np.bool_] | bool:
        """Return for each node whether its GPUs have room for the task."""
        if not self.unit or not self._need[task]:
            return True
        if self._need[task] < self.unit:
            return np.asarray((self.free >= self._need[task]).any(axis=1))
        return np.asarray((self.free == self.unit).sum(axis=1) * self.unit >= self._need[task])

    def shares(self, task: int) -> bool:
        """Check whether a task needs a part of one GPU."""
        return bool(self.unit) and 0 < self._need[task] < self.unit

    def take(self, task: int, node: int, named: int) -> None:
        """Place a task on a node with room: on the named GPU, or on the first that are completely free."""
        if not self.unit or not self._need[task]:
            return
        need = self._need[task]
        gpus_held = gpus.taken(self.free[node], need, self.unit, named)
        self.free[node, gpus_held] -= min(need, self.unit)
        if need >= self.unit:
            self.holder[node, gpus_held] = task
        self.gpu[task] = gpus_held[0] if len(gpus_held) == 1 else -1
        self._held[task] = node, gpus_held

    def give(self, task: int) -> list[int]:
        """Remove a task from its node and return its GPUs."""
        if task not in self._held:
            return []
        node, gpus_held = self._held.pop(task)
        self.free[node, gpus_held] += min(self._need[task], self.unit)
        self.holder[node, gpus_held] = -1
        self.gpu[task] = -1
        return gpus_held
