"""Placement for all list schedulers of task graphs: room, the choice of a node, and when jobs stop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.core.params import check_choice
from mlsched.heuristics.taskgraph import _gangs, _gpus, types
from mlsched.heuristics.taskgraph.measures import per_job, remaining_ticks, stops_after, tasks_of
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: Choice among nodes with room: the fullest, the node with the least work bound to it, or by the simulator; as few
#: nodes as possible for a gang; or least work without regard to the volume that tasks exchange.
NODES = ("auto", "best-fit", "least-work", "few", "balance")


class Placer:
    """A mutable copy of a snapshot's room; tasks start one after another, each on the node chosen for it here.

    `stop_after`: the number of iterations after which each job shall stop, by the rule `stop` (see
    `_measures.STOPS`). `open`: the tasks that may still start in this round. A gang starts as a unit: given any of
    its tasks, all start or none.

    nodes: "best-fit" - a task goes to the fullest node with room; "least-work" - to the node with the least work
    bound to it; "auto" - by the world. If a task is to come back to the node where it first ran, after each of its
    runs (simulator "tasks") or after a pause (without movement "anytime"), work is to be spread. Otherwise room is
    scarce, and the fullest is taken. "few" - a gang takes as few nodes as it can, other tasks as with "best-fit".
    "balance" - as "least-work", but a task ignores the nodes of its neighbours in the graph.
    rates: the rule sees the rates of types of nodes (`types`).
    """

    def __init__(self, snapshot: Snapshot, stop: str = "most", nodes: str = "auto", rates: bool = False) -> None:
        check_choice("nodes", nodes, NODES)
        self.snapshot = snapshot
        self.stop_after = stops_after(snapshot, stop)
        stays = snapshot.pausing == "none" or snapshot.movement == "anytime"
        by_room = snapshot.simulator == "iterations" and stays
        self.best_fit = nodes in ("best-fit", "few") or (nodes == "auto" and by_room)
        self._near = nodes != "balance"  # nodes of neighbours in the graph come first
        self.free = snapshot.free.copy()
        self.spare = self.free  # part of `free` without preemption; equal, unless a rule preempts
        self.open = snapshot.startable.copy()
        if stop != "most":  # otherwise every job of a snapshot may run further iterations
            self.open &= (self.stop_after > snapshot.finished)[snapshot.task_job]
        self.place = np.where(snapshot.node >= 0, snapshot.node, snapshot.home)  # of each task, as far as known
        self.starts: list[tuple[int, int]] = []
        self.moves: list[tuple[int, int]] = []  # of running tasks
        self.types = types.of(snapshot, rates)
        self.among: BoolArray | None = None  # candidate nodes; None: all
        self.gpus = _gpus.of(snapshot)  # None: room on a node is room on its GPUs
        self.held = snapshot.demand * (snapshot.duration > 0)[:, None]  # use of each task while it runs
        self.packed = np.full(len(snapshot.arrival), nodes == "few")  # gangs that go to as few nodes as possible
        self.choose: Callable[[int, IntArray], int] | None = None  # another choice among candidate nodes

    @functools.cached_property
    def _remaining_ticks(self) -> IntArray:
        return remaining_ticks(self.snapshot, self.stop_after)

    @functools.cached_property
    def _bound_work(self) -> FloatArray:
        """Return the work bound to each node (nodes x resources): of tasks that run there or have it as home."""
        located = np.flatnonzero(self.place >= 0)
        work = (self.snapshot.demand[located] * self._remaining_ticks[located, None]).T
        count = len(self.free)
        return np.array([np.bincount(self.place[located], row, minlength=count) for row in work]).reshape(-1, count).T

    @functools.cached_property
    def largest(self) -> IntArray:
        """Return the largest amount of each resource on a node."""
        return np.asarray(np.maximum(self.snapshot.node_capacity.max(axis=0, initial=1), 1))

    def may(self, task: int) -> BoolArray:
        """Return the nodes that the task may use now, with or without room."""
        may = self.snapshot.may_start_on(task)
        return may if self.among is None else may & self.among

    def nodes(self, task: int) -> IntArray:
        """Return the nodes with room on which the task could start now; if possible, only nodes without preemption."""
        if not self.open[task]:
            return np.zeros(0, dtype=np.int64)
        may = self.room(task)
        if self.snapshot.duration[task] and self.spare is not self.free:
            quiet = may & (self.spare >= self.snapshot.demand[task]).all(axis=1)
            if self.gpus:
                quiet &= self.gpus.room(task, quiet=True)
            may = quiet if quiet.any() else may
        return np.flatnonzero(may)

    def room(self, task: int) -> BoolArray:
        """Return for each node if the task may use it now and has room."""
        may = self.may(task)
        if self.snapshot.duration[task]:
            may &= (self.free >= self.snapshot.demand[task]).all(axis=1)
            if self.gpus:
                may &= self.gpus.room(task)
        return may

    def start(self, task: int) -> bool:
        """Start the task, or its gang, on the best of the nodes that can take it; return False without room.

        Best: the least volume of data to its neighbours in the graph, as far as these have a node; then the least
        delay; then, by `nodes`, the fullest or the node with the least work bound to it (by its scarcest resource);
        then the first. Work bound to a node is the rest of the tasks that run there or have it as home. A rule may
        replace this choice (`choose`). Gangs: see `_gangs`; types of nodes: see `types`.
        """
        return self.start_here(task) if self.types is None else self.types.start(self, task)

    def start_here(self, task: int) -> bool:
        """Start the task as `start` does, among the candidate nodes."""
        if self.snapshot.gang[self.snapshot.task_job[task]]:
            first, end = tasks_of(self.snapshot, int(self.snapshot.task_job[task]))
            if end - first > 1:
                return _gangs.start(self, first, end)
        nodes = self.nodes(task)
        if not nodes.size:
            return False
        self.put(task, self._choose_node(task, nodes))
        return True

    def start_in_turn(self, tasks: Iterable[int]) -> bool:
        """Start all of these tasks one after another; if one does not fit, undo the starts before it."""
        tasks = list(tasks)
        place, bound = self.place[tasks], None if self.best_fit else self._bound_work.copy()
        for at, task in enumerate(tasks):
            nodes = self.nodes(task)
            if not nodes.size:
                self.take_back(tasks[:at])
                self.place[tasks] = place
                if bound is not None:
                    self._bound_work[:] = bound
                return False
            self.put(task, self._choose_node(task, nodes))
        return True

    def take_back(self, tasks: list[int]) -> None:
        """Undo the starts of these tasks, the last that were put."""
        for task in reversed(tasks):
            entries = self.moves if self.snapshot.state[task] == RUNNING else self.starts
            last_task, node = entries.pop()
            assert last_task == task, "what was put last is taken back first"
            self._change_room(task, node, -1)
            if self.gpus:
                self.gpus.give(task)
            self.open[task] = True

    def resume(self, tasks: IntArray) -> bool:
        """Let these running tasks take their released nodes and GPUs again, if all have room."""
        node, usage = self.snapshot.node[tasks], self.held[tasks]
        np.subtract.at(self.free, node, usage)
        if (self.free[node] < 0).any() or (self.gpus and not self.gpus.keep(tasks)):
            np.add.at(self.free, node, usage)
            return False
        return True

    def start_within(self, task: int, room: IntArray) -> bool:
        """Start the task as `start` does, using at most `room` (nodes x resources, at most the free amounts)."""
        before, free, spare = len(self.starts), self.free, self.spare
        self.free = self.spare = room.copy()
        success = self.start(task)
        self.free, self.spare = free, spare
        for begins, node in self.starts[before:]:
            self._change_room(begins, node, 1)
        return success

    def put(self, task: int, node: int, gpu: int = -1, quiet: bool = True) -> None:
        """Start the task, or let a running task continue, on a node that can take it; gpu: index of one of its GPUs.

        Without an index, a fraction of a GPU is taken from the fullest GPU, if possible without preemption; quiet =
        False: from all free GPUs.
        """
        (self.moves if self.snapshot.state[task] == RUNNING else self.starts).append((task, node))
        if not self.best_fit and self.place[task] < 0:
            self._bound_work[node] += self.snapshot.demand[task] * self._remaining_ticks[task]
        self.place[task] = node
        self.open[task] = False
        self._change_room(task, node, 1)
        if self.gpus:
            self.gpus.take(task, node, gpu, quiet)

    def _change_room(self, task: int, node: int, sign: int) -> None:
        self.free[node] -= sign * self.held[task]
        if self.spare is not self.free:
            self.spare[node] -= sign * self.held[task]

    def _choose_node(self, task: int, nodes: IntArray) -> int:
        if nodes.size == 1:
            return int(nodes[0])
        return self._best_node(task, nodes) if self.choose is None else self.choose(task, nodes)

    def _best_node(self, task: int, nodes: IntArray) -> int:
        last = self.fullness(nodes, self.held[task]) if self.best_fit else self._bound_load(nodes)
        snapshot = self.snapshot
        if not self._near:
            return int(nodes[last.argmin()])
        edges = np.flatnonzero((snapshot.edge_from == task) ^ (snapshot.edge_to == task))
        if not edges.size:
            return int(nodes[last.argmin()])
        other = np.where(snapshot.edge_from[edges] == task, snapshot.edge_to[edges], snapshot.edge_from[edges])
        other = self.place[other]
        away = (other >= 0)[:, None] & (other[:, None] != nodes)
        volume, delay = snapshot.edge_volume[edges] @ away, snapshot.edge_delay[edges] @ away
        return int(nodes[np.lexsort((nodes, last, delay, volume))[0]])

    def fullness(self, nodes: IntArray, need: IntArray) -> FloatArray:
        """Return the free amounts of demanded resources on the nodes, in largest nodes: the fullest has least.

        If `need` only fits after preemption, the emptiest comes first: it preempts least.
        """
        room = (self.free if self.spare is self.free else self.spare)[nodes]
        free = room @ self._resource_weights
        if self.spare is not self.free:
            free = np.where((room >= need).all(axis=1), free, len(self._used_resources) - free)
        return np.asarray(free)

    @functools.cached_property
    def _resource_weights(self) -> FloatArray:
        """Return for each demanded resource the inverse of its largest amount on a node."""
        return np.asarray(self.snapshot.demand.any(axis=0) / self.largest)

    def _bound_load(self, nodes: IntArray) -> FloatArray:
        """Return the work bound to each node, in ticks of its capacity, by its scarcest resource."""
        return np.asarray(
            (self._bound_work[nodes] / np.maximum(self.snapshot.node_capacity[nodes], 1)).max(axis=1, initial=0.0)
        )

    def start_in_order(
        self, tasks: IntArray, *, strict: bool = False, before: Callable[[int], None] = lambda task: None
    ) -> None:
        """Start the tasks that fit, in this order; `strict`: stop at the first task without room.

        `before(task)` is called before a task is tried, and may take room. Room only shrinks, so a task that demands
        at least as much as a failed task is skipped (`as_hopeless`, `_gangs.as_stuck`).
        """
        queue, room = tasks[self.open[tasks]], self.free.copy()
        if not strict:
            queue = queue[self.may_fit(queue)]
        at = 0
        while at < len(queue):
            task = int(queue[at])
            at += 1
            if not self.open[task]:
                continue
            before(task)
            if self.start(task):
                continue
            if strict:
                return
            rest = queue[at:]
            if (room != self.free).any():
                rest, room = rest[self.may_fit(rest)], self.free.copy()
            queue, at = rest[~(self.as_hopeless(task, rest) | _gangs.as_stuck(self, task, rest))], 0

    def may_fit(self, tasks: IntArray) -> BoolArray:
        """Return False for tasks that exceed the largest free amounts of all nodes.

        If the task, or another of its gang, is bound to a node, the free amounts of this node count. Tasks of a gang
        that exceeds the total free amount are also False.
        """
        snapshot = self.snapshot
        jobs, bound = snapshot.task_job[tasks], snapshot.bound[tasks]
        may = np.ones(len(tasks), dtype=np.bool_)
        gangs = snapshot.gang[jobs] == 1
        largest = self.free.max(axis=0, initial=0)
        for r in self._used_resources:
            may &= self._bound_demand[r][tasks] <= np.where(bound >= 0, self.free[bound, r], largest[r])
            if gangs.any():
                may &= ~gangs | (self.whole[jobs, r] <= int(np.maximum(self.free[:, r], 0).sum()))
        may |= snapshot.duration[tasks] == 0
        short = np.zeros(len(snapshot.gang), dtype=np.bool_)
        short[jobs[gangs & ~may]] = True
        return np.asarray(may & ~short[jobs])

    @functools.cached_property
    def _bound_demand(self) -> dict[int, IntArray]:
        """Return the demand of each task, (tasks,), for each demanded resource.

        It includes the others of its gang that are bound to the same node.
        """
        snapshot = self.snapshot
        result = {r: self.held[:, r].copy() for r in self._used_resources}
        tied = np.flatnonzero((snapshot.bound >= 0) & (snapshot.gang[snapshot.task_job] == 1))
        if tied.size:
            places = snapshot.task_job[tied] * len(self.free) + snapshot.bound[tied]
            place = np.unique(places, return_inverse=True)[1]
            for r in self._used_resources:
                result[r][tied] = np.bincount(place, self.held[tied, r])[place]
        return result

    @functools.cached_property
    def _used_resources(self) -> list[int]:
        """Return the resources that some task demands."""
        result: list[int] = np.flatnonzero(self.snapshot.demand.any(axis=0)).tolist()
        return result

    @functools.cached_property
    def whole(self) -> IntArray:
        """Return the total use of all tasks of each job (jobs x resources)."""
        columns = [per_job(self.snapshot, self.held[:, r]) for r in range(self.held.shape[1])]
        return np.array(columns, dtype=np.int64).reshape(self.held.shape[1], -1).T

    def as_hopeless(self, task: int, others: IntArray) -> BoolArray:
        """Return which of the others also fail to fit, because the task failed.

        These are the rest of its gang and, if the task may use any node of its class, tasks of the class with at
        least its demand. After a failed gang of equal tasks, they are also gangs of at least as many of such tasks.
        """
        snapshot, jobs = self.snapshot, self.snapshot.task_job[others]
        job = int(snapshot.task_job[task])
        gang = bool(snapshot.gang[job])
        first, end = tasks_of(snapshot, job) if gang else (task, task + 1)
        same = (snapshot.task_class[first:end] == snapshot.task_class[task]).all()
        equal = (snapshot.demand[first:end] == snapshot.demand[task]).all() and snapshot.duration[first:end].all()
        if not (same and equal and self.free_to_go(first, end)):
            return np.asarray(gang & (jobs == job))
        result = (snapshot.task_class[others] == snapshot.task_class[task]) & (snapshot.duration[others] > 0)
        for r, amount in enumerate(snapshot.demand[task].tolist()):
            result &= snapshot.demand[:, r][others] >= amount
        if end - first > 1:
            result &= (snapshot.gang[jobs] == 1) & (self._equal_task_counts[jobs] >= end - first)
        return np.asarray(result | (gang & (jobs == job)))

    def alike(self, task: int) -> bool:
        """Return if all tasks of the task's job have the same demand and may use the same nodes."""
        job = int(self.snapshot.task_job[task])
        first, end = tasks_of(self.snapshot, job)
        return bool(self._equal_task_counts[job]) and self.free_to_go(first, end)

    def plain(self, first: int, end: int) -> bool:
        """Return if equal tasks are placed only by room: without neighbours, individual GPUs or another choice."""
        snapshot = self.snapshot
        if self.gpus or not self.best_fit or self.choose is not None or not self.held[first].any():
            return False
        ends = (snapshot.edge_from, snapshot.edge_to)
        return not any(((first <= side) & (side < end)).any() for side in ends)

    def free_to_go(self, first: int, end: int) -> bool:
        """Return if all of the tasks are free to use any node, without data on its way."""
        snapshot = self.snapshot
        fetching = any(task in snapshot.fetching for task in range(first, end)) if snapshot.fetching else False
        return bool((snapshot.bound[first:end] < 0).all()) and not fetching

    @functools.cached_property
    def _equal_task_counts(self) -> IntArray:
        """Return the number of tasks of each job whose tasks are all equal; 0 for other jobs."""
        snapshot = self.snapshot
        first = np.searchsorted(snapshot.task_job, np.arange(len(snapshot.arrival)))
        rows = np.column_stack([snapshot.demand, snapshot.task_class, snapshot.duration > 0])
        same = np.minimum.reduceat(rows, first) == np.maximum.reduceat(rows, first)
        return np.asarray(np.bincount(snapshot.task_job) * same.all(axis=1))

    def round(self, pauses: Iterable[int] = (), wake_at: int = 0, moves: Iterable[tuple[int, int, int]] = ()) -> Round:
        """Return the finished round; `pauses`, `wake_at` and `moves` (task, node, GPU or -1) are the rule's own."""
        snapshot, names = self.snapshot, self.gpus.names if self.gpus else {}
        changed = np.flatnonzero(self.stop_after != snapshot.stop_after)
        movers = [(task, node, -1) for task, node in self.moves if node != snapshot.node[task]]
        begins = _as_columns([(task, node, names.get(task, -1)) for task, node in self.starts])
        migrated = _as_columns([*movers, *moves])
        return Round.trusted(
            **dict(zip(("start_task", "start_node", "start_gpu"), begins, strict=True)),
            **dict(zip(("migrate_task", "migrate_node", "migrate_gpu"), migrated, strict=True)),
            pause_task=np.array(list(pauses), dtype=np.int64),
            stop_job=changed,
            stop_after=self.stop_after[changed],
            wake_at=int(wake_at),
        )


def _as_columns(rows: list[tuple[int, int, int]]) -> IntArray:
    """Return the (task, node, GPU) of each row as columns."""
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T
