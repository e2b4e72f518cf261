"""What every list scheduler of task graphs needs: room, the choice of a node, and when jobs stop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import check_choice
from mlsched.heuristics.taskgraph import _gangs, _gpus, types
from mlsched.heuristics.taskgraph.measures import Flags, Floats, per_job, remaining_ticks, stops_after, tasks_of
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: How list rules choose among nodes with room: the fullest, the one with the least work bound to it, or by the
#: simulator; or as few as possible for a gang.
NODES = ("auto", "best-fit", "least-work", "few")


class Placer:
    """A mutable copy of a snapshot's room; tasks start one after another, each on the node chosen for it here.

    `stop_after`: after how many iterations each job shall stop, by the rule `stop` (see `_measures.STOPS`). `open`: the
    tasks that may still start in this round. A gang starts as a whole: asked for any of its tasks, all start or none.

    nodes: "best-fit" - a task goes to the fullest node with room; "least-work" - to the one to which least work is
    bound; "auto" - by the world: where a task is to come back to the node where it first ran, after each of its runs
    (simulator "tasks") or after a pause (without movement "anytime"), work is to be spread; elsewhere room is what is
    short, and the fullest is taken. "few" - a gang takes as few nodes as it can, other tasks as with "best-fit".
    rates: whether the rule sees the rates of types of nodes (`types`).
    """

    def __init__(self, snapshot: Snapshot, stop: str = "most", nodes: str = "auto", rates: bool = False) -> None:
        check_choice("nodes", nodes, NODES)
        self.snapshot = snapshot
        self.stop_after = stops_after(snapshot, stop)
        stays = snapshot.pausing == "none" or snapshot.movement == "anytime"
        by_room = snapshot.simulator == "iterations" and stays
        self.best_fit = nodes in ("best-fit", "few") or (nodes == "auto" and by_room)
        self.free = snapshot.free.copy()
        self.spare = self.free  # of `free`, the part that takes no preemption; the same, unless a rule preempts tasks
        self.open = snapshot.startable.copy()
        if stop != "most":  # no job of a snapshot has finished as many iterations as it may
            self.open &= (self.stop_after > snapshot.finished)[snapshot.task_job]
        self.place = np.where(snapshot.node >= 0, snapshot.node, snapshot.home)  # of each task, as far as known
        self.starts: list[tuple[int, int]] = []
        self.moves: list[tuple[int, int]] = []  # of running tasks
        self.types = types.of(snapshot, rates)
        self.among: Flags | None = None  # the nodes that are tried now; None: all
        self.gpus = _gpus.of(snapshot)  # None: there is room for a task wherever its node has room for it
        self.held = snapshot.demand * (snapshot.duration > 0)[:, None]  # what each task holds while it runs
        self.packed = np.full(len(snapshot.arrival), nodes == "few")  # gangs that go to as few nodes as possible
        self.choose: Callable[[int, IntArray], int] | None = None  # another choice among nodes that could take a task

    @functools.cached_property
    def _left(self) -> IntArray:
        return remaining_ticks(self.snapshot, self.stop_after)

    @functools.cached_property
    def _bound(self) -> Floats:
        """nodes x resources: work bound to each node: what is left of the tasks that run there or have it as home."""
        known = np.flatnonzero(self.place >= 0)
        work = (self.snapshot.demand[known] * self._left[known, None]).T
        count = len(self.free)
        return np.array([np.bincount(self.place[known], row, minlength=count) for row in work]).reshape(-1, count).T

    @functools.cached_property
    def largest(self) -> IntArray:
        """The most that a node has of each resource."""
        return np.asarray(np.maximum(self.snapshot.node_capacity.max(axis=0, initial=1), 1))

    def may(self, task: int) -> Flags:
        """nodes: where the task may go now, whether there is room or not."""
        may = self.snapshot.may_start_on(task)
        return may if self.among is None else may & self.among

    def nodes(self, task: int) -> IntArray:
        """Where the task could start now: ready there, and with room; if there is one, where it preempts nothing."""
        if not self.open[task]:
            return np.zeros(0, dtype=np.int64)
        may = self.room(task)
        if self.snapshot.duration[task] and self.spare is not self.free:
            quiet = may & (self.spare >= self.snapshot.demand[task]).all(axis=1)
            if self.gpus:
                quiet &= self.gpus.room(task, quiet=True)
            may = quiet if quiet.any() else may
        return np.flatnonzero(may)

    def room(self, task: int) -> Flags:
        """nodes: where the task may go now, and has room."""
        may = self.may(task)
        if self.snapshot.duration[task]:
            may &= (self.free >= self.snapshot.demand[task]).all(axis=1)
            if self.gpus:
                may &= self.gpus.room(task)
        return may

    def start(self, task: int) -> bool:
        """Start the task, or the gang that it belongs to, on the best of the nodes that can take it; False: no room.

        Best: the least volume between it and its neighbours in the graph, as far as these have a node; then the least
        delay; then, by `nodes`, the fullest or the one with the least work bound to it (by the resource of which it has
        least); then the first. Bound to a node is what is left of the tasks that run there or have it as home. (A rule
        may choose otherwise: `choose`.) A gang: see `_gangs`; on which type of nodes: `types`.
        """
        return self.start_here(task) if self.types is None else self.types.start(self, task)

    def start_here(self, task: int) -> bool:
        """As `start`, among the nodes that are tried now."""
        if self.snapshot.gang[self.snapshot.task_job[task]]:
            first, end = tasks_of(self.snapshot, int(self.snapshot.task_job[task]))
            if end - first > 1:
                return _gangs.start(self, first, end)
        nodes = self.nodes(task)
        if not nodes.size:
            return False
        self.put(task, self._chosen(task, nodes))
        return True

    def start_in_turn(self, tasks: Iterable[int]) -> bool:
        """Start all of these tasks one after another; where one finds no room, those before it are taken back."""
        tasks = list(tasks)
        place, bound = self.place[tasks], None if self.best_fit else self._bound.copy()
        for at, task in enumerate(tasks):
            nodes = self.nodes(task)
            if not nodes.size:
                self.take_back(tasks[:at])
                self.place[tasks] = place
                if bound is not None:
                    self._bound[:] = bound
                return False
            self.put(task, self._chosen(task, nodes))
        return True

    def take_back(self, tasks: list[int]) -> None:
        """These, the last that were put, do not start after all."""
        for task in reversed(tasks):
            entries = self.moves if self.snapshot.state[task] == RUNNING else self.starts
            put, node = entries.pop()
            assert put == task, "what was put last is taken back first"
            self._take(task, node, -1)
            if self.gpus:
                self.gpus.give(task)
            self.open[task] = True

    def resume(self, tasks: IntArray) -> bool:
        """These running tasks, which gave up their nodes and GPUs, take them again, if all have room."""
        node, held = self.snapshot.node[tasks], self.held[tasks]
        np.subtract.at(self.free, node, held)
        if (self.free[node] < 0).any() or (self.gpus and not self.gpus.keep(tasks)):
            np.add.at(self.free, node, held)
            return False
        return True

    def start_within(self, task: int, room: IntArray) -> bool:
        """As `start`, where no more than `room` (nodes x resources, nowhere above what is free) may be taken."""
        before, free, spare = len(self.starts), self.free, self.spare
        self.free = self.spare = room.copy()
        done = self.start(task)
        self.free, self.spare = free, spare
        for started, node in self.starts[before:]:
            self._take(started, node, 1)
        return done

    def put(self, task: int, node: int, gpu: int = -1, quiet: bool = True) -> None:
        """Start the task, or let a running one go on, on a node that can take it; gpu: on which of its GPUs, if named.

        Where none is named, a part of a GPU is taken of the fullest one, and of one that nothing has to leave, if it
        can be; quiet = False: of all that are free.
        """
        (self.moves if self.snapshot.state[task] == RUNNING else self.starts).append((task, node))
        if not self.best_fit and self.place[task] < 0:
            self._bound[node] += self.snapshot.demand[task] * self._left[task]
        self.place[task] = node
        self.open[task] = False
        self._take(task, node, 1)
        if self.gpus:
            self.gpus.take(task, node, gpu, quiet)

    def _take(self, task: int, node: int, sign: int) -> None:
        self.free[node] -= sign * self.held[task]
        if self.spare is not self.free:
            self.spare[node] -= sign * self.held[task]

    def _chosen(self, task: int, nodes: IntArray) -> int:
        if nodes.size == 1:
            return int(nodes[0])
        return self._best(task, nodes) if self.choose is None else self.choose(task, nodes)

    def _best(self, task: int, nodes: IntArray) -> int:
        last = self.fullness(nodes, self.held[task]) if self.best_fit else self._load(nodes)
        snapshot = self.snapshot
        edges = np.flatnonzero((snapshot.edge_from == task) ^ (snapshot.edge_to == task))
        if not edges.size:
            return int(nodes[last.argmin()])
        other = np.where(snapshot.edge_from[edges] == task, snapshot.edge_to[edges], snapshot.edge_from[edges])
        other = self.place[other]
        away = (other >= 0)[:, None] & (other[:, None] != nodes)
        volume, delay = snapshot.edge_volume[edges] @ away, snapshot.edge_delay[edges] @ away
        return int(nodes[np.lexsort((nodes, last, delay, volume))[0]])

    def fullness(self, nodes: IntArray, need: IntArray) -> Floats:
        """nodes: how much is free there of what tasks ask for, in largest nodes: the fullest has least.

        Where there is no room for a task's `need` unless something leaves, the emptiest comes first: least has to.
        """
        room = (self.free if self.spare is self.free else self.spare)[nodes]
        free = room @ self._weight
        if self.spare is not self.free:
            free = np.where((room >= need).all(axis=1), free, len(self._asked) - free)
        return np.asarray(free)

    @functools.cached_property
    def _weight(self) -> Floats:
        """resources: one by the most that a node has, of those that tasks ask for."""
        return np.asarray(self.snapshot.demand.any(axis=0) / self.largest)

    def _load(self, nodes: IntArray) -> Floats:
        """nodes: the work bound to each, in ticks of its capacity, by the resource of which it has least."""
        return np.asarray(
            (self._bound[nodes] / np.maximum(self.snapshot.node_capacity[nodes], 1)).max(axis=1, initial=0.0)
        )

    def start_in_order(
        self, tasks: IntArray, *, strict: bool = False, before: Callable[[int], None] = lambda task: None
    ) -> None:
        """Start what fits, in this order; `strict`: the first task without room ends it.

        `before(task)` is called before a task is tried, and may take room. Room only shrinks: what asks for no less
        than something that found none is not tried (`as_hopeless`, `_gangs.as_stuck`).
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

    def may_fit(self, tasks: IntArray) -> Flags:
        """For each of the tasks, False where even the largest amounts that are free anywhere are too small for it.

        Where the task, or another of its gang, is bound to a node: what is free there. Or where all that is free is too
        little for its gang.
        """
        snapshot = self.snapshot
        jobs, bound = snapshot.task_job[tasks], snapshot.bound[tasks]
        may = np.ones(len(tasks), dtype=np.bool_)
        gangs = snapshot.gang[jobs] == 1
        largest = self.free.max(axis=0, initial=0)
        for r in self._asked:
            may &= self._there[r][tasks] <= np.where(bound >= 0, self.free[bound, r], largest[r])
            if gangs.any():
                may &= ~gangs | (self.whole[jobs, r] <= int(np.maximum(self.free[:, r], 0).sum()))
        may |= snapshot.duration[tasks] == 0
        short = np.zeros(len(snapshot.gang), dtype=np.bool_)
        short[jobs[gangs & ~may]] = True
        return np.asarray(may & ~short[jobs])

    @functools.cached_property
    def _there(self) -> dict[int, IntArray]:
        """Of each resource that is asked for, tasks: what the task asks for.

        And with it the others of its gang that are bound to the same node.
        """
        snapshot = self.snapshot
        found = {r: self.held[:, r].copy() for r in self._asked}
        tied = np.flatnonzero((snapshot.bound >= 0) & (snapshot.gang[snapshot.task_job] == 1))
        if tied.size:
            places = snapshot.task_job[tied] * len(self.free) + snapshot.bound[tied]
            place = np.unique(places, return_inverse=True)[1]
            for r in self._asked:
                found[r][tied] = np.bincount(place, self.held[tied, r])[place]
        return found

    @functools.cached_property
    def _asked(self) -> list[int]:
        """The resources that some task asks for."""
        found: list[int] = np.flatnonzero(self.snapshot.demand.any(axis=0)).tolist()
        return found

    @functools.cached_property
    def whole(self) -> IntArray:
        """jobs x resources: what all tasks of a job hold together."""
        columns = [per_job(self.snapshot, self.held[:, r]) for r in range(self.held.shape[1])]
        return np.array(columns, dtype=np.int64).reshape(self.held.shape[1], -1).T

    def as_hopeless(self, task: int, others: IntArray) -> Flags:
        """For each of the others, whether there is no room for it because there was none for the task.

        So for its gang, and where the task may go to any node of its class, for tasks of the class that ask for as much
        or more. A gang of equal tasks that found no room says the same of gangs of as many or more of such tasks.
        """
        snapshot, jobs = self.snapshot, self.snapshot.task_job[others]
        job = int(snapshot.task_job[task])
        gang = bool(snapshot.gang[job])
        first, end = tasks_of(snapshot, job) if gang else (task, task + 1)
        same = (snapshot.task_class[first:end] == snapshot.task_class[task]).all()
        equal = (snapshot.demand[first:end] == snapshot.demand[task]).all() and snapshot.duration[first:end].all()
        if not (same and equal and self.free_to_go(first, end)):
            return np.asarray(gang & (jobs == job))
        found = (snapshot.task_class[others] == snapshot.task_class[task]) & (snapshot.duration[others] > 0)
        for r, amount in enumerate(snapshot.demand[task].tolist()):
            found &= snapshot.demand[:, r][others] >= amount
        if end - first > 1:
            found &= (snapshot.gang[jobs] == 1) & (self._alike[jobs] >= end - first)
        return np.asarray(found | (gang & (jobs == job)))

    def alike(self, task: int) -> bool:
        """Whether all tasks of the task's job ask for the same, and may go to the same nodes."""
        job = int(self.snapshot.task_job[task])
        first, end = tasks_of(self.snapshot, job)
        return bool(self._alike[job]) and self.free_to_go(first, end)

    def plain(self, first: int, end: int) -> bool:
        """Whether equal tasks are placed by room alone: none has neighbours, and no GPUs or other choice count."""
        snapshot = self.snapshot
        if self.gpus or not self.best_fit or self.choose is not None or not self.held[first].any():
            return False
        ends = (snapshot.edge_from, snapshot.edge_to)
        return not any(((first <= side) & (side < end)).any() for side in ends)

    def free_to_go(self, first: int, end: int) -> bool:
        """Whether none of the tasks is bound to a node, or has data on its way."""
        snapshot = self.snapshot
        fetching = any(task in snapshot.fetching for task in range(first, end)) if snapshot.fetching else False
        return bool((snapshot.bound[first:end] < 0).all()) and not fetching

    @functools.cached_property
    def _alike(self) -> IntArray:
        """jobs: how many tasks a job has, where all of them ask for the same; 0 elsewhere."""
        snapshot = self.snapshot
        first = np.searchsorted(snapshot.task_job, np.arange(len(snapshot.arrival)))
        rows = np.column_stack([snapshot.demand, snapshot.task_class, snapshot.duration > 0])
        same = np.minimum.reduceat(rows, first) == np.maximum.reduceat(rows, first)
        return np.asarray(np.bincount(snapshot.task_job) * same.all(axis=1))

    def round(self, pauses: Iterable[int] = (), wake_at: int = 0, moves: Iterable[tuple[int, int, int]] = ()) -> Round:
        """The finished round; `pauses`, `wake_at` and `moves` (task, node, GPU or -1) are the rule's own."""
        snapshot, names = self.snapshot, self.gpus.names if self.gpus else {}
        changed = np.flatnonzero(self.stop_after != snapshot.stop_after)
        moved = [(task, node, -1) for task, node in self.moves if node != snapshot.node[task]]
        started = _columns([(task, node, names.get(task, -1)) for task, node in self.starts])
        migrated = _columns([*moved, *moves])
        return Round.trusted(
            **dict(zip(("start_task", "start_node", "start_gpu"), started, strict=True)),
            **dict(zip(("migrate_task", "migrate_node", "migrate_gpu"), migrated, strict=True)),
            pause_task=np.array(list(pauses), dtype=np.int64),
            stop_job=changed,
            stop_after=self.stop_after[changed],
            wake_at=int(wake_at),
        )


def _columns(rows: list[tuple[int, int, int]]) -> IntArray:
    """(task, node, GPU) of each row as columns."""
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T
