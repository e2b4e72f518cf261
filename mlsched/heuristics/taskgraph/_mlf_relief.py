"""The tasks that MLF-H takes off overloaded nodes: the most like the ideal virtual task (MLFS, 3.3.3)."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray, IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.instances.taskgraph.states import RUNNING


def relieved(hosts: Hosts, priority: FloatArray, share: float, bandwidth: bool) -> list[int]:
    """Return the running tasks to move, node by node, in the order of choice. `hosts` does not change.

    While a node has overloaded GPUs, the choice is among `share` (p_s) of the tasks there, at least one: the tasks of
    the lowest priority. Then, while the node is overloaded, it is among all tasks on it. The last task of a node
    stays.
    """
    relieved_tasks: list[int] = []
    for node in np.flatnonzero(hosts.overloaded()).tolist():
        crowd = Crowd(hosts, node)
        while (choice := crowd.choice()) is not None:
            task = _closest_to_ideal(crowd, choice, priority, share, bandwidth)
            relieved_tasks.append(task)
            crowd.go(task)
    return relieved_tasks


@dataclasses.dataclass(frozen=True)
class Choice:
    """Candidates to leave a node and relieve it.

    tasks: the candidates. shared: number of tasks on the overloaded GPUs, 0 without overloaded GPUs. over: the
    overloaded resources.
    """

    tasks: IntArray
    shared: int
    over: npt.NDArray[np.bool_]


class Crowd:
    """The tasks that run on one node, and its load while some of them leave."""

    def __init__(self, hosts: Hosts, node: int) -> None:
        snapshot = hosts.snapshot
        self.hosts = hosts
        runs = (snapshot.state == RUNNING) & (snapshot.node == node) & (snapshot.duration > 0)
        runs[list(hosts.lifted)] = False
        self.tasks: list[int] = np.flatnonzero(runs).tolist()
        self.use, self.most, self.capacity = hosts.use[node].copy(), hosts.most[node], hosts.capacity[node]
        self.gpus = {task: hosts.where(task)[1] for task in self.tasks}
        self.gpu_use, self.gpu_count = hosts.gpu_use[node].copy(), hosts.gpu_count[node].copy()
        self.here = runs
        near = runs[snapshot.edge_from] & runs[snapshot.edge_to] & (snapshot.edge_from != snapshot.edge_to)
        self.edges = np.flatnonzero(near)  # edges between two tasks of the node

    def choice(self) -> Choice | None:
        """Return the candidates to leave now, or None.

        None if the node is not overloaded, all of its tasks must stay, or one task is left.
        """
        if len(self.tasks) < 2:
            return None
        crowded = set(np.flatnonzero((self.gpu_count > 1) & (self.gpu_use > self.hosts.gpu_most)).tolist())
        over = self.use > self.most
        if not crowded and not over.any():
            return None
        tasks = [task for task in self.tasks if not crowded or crowded.intersection(self.gpus[task])]
        if crowded:
            over = over.copy()
            over[self.hosts.column] = True
        may = self.hosts.may_leave
        able = np.array([task for task in tasks if may[task]], dtype=np.int64)
        return Choice(able, len(tasks) if crowded else 0, over) if able.size else None

    def go(self, task: int) -> None:
        """Remove a task from the node."""
        self.tasks.remove(task)
        self.here[task] = False
        self.use -= self.hosts.load[task]
        if gpus := self.gpus[task]:
            self.gpu_use[gpus] -= int(self.hosts.load[task, self.hosts.column]) // len(gpus)
            self.gpu_count[gpus] -= 1

    def volumes(self) -> FloatArray:
        """Return each task's volume per iteration with the tasks that still run on the node; 0 for tasks elsewhere."""
        snapshot = self.hosts.snapshot
        u, v, volume = (column[self.edges] for column in (snapshot.edge_from, snapshot.edge_to, snapshot.edge_volume))
        stays = self.here[u] & self.here[v]
        ends = np.concatenate([u[stays], v[stays]])
        return np.bincount(ends, weights=np.tile(volume[stays], 2), minlength=len(self.here)).astype(np.float64)


def _closest_to_ideal(crowd: Crowd, choice: Choice, priority: FloatArray, share: float, bandwidth: bool) -> int:
    """Return the candidate most like the ideal virtual task of the node.

    The ideal task has the most utilisation of each overloaded resource and the least of each other over the tasks of
    the node, and does not communicate with them. From overloaded GPUs, the choice is among tasks of the lowest
    priority. Ties: the lowest priority.
    """
    among, hosts = choice.tasks, crowd.hosts
    if choice.shared:
        among = among[np.lexsort((among, priority[among]))][: max(1, math.ceil(share * choice.shared))]
    here = hosts.load[crowd.tasks] / crowd.capacity
    ideal = np.where(choice.over, here.max(axis=0), here.min(axis=0))
    distance = ((hosts.load[among] / crowd.capacity - ideal) ** 2).sum(axis=1)
    if bandwidth:
        volume = crowd.volumes()
        if volume.max() > 0:
            distance += (volume / volume.max())[among] ** 2
    return int(among[np.lexsort((among, priority[among], distance))[0]])
