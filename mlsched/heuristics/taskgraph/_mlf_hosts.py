"""The nodes while MLF-H makes a round: room, load, and which of them is most like the ideal host (MLFS, 3.3.2).

Room is what is not reserved; a plan that exceeds it is refused by the judge. Load is what is used, and by it a node is
overloaded or not. Tasks are put and lifted one after another.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph.types import refuse_types
from mlsched.instances.taskgraph import Snapshot, gpus
from mlsched.instances.taskgraph.states import RUNNING

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: How a node is chosen among those that could take a task: the one most like the ideal host, or as list rules do
#: (`_place.Placer`): beside the tasks that it exchanges most with, then the node with the least work bound to it, or
#: the fullest; there, the fullest GPU.
CHOICES = ("ideal", "least-work", "best-fit")
#: Share of a task's work that is lost while it moves (Beloglazov and Buyya, 2012: 10 % of its CPU share).
LOST_WHILE_MOVING = 0.1


class Hosts:
    """Room and load of each node and GPU, and where each task is.

    limit: h_r, the share of a resource from which on a node is overloaded. It is held against CPU, memory, bandwidth
    and the like, and against each GPU that tasks share; a GPU that a task has for itself, or a node that does, is not
    overloaded by that, since no move would relieve it. Where the GPUs of a node are one pool, only more use than there
    is counts as too much.
    left: tasks, ticks of work that each has left. bandwidth: whether communication counts in the choice of a host.
    choice: one of `CHOICES`.
    """

    def __init__(
        self, snapshot: Snapshot, limit: float, left: IntArray, bandwidth: bool, choice: str = "ideal"
    ) -> None:
        refuse_types(snapshot)
        self.snapshot, self.limit, self._left, self._bandwidth = snapshot, limit, left, bandwidth
        self._choice = choice
        self.demand = snapshot.demand * (snapshot.duration > 0)[:, None]
        self.column, unit = gpus.gpu_column(snapshot.resources), snapshot.gpu_unit
        running = np.flatnonzero((snapshot.state == RUNNING) & (snapshot.duration > 0))
        #: What each task uses, or is expected to where it does not run.
        self.load = self.demand.copy()
        self.load[running] = snapshot.usage[running]
        self.free = snapshot.free.copy()
        self.use = snapshot.in_use.copy()
        np.add.at(self.use, snapshot.node[running], (self.load - self.demand)[running])
        self.count = np.bincount(snapshot.node[running], minlength=len(self.free))
        self.capacity = np.maximum(snapshot.node_capacity, 1)
        self.most = np.floor(snapshot.node_capacity * limit + 1e-9)
        if self.column >= 0:
            self.most[:, self.column] = np.inf if unit else snapshot.node_capacity[:, self.column]
        self.gpu_free, self.gpu_use = snapshot.gpu_free.copy(), snapshot.gpu_usage
        self.gpu_most = int(unit * limit + 1e-9)
        self.gpu_count = (snapshot.gpu_holder >= 0).astype(np.int64)
        parts = running[(self.need[running] > 0) & (self.need[running] < unit)]
        np.add.at(self.gpu_count, (snapshot.node[parts], snapshot.gpu[parts]), 1)
        self.place = np.where(snapshot.node >= 0, snapshot.node, snapshot.home)
        self.held: dict[int, tuple[int, list[int]]] = {}  # task -> node and GPUs, of those put here
        self.lifted: set[int] = set()  # running tasks that have been taken off their nodes

    @functools.cached_property
    def may_pause(self) -> Flags:
        """tasks: whether a running task may be sent back to the queue, where it keeps its work.

        One of a gang may not, nor any by iterations: it would stop the others of its job.
        """
        if self.snapshot.simulator == "iterations" or self.snapshot.pausing != "keep":
            return np.zeros(len(self.snapshot.state), dtype=np.bool_)
        gang = self.snapshot.gang[self.snapshot.task_job] == 1
        return np.asarray((self.snapshot.state == RUNNING) & ~gang)

    @functools.cached_property
    def may_leave(self) -> Flags:
        """tasks: whether a running task may leave its node, for another one or for the queue."""
        anytime = self.snapshot.movement == "anytime"
        return np.asarray(self.may_pause | ((self.snapshot.state == RUNNING) & anytime))

    @functools.cached_property
    def need(self) -> IntArray:
        """tasks: what each holds of the GPU resource, where GPUs are told apart; else 0."""
        return self.snapshot.gpu_demand

    # -- putting and lifting ------------------------------------------------------------------------------------------

    def put(self, task: int, node: int, taken: list[int]) -> None:
        """The task takes room on a node and on these GPUs of it."""
        self.held[task] = node, taken
        self._change(task, node, taken, 1)
        self.place[task] = node

    def lift(self, task: int) -> tuple[int, list[int]]:
        """The task gives its room back; where it was."""
        if task in self.held:
            node, taken = self.held.pop(task)
        else:
            node, taken = self.where(task)
            self.lifted.add(task)
        self._change(task, node, taken, -1)
        return node, taken

    def take_back(self, task: int, before: int) -> None:
        """Undo a put; `before`: where the task was counted to be."""
        self.lift(task)
        self.place[task] = before

    def holds(self, task: int) -> bool:
        """Whether the task has room: it was put here, or runs and was not lifted."""
        return task in self.held or bool(self.snapshot.state[task] == RUNNING and task not in self.lifted)

    def where(self, task: int) -> tuple[int, list[int]]:
        """Node and GPUs of a running task, as the snapshot has them."""
        node, gpu = int(self.snapshot.node[task]), int(self.snapshot.gpu[task])
        if gpu >= 0:
            return node, [gpu]
        return node, np.flatnonzero(self.snapshot.gpu_holder[node] == task).tolist()

    def _change(self, task: int, node: int, taken: list[int], sign: int) -> None:
        if not self.snapshot.duration[task]:
            return
        self.free[node] -= sign * self.demand[task]
        self.use[node] += sign * self.load[task]
        self.count[node] += sign
        if taken:
            self.gpu_free[node, taken] -= sign * min(int(self.need[task]), self.snapshot.gpu_unit)
            self.gpu_use[node, taken] += sign * int(self.load[task, self.column]) // len(taken)
            self.gpu_count[node, taken] += sign

    def may_return(self, tasks: IntArray) -> bool:
        """Lifted tasks take the nodes and GPUs again that they ran on, if there still is room for all of them."""
        done: list[int] = []
        for task in tasks.tolist():
            node, taken = self.where(task)
            part = min(int(self.need[task]), self.snapshot.gpu_unit)
            room = (self.free[node] >= self.demand[task]).all() and (self.gpu_free[node, taken] >= part).all()
            if self.snapshot.duration[task] and not room:
                for other in done:
                    self.lift(other)
                return False
            self.put(task, node, taken)
            done.append(task)
        return True

    # -- load ---------------------------------------------------------------------------------------------------------

    def without_limit(self) -> None:
        """From now on no load is too much: what has room may be placed."""
        self.most = np.full_like(self.most, np.inf)
        self.gpu_most = int(self.gpu_use.sum() + self.load.sum())

    def crowded(self) -> Flags:
        """nodes x GPUs: whether a GPU that several tasks share is overloaded."""
        return np.asarray((self.gpu_count > 1) & (self.gpu_use > self.gpu_most))

    def overloaded(self) -> Flags:
        """nodes: whether some resource, or a GPU, is used beyond the limit."""
        return np.asarray((self.use > self.most).any(axis=1) | self.crowded().any(axis=1))

    def headroom(self) -> Floats:
        """nodes x resources: how much tasks that wait may ask for at most, by room and by load."""
        by_load = np.where((self.count == 0)[:, None], np.inf, self.most - self.use)
        return np.asarray(np.maximum(np.minimum(self.free, by_load), 0))

    # -- the choice of a host -----------------------------------------------------------------------------------------

    def best(self, task: int) -> tuple[int, list[int]] | None:
        """Node and GPUs for the task: of those that it does not overload, the one most like the ideal host.

        The ideal virtual host has the least utilisation of each resource that any node has that is not overloaded,
        all communication with the task that any of these has, and costs the task nothing to move to. Likeness is the
        Euclidean distance: utilisation as a share of capacity, communication as a share of the most, and the
        degradation by moving as a share of the task's work left, within [0, 1]. Ties: the first node.
        """
        nodes = np.flatnonzero(self.fits(task))
        if not nodes.size:
            return None
        if nodes.size == 1:
            node = int(nodes[0])
        elif self._choice == "ideal":
            node = int(nodes[self._distance(task, nodes).argmin()])
        else:
            node = int(nodes[np.lexsort((nodes, self._as_listed(nodes), -self.volumes(task)[nodes]))[0]])
        return node, self.gpus_for(task, node)

    def _as_listed(self, nodes: IntArray) -> Floats:
        """Of each of the nodes, what list rules prefer least of: work bound to it, or what is free."""
        capacity = self.capacity[nodes]
        if self._choice == "best-fit":
            return np.asarray((self.free[nodes] / capacity).sum(axis=1))
        known = np.flatnonzero(self.place >= 0)
        bound = np.zeros(self.free.shape)
        np.add.at(bound, self.place[known], self.demand[known] * self._left[known, None])
        return np.asarray((bound[nodes] / capacity).max(axis=1, initial=0.0))

    def fits(self, task: int) -> Flags:
        """nodes: where the task could run, with room for it, and would overload nothing."""
        may = self.snapshot.may_start_on(task)
        if not self.snapshot.duration[task]:
            return may
        may &= (self.free >= self.demand[task]).all(axis=1)
        may &= (self.use + self.load[task] <= self.most).all(axis=1) | (self.count == 0)
        if self.need[task] and may.any():
            may &= self.gpu_fits(task).any(axis=1)
        return may

    def gpu_fits(self, task: int, nodes: slice | int = slice(None)) -> Flags:
        """nodes x GPUs (or GPUs of one node): those that the task could take, on nodes with enough of them."""
        need, unit, free = int(self.need[task]), self.snapshot.gpu_unit, self.gpu_free[nodes]
        if need < unit:
            light = self.gpu_use[nodes] + self.load[task, self.column] <= self.gpu_most
            return np.asarray((free >= need) & (light | (self.gpu_count[nodes] == 0)))
        whole = free == unit
        return np.asarray(whole & (whole.sum(axis=-1, keepdims=True) >= need // unit))

    def gpus_for(self, task: int, node: int) -> list[int]:
        """The least used GPUs of the node that the task can take (as listed, the fullest); none where it needs none."""
        if not self.need[task]:
            return []
        able = np.flatnonzero(self.gpu_fits(task, node))
        many = max(1, int(self.need[task]) // self.snapshot.gpu_unit)
        by = self.gpu_use if self._choice == "ideal" else self.gpu_free
        gpus: list[int] = able[np.argsort(by[node, able], kind="stable")[:many]].tolist()
        return sorted(gpus)

    def _distance(self, task: int, nodes: IntArray) -> Floats:
        """Of each of the nodes, the squared distance to the ideal host of the task."""
        light = np.flatnonzero(~self.overloaded())
        light = nodes if not light.size else light
        utilisation = self.use / self.capacity
        squares = ((utilisation[nodes] - utilisation[light].min(axis=0)) ** 2).sum(axis=1)
        if self._bandwidth:
            volume = self.volumes(task)
            most = volume[light].max()
            if most > 0:
                squares += (volume[nodes] / most - 1) ** 2
        here = self.place[task]
        if here >= 0:
            squares += np.where(nodes != here, self._degradation(task, nodes), 0.0) ** 2
        return np.asarray(squares)

    def _degradation(self, task: int, nodes: IntArray) -> Floats:
        """Of the work that the task has left, the share lost by moving to each node, at most 1.

        A tenth of its CPU share (of all of it, where no resource is named cpu) while it moves, which takes as long as
        the edge of lag 1 to itself says.
        """
        mine = self.edges_of(task)
        snapshot = self.snapshot
        own = mine[(snapshot.edge_from[mine] == snapshot.edge_to[mine]) & (snapshot.edge_lag[mine] == 1)]
        moving = int(snapshot.edge_delay[own].max(initial=0))
        share = 1.0
        if "cpu" in snapshot.resources:
            cpu = snapshot.resources.index("cpu")
            share = self.load[task, cpu] / self.capacity[nodes, cpu]
        lost = LOST_WHILE_MOVING * share * moving / max(int(self._left[task]), 1)
        return np.asarray(np.minimum(lost, 1.0) * np.ones(len(nodes)))

    def volumes(self, task: int) -> Floats:
        """nodes: the volume that the task exchanges in an iteration with the tasks that are, or last ran, there."""
        mine, snapshot = self.edges_of(task), self.snapshot
        other = np.where(snapshot.edge_from[mine] == task, snapshot.edge_to[mine], snapshot.edge_from[mine])
        place = np.where(other == task, -1, self.place[other])
        known = place >= 0
        weights = snapshot.edge_volume[mine][known]
        return np.bincount(place[known], weights=weights, minlength=len(self.free)).astype(np.float64)

    def edges_of(self, task: int) -> IntArray:
        """The edges from or to the task."""
        order, job_of = self._edges
        job = self.snapshot.task_job[task]
        first, end = np.searchsorted(job_of, (job, job + 1))
        mine = order[first:end]
        return np.asarray(mine[(self.snapshot.edge_from[mine] == task) | (self.snapshot.edge_to[mine] == task)])

    @functools.cached_property
    def _edges(self) -> tuple[IntArray, IntArray]:
        """The edges in order of their jobs, and these jobs."""
        job = self.snapshot.task_job[self.snapshot.edge_from]
        in_order = bool((np.diff(job) >= 0).all())
        order = np.arange(len(job)) if in_order else np.argsort(job, kind="stable")
        return order, job[order]
