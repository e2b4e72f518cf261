"""Which GPUs of its node each running task holds, as tasks come and go, where the GPUs of a node are told apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.instances.taskgraph import gpus
from mlsched.instances.taskgraph.instance import Instance


class Board:
    """`total`, `free`: nodes x GPUs, what each GPU has and what is left of it; 0 for those that a node lacks.

    `holder`: nodes x GPUs, the task that holds the whole GPU, or -1. `gpu`: by task, the GPU of which it holds a part
    or the whole; -1 where it holds none, or several. `unit` 0: a node's GPUs are one pool, and nothing is noted.
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
        """For each node, whether its GPUs have room for the task."""
        if not self.unit or not self._need[task]:
            return True
        if self._need[task] < self.unit:
            return np.asarray((self.free >= self._need[task]).any(axis=1))
        return np.asarray((self.free == self.unit).sum(axis=1) * self.unit >= self._need[task])

    def shares(self, task: int) -> bool:
        """Whether a task needs a part of one GPU."""
        return bool(self.unit) and 0 < self._need[task] < self.unit

    def take(self, task: int, node: int, named: int) -> None:
        """A task comes to a node that has room: to the GPU that is named, or to the first that are wholly free."""
        if not self.unit or not self._need[task]:
            return
        need = self._need[task]
        held = gpus.taken(self.free[node], need, self.unit, named)
        self.free[node, held] -= min(need, self.unit)
        if need >= self.unit:
            self.holder[node, held] = task
        self.gpu[task] = held[0] if len(held) == 1 else -1
        self._held[task] = node, held

    def give(self, task: int) -> list[int]:
        """A task leaves its node; the GPUs that it held."""
        if task not in self._held:
            return []
        node, held = self._held.pop(task)
        self.free[node, held] += min(self._need[task], self.unit)
        self.holder[node, held] = -1
        self.gpu[task] = -1
        return held
