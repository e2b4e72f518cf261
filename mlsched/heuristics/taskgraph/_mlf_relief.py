"""Which tasks MLF-H takes off overloaded nodes: those most like the ideal virtual task (MLFS, 3.3.3)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.instances.taskgraph.states import RUNNING

Floats = npt.NDArray[np.float64]


def relieved(hosts: Hosts, priority: Floats, share: float, bandwidth: bool) -> list[int]:
    """The running tasks to move, node by node, in the order in which they are chosen. `hosts` stays as it is.

    While a node has overloaded GPUs, the choice is among `share` (p_s) of the tasks there, at least one: those of the
    lowest priority; then, while the node is overloaded, among all that run there. The last task of a node stays.
    """
    found: list[int] = []
    for node in np.flatnonzero(hosts.overloaded()).tolist():
        found += _Crowd(hosts, node, priority, bandwidth).leave(share)
    return found


class _Crowd:
    """The tasks that run on one node, and its load while some of them leave."""

    def __init__(self, hosts: Hosts, node: int, priority: Floats, bandwidth: bool) -> None:
        snapshot = hosts.snapshot
        self.hosts, self.priority, self.bandwidth = hosts, priority, bandwidth
        runs = (snapshot.state == RUNNING) & (snapshot.node == node) & (snapshot.duration > 0)
        self.tasks: list[int] = np.flatnonzero(runs).tolist()
        self.use, self.most, self.capacity = hosts.use[node].copy(), hosts.most[node], hosts.capacity[node]
        self.gpus = {task: hosts.where(task)[1] for task in self.tasks}
        self.gpu_use, self.gpu_count = hosts.gpu_use[node].copy(), hosts.gpu_count[node].copy()
        self.here = runs
        near = runs[snapshot.edge_from] & runs[snapshot.edge_to] & (snapshot.edge_from != snapshot.edge_to)
        self.edges = np.flatnonzero(near)  # those between two tasks of the node

    def leave(self, share: float) -> list[int]:
        """The tasks that leave, until nothing is overloaded or one is left."""
        found = []
        may_leave = self.hosts.may_leave
        while len(self.tasks) > 1 and may_leave[self.tasks].any():
            crowded = set(np.flatnonzero((self.gpu_count > 1) & (self.gpu_use > self.hosts.gpu_most)).tolist())
            over = self.use > self.most
            if crowded:
                shared = [task for task in self.tasks if crowded.intersection(self.gpus[task])]
                shared.sort(key=lambda task: (self.priority[task], task))
                among = [task for task in shared if may_leave[task]][: max(1, math.ceil(share * len(shared)))]
                over = over.copy()
                over[self.hosts.column] = True
            elif over.any():
                among = [task for task in self.tasks if may_leave[task]]
            else:
                break
            if not among:
                break
            task = self._closest(np.array(among), over)
            found.append(task)
            self.tasks.remove(task)
            self.here[task] = False
            self.use -= self.hosts.load[task]
            if gpus := self.gpus[task]:
                self.gpu_use[gpus] -= int(self.hosts.load[task, self.hosts.column]) // len(gpus)
                self.gpu_count[gpus] -= 1
        return found

    def _closest(self, among: IntArray, over: npt.NDArray[np.bool_]) -> int:
        """Of some tasks, the one most like the ideal virtual task of the node.

        That has the most utilisation of each overloaded resource and the least of each other that any task of the node
        has, and exchanges nothing with the tasks there. Ties: the lowest priority.
        """
        here = self.hosts.load[self.tasks] / self.capacity
        ideal = np.where(over, here.max(axis=0), here.min(axis=0))
        distance = ((self.hosts.load[among] / self.capacity - ideal) ** 2).sum(axis=1)
        if self.bandwidth:
            volume = self._volumes()
            if volume.max() > 0:
                distance += (volume / volume.max())[among] ** 2
        return int(among[np.lexsort((among, self.priority[among], distance))[0]])

    def _volumes(self) -> Floats:
        """tasks: what each exchanges in an iteration with those that still run on the node; 0 of tasks elsewhere."""
        snapshot = self.hosts.snapshot
        u, v, sent = (column[self.edges] for column in (snapshot.edge_from, snapshot.edge_to, snapshot.edge_volume))
        stays = self.here[u] & self.here[v]
        ends = np.concatenate([u[stays], v[stays]])
        return np.bincount(ends, weights=np.tile(sent[stays], 2), minlength=len(self.here)).astype(np.float64)
