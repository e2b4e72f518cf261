"""The nodes during a round of MLF-H: room, load, and likeness to the ideal host (MLFS, 3.3.2).

Room is the capacity that is not reserved; the judge refuses a plan that exceeds it. Load is the actual use, and
decides if a node is overloaded. Tasks are put on nodes and lifted from them one after another.
"""

from __future__ import annotations

import functools

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.heuristics.taskgraph.types import refuse_types
from mlsched.instances.taskgraph import Snapshot, gpus
from mlsched.instances.taskgraph.states import RUNNING

#: Choice of a node among the candidates for a task: the most like the ideal host, or as in list rules
#: (`_place.Placer`). List rules prefer the neighbours with most exchange, then the node with the least bound work, or
#: the fullest node, and there the fullest GPU.
CHOICES = ("ideal", "least-work", "best-fit")
#: Share of a task's work that is lost while it moves (Beloglazov and Buyya, 2012: 10 % of its CPU share).
LOST_WHILE_MOVING = 0.1


class Hosts:
    """Room and load of each node and GPU, and the place of each task.

    limit: h_r, the share of a resource from which on a node is overloaded. It applies to CPU, memory, bandwidth and
    similar resources, and to each GPU that tasks share. A GPU or node with a single task is not overloaded by it,
    since a move would not relieve it. If the GPUs of a node are one pool, only use above the capacity counts as
    overload.
    left: ticks of work left of each task, (tasks,). bandwidth: communication counts in the choice of a host. choice:
    one of `CHOICES`.
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
        #: Use of each task, or the expected use of tasks that do not run.
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
        self.held: dict[int, tuple[int, list[int]]] = {}  # task -> node and GPUs, of tasks put here
        self.lifted: set[int] = set()  # running tasks taken off their nodes

    @functools.cached_property
    def may_pause(self) -> BoolArray:
        """Return for each task if it runs and may return to the queue without losing work.

        A task of a gang may not, nor any task by iterations: it would stop the others of its job.
        """
        if self.snapshot.simulator == "iterations" or self.snapshot.pausing != "keep":
            return np.zeros(len(self.snapshot.state), dtype=np.bool_)
        gang = self.snapshot.gang[self.snapshot.task_job] == 1
        return np.asarray((self.snapshot.state == RUNNING) & ~gang)

    @functools.cached_property
    def may_leave(self) -> BoolArray:
        """Return for each task if it runs and may leave its node, for another node or for the queue."""
        anytime = self.snapshot.movement == "anytime"
        return np.asarray(self.may_pause | ((self.snapshot.state == RUNNING) & anytime))

    @functools.cached_property
    def need(self) -> IntArray:
        """Return each task's use of the GPU resource if GPUs are individual, else 0."""
        return self.snapshot.gpu_demand

    # -- putting and lifting ------------------------------------------------------------------------------------------

    def put(self, task: int, node: int, taken: list[int]) -> None:
        """Occupy room for the task on a node, and the GPUs `taken` of this node."""
        self.held[task] = node, taken
        self._change_room(task, node, taken, 1)
        self.place[task] = node

    def lift(self, task: int) -> tuple[int, list[int]]:
        """Release the room of the task; return its previous place."""
        if task in self.held:
            node, gpus = self.held.pop(task)
        else:
            node, gpus = self.where(task)
            self.lifted.add(task)
        self._change_room(task, node, gpus, -1)
        return node, gpus

    def take_back(self, task: int, before: int) -> None:
        """Undo a put; `before`: the task's previous node."""
        self.lift(task)
        self.place[task] = before

    def holds(self, task: int) -> bool:
        """Return if the task has room: it was put here, or runs and was not lifted."""
        return task in self.held or bool(self.snapshot.state[task] == RUNNING and task not in self.lifted)

    def where(self, task: int) -> tuple[int, list[int]]:
        """Return node and GPUs of a running task, as in the snapshot."""
        node, gpu = int(self.snapshot.node[task]), int(self.snapshot.gpu[task])
        if gpu >= 0:
            return node, [gpu]
        return node, np.flatnonzero(self.snapshot.gpu_holder[node] == task).tolist()

    def _change_room(self, task: int, node: int, taken: list[int], sign: int) -> None:
        if not self.snapshot.duration[task]:
            return
        self.free[node] -= sign * self.demand[task]
        self.use[node] += sign * self.load[task]
        self.count[node] += sign
        if taken:
            self.gpu_free[node, taken] -= sign * min(int(self.need[task]), self.snapshot.gpu_unit)
            self.gpu_use[node, taken] += sign * int(self.load[task, self.column]) // len(taken)
            self.gpu_count[node, taken] += sign

    def put_back(self, tasks: IntArray) -> bool:
        """Put lifted tasks back on their previous nodes and GPUs; False, without changes, if some lack room there."""
        restored: list[int] = []
        for task in tasks.tolist():
            node, gpus = self.where(task)
            part = min(int(self.need[task]), self.snapshot.gpu_unit)
            room = (self.free[node] >= self.demand[task]).all() and (self.gpu_free[node, gpus] >= part).all()
            if self.snapshot.duration[task] and not room:
                for other in restored:
                    self.lift(other)
                return False
            self.put(task, node, gpus)
            restored.append(task)
        return True

    # -- load ---------------------------------------------------------------------------------------------------------

    def without_limit(self) -> None:
        """Remove the load limit from now on: room is then sufficient."""
        self.most = np.full_like(self.most, np.inf)
        self.gpu_most = int(self.gpu_use.sum() + self.load.sum())

    def crowded(self) -> BoolArray:
        """Return for each GPU (nodes x GPUs) if several tasks share it and it is overloaded."""
        return np.asarray((self.gpu_count > 1) & (self.gpu_use > self.gpu_most))

    def overloaded(self) -> BoolArray:
        """Return for each node if some resource, or a GPU, is used beyond the limit."""
        return np.asarray((self.use > self.most).any(axis=1) | self.crowded().any(axis=1))

    def headroom(self) -> FloatArray:
        """Return the largest possible demand of waiting tasks by room and by load (nodes x resources)."""
        by_load = np.where((self.count == 0)[:, None], np.inf, self.most - self.use)
        return np.asarray(np.maximum(np.minimum(self.free, by_load), 0))

    # -- the choice of a host -----------------------------------------------------------------------------------------

    def best(self, task: int) -> tuple[int, list[int]] | None:
        """Return the best node and its GPUs for the task, among the nodes that the task fits and does not overload.

        With the choice "ideal", the best node is nearest to the ideal virtual host. This host has, of each resource,
        the least utilisation of a node that is not overloaded, and of these nodes the most communication with the
        task. Moving there is free. The distance is Euclidean over utilisation as a share of capacity, communication as
        a share of the most, and the degradation by moving as a share of the task's work left, within [0, 1].

        With other choices, the best node has the most communication with the task, then the least `_list_rule_cost`.
        Ties: the first node.
        """
        nodes = np.flatnonzero(self.fits(task))
        if not nodes.size:
            return None
        if nodes.size == 1:
            node = int(nodes[0])
        elif self._choice == "ideal":
            node = int(nodes[self._distance_to_ideal(task, nodes).argmin()])
        else:
            node = int(nodes[np.lexsort((nodes, self._list_rule_cost(nodes), -self.volumes(task)[nodes]))[0]])
        return node, self.gpus_for(task, node)

    def _list_rule_cost(self, nodes: IntArray) -> FloatArray:
        """Return the cost of the nodes in list rules, (nodes,): work bound to them, or free capacity."""
        capacity = self.capacity[nodes]
        if self._choice == "best-fit":
            return np.asarray((self.free[nodes] / capacity).sum(axis=1))
        located = np.flatnonzero(self.place >= 0)
        bound = np.zeros(self.free.shape)
        np.add.at(bound, self.place[located], self.demand[located] * self._left[located, None])
        return np.asarray((bound[nodes] / capacity).max(axis=1, initial=0.0))

    def fits(self, task: int) -> BoolArray:
        """Return for each node if the task fits there and would not overload it."""
        may = self.snapshot.may_start_on(task)
        if not self.snapshot.duration[task]:
            return may
        may &= (self.free >= self.demand[task]).all(axis=1)
        may &= (self.use + self.load[task] <= self.most).all(axis=1) | (self.count == 0)
        if self.need[task] and may.any():
            may &= self.gpu_fits(task).any(axis=1)
        return may

    def gpu_fits(self, task: int, nodes: slice | int = slice(None)) -> BoolArray:
        """Return the GPUs (nodes x GPUs, or of one node) that the task could take, on nodes with enough of them."""
        need, unit, free = int(self.need[task]), self.snapshot.gpu_unit, self.gpu_free[nodes]
        if need < unit:
            light = self.gpu_use[nodes] + self.load[task, self.column] <= self.gpu_most
            return np.asarray((free >= need) & (light | (self.gpu_count[nodes] == 0)))
        whole = free == unit
        return np.asarray(whole & (whole.sum(axis=-1, keepdims=True) >= need // unit))

    def gpus_for(self, task: int, node: int) -> list[int]:
        """Return the least used GPUs that the task can take (the fullest as in list rules); [] if not needed."""
        if not self.need[task]:
            return []
        able = np.flatnonzero(self.gpu_fits(task, node))
        many = max(1, int(self.need[task]) // self.snapshot.gpu_unit)
        by = self.gpu_use if self._choice == "ideal" else self.gpu_free
        gpus: list[int] = able[np.argsort(by[node, able], kind="stable")[:many]].tolist()
        return sorted(gpus)

    def _distance_to_ideal(self, task: int, nodes: IntArray) -> FloatArray:
        """Return the squared distance of each of the nodes to the ideal host of the task."""
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
            squares += np.where(nodes != here, self._loss_by_moving(task, nodes), 0.0) ** 2
        return np.asarray(squares)

    def _loss_by_moving(self, task: int, nodes: IntArray) -> FloatArray:
        """Return the share of the task's work left that is lost by moving to each node, at most 1.

        It loses a tenth of its CPU share (of all of it without a resource named cpu) while it moves. The edge of lag
        1 to itself defines the time of the move.
        """
        mine = self.edges_of(task)
        snapshot = self.snapshot
        own = mine[(snapshot.edge_from[mine] == snapshot.edge_to[mine]) & (snapshot.edge_lag[mine] == 1)]
        moving = int(snapshot.edge_delay[own].max(initial=0))
        share = 1.0
        if "cpu" in snapshot.resources:
            cpu = snapshot.resources.index("cpu")
            share = self.load[task, cpu] / self.capacity[nodes, cpu]
        loss = LOST_WHILE_MOVING * share * moving / max(int(self._left[task]), 1)
        return np.asarray(np.minimum(loss, 1.0) * np.ones(len(nodes)))

    def volumes(self, task: int) -> FloatArray:
        """Return the volume per iteration between the task and the tasks on each node (now, or when they last ran)."""
        mine, snapshot = self.edges_of(task), self.snapshot
        other = np.where(snapshot.edge_from[mine] == task, snapshot.edge_to[mine], snapshot.edge_from[mine])
        place = np.where(other == task, -1, self.place[other])
        located = place >= 0
        weights = snapshot.edge_volume[mine][located]
        return np.bincount(place[located], weights=weights, minlength=len(self.free)).astype(np.float64)

    def edges_of(self, task: int) -> IntArray:
        """Return the edges from or to the task."""
        order, job_of = self._edges_by_job
        job = self.snapshot.task_job[task]
        first, end = np.searchsorted(job_of, (job, job + 1))
        mine = order[first:end]
        return np.asarray(mine[(self.snapshot.edge_from[mine] == task) | (self.snapshot.edge_to[mine] == task)])

    @functools.cached_property
    def _edges_by_job(self) -> tuple[IntArray, IntArray]:
        """Return the edges in order of their jobs, and these jobs."""
        job = self.snapshot.task_job[self.snapshot.edge_from]
        in_order = bool((np.diff(job) >= 0).all())
        order = np.arange(len(job)) if in_order else np.argsort(job, kind="stable")
        return order, job[order]
