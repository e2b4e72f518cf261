"""What every list scheduler of task graphs needs: room, the choice of a node, and when jobs stop."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph import _gpus
from mlsched.heuristics.taskgraph._measures import Floats, candidates, per_job, remaining_ticks, stops_after, tasks_of
from mlsched.instances.taskgraph import Round, Snapshot

Flags = npt.NDArray[np.bool_]


class Placer:
    """A mutable copy of a snapshot's room; tasks start one after another, each on the node chosen for it here.

    `stop_after`: after how many iterations each job shall stop, by the rule `stop` (see `_measures.STOPS`). `open`: the
    tasks that may still start in this round. A gang starts as a whole: asked for any of its tasks, all start or none.
    """

    def __init__(self, snapshot: Snapshot, stop: str = "most") -> None:
        self.snapshot = snapshot
        self.stop_after = stops_after(snapshot, stop)
        self.free = snapshot.free.copy()
        self.spare = self.free  # of `free`, what nobody has to leave for; the same, unless a rule makes tasks give way
        self.open = snapshot.startable & (self.stop_after > snapshot.finished)[snapshot.task_job]
        self.place = np.where(snapshot.node >= 0, snapshot.node, snapshot.home)  # of each task, as far as known
        self.starts: list[tuple[int, int]] = []
        self.gpus = _gpus.of(snapshot)  # None: there is room for a task wherever its node has room for it
        self.held = snapshot.demand * (snapshot.duration > 0)[:, None]  # what each task holds while it runs
        self.packed = np.zeros(len(snapshot.arrival), dtype=np.bool_)  # gangs that go to as few nodes as possible
        self.choose: Callable[[int, IntArray], int] = self._best  # which of the nodes that could take a task does

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

    def nodes(self, task: int) -> IntArray:
        """Where the task could start now: it is ready there, and there is room; if it can, where nothing gives way."""
        snapshot = self.snapshot
        if not self.open[task]:
            return np.zeros(0, dtype=np.int64)
        may = snapshot.nodes_of(task)
        if snapshot.duration[task]:
            may &= (self.free >= snapshot.demand[task]).all(axis=1)
            if self.gpus:
                may &= self.gpus.room(task)
            if self.spare is not self.free:
                quiet = may & (self.spare >= snapshot.demand[task]).all(axis=1)
                if self.gpus:
                    quiet &= self.gpus.room(task, quiet=True)
                may = quiet if quiet.any() else may
        return np.flatnonzero(may)

    def start(self, task: int) -> bool:
        """Start the task, or the gang that it belongs to, on the best of the nodes that can take it; False: no room.

        Best: the least volume between it and its neighbours in the graph, as far as these have a node; then the least
        delay; then the least work bound to it (by the resource of which it has least); then the first. Bound to a node
        is what is left of the tasks that run there or have it as home, since tasks rarely may leave. (A rule may choose
        otherwise: `choose`.)
        """
        if self.snapshot.gang[self.snapshot.task_job[task]]:
            return self._start_gang(task)
        nodes = self.nodes(task)
        if not nodes.size:
            return False
        self.put(task, int(nodes[0]) if nodes.size == 1 else self.choose(task, nodes))
        return True

    def _start_gang(self, task: int) -> bool:
        """Start all tasks of a gang, in their order; where one finds no room, those before it are taken back."""
        first, end = tasks_of(self.snapshot, int(self.snapshot.task_job[task]))
        if not self.open[first:end].all() or (self.gpus and not self.gpus.may_hold(range(first, end))):
            return False
        if self.packed[self.snapshot.task_job[task]]:
            return self._start_packed(first, end)
        before, places, bound = len(self.starts), self.place[first:end].copy(), self._bound.copy()
        for member in range(first, end):
            nodes = self.nodes(member)
            if not nodes.size:
                for started, node in self.starts[before:]:
                    self._take(started, node, -1)
                    if self.gpus:
                        self.gpus.give(started)
                del self.starts[before:]
                self.open[first:end], self.place[first:end], self._bound[:] = True, places, bound
                return False
            self.put(member, int(nodes[0]) if nodes.size == 1 else self.choose(member, nodes))
        return True

    def _start_packed(self, first: int, end: int) -> bool:
        """Start a gang on as few nodes as possible: again and again on the node that takes most of the tasks left.

        Of nodes that take as many, the one with the least room. For equal tasks that is the least number of nodes.
        """
        largest = np.maximum(self.snapshot.node_capacity.max(axis=0), 1)
        for room in [self.spare] * (self.spare is not self.free) + [self.free]:
            left, nodes = room.copy(), list[int]()
            while len(nodes) < end - first:
                tasks = range(first + len(nodes), end)
                may = np.array([self.snapshot.nodes_of(task) for task in tasks])
                fits = may & (np.cumsum(self.held[tasks], axis=0)[:, None, :] <= left).all(axis=2)
                many = np.logical_and.accumulate(fits, axis=0).sum(axis=0)
                if self.gpus:  # those of the nodes that are taken already are not asked again
                    few = [self.gpus.many(tasks, n, room is not self.free) for n in range(len(left))]
                    many = np.where(np.isin(np.arange(len(left)), nodes), 0, np.minimum(many, few))
                if not many.max(initial=0):
                    break
                node = int(np.lexsort(((left / largest).sum(axis=1), -many))[0])
                left[node] -= self.held[first + len(nodes) : first + len(nodes) + many[node]].sum(axis=0)
                nodes += [node] * int(many[node])
            if len(nodes) == end - first:
                for task, node in zip(range(first, end), nodes, strict=True):
                    self.put(task, node)
                return True
        return False

    def start_within(self, task: int, room: IntArray) -> bool:
        """As `start`, where no more than `room` (nodes x resources, nowhere above what is free) may be taken."""
        before, free, spare = len(self.starts), self.free, self.spare
        self.free = self.spare = room.copy()
        done = self.start(task)
        self.free, self.spare = free, spare
        for started, node in self.starts[before:]:
            self._take(started, node, 1)
        return done

    def put(self, task: int, node: int) -> None:
        """Start the task on a node that can take it."""
        self.starts.append((task, node))
        if self.place[task] < 0:
            self._bound[node] += self.snapshot.demand[task] * self._left[task]
        self.place[task] = node
        self.open[task] = False
        self._take(task, node, 1)
        if self.gpus:
            self.gpus.take(task, node)

    def _take(self, task: int, node: int, sign: int) -> None:
        self.free[node] -= sign * self.held[task]
        if self.spare is not self.free:
            self.spare[node] -= sign * self.held[task]

    def _best(self, task: int, nodes: IntArray) -> int:
        snapshot = self.snapshot
        bound = (self._bound[nodes] / np.maximum(snapshot.node_capacity[nodes], 1)).max(axis=1, initial=0.0)
        edges = np.flatnonzero((snapshot.edge_from == task) ^ (snapshot.edge_to == task))
        if not edges.size:
            return int(nodes[bound.argmin()])
        other = np.where(snapshot.edge_from[edges] == task, snapshot.edge_to[edges], snapshot.edge_from[edges])
        other = self.place[other]
        away = (other >= 0)[:, None] & (other[:, None] != nodes)
        volume, delay = snapshot.edge_volume[edges] @ away, snapshot.edge_delay[edges] @ away
        return int(nodes[np.lexsort((nodes, bound, delay, volume))[0]])

    def start_in_order(
        self, tasks: IntArray, *, strict: bool = False, before: Callable[[int], None] = lambda task: None
    ) -> None:
        """Start what fits, in this order; `strict`: the first task without room ends it.

        `before(task)` is called before a task is tried, and may take room. Room only shrinks: what asks for no less
        than something that found none is not tried (`as_hopeless`).
        """
        queue = tasks[self.open[tasks]]
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
            rest = rest[self.may_fit(rest)]
            queue, at = rest[~self.as_hopeless(task, rest)], 0

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
                may &= ~gangs | (self._whole[r][jobs] <= int(np.maximum(self.free[:, r], 0).sum()))
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
    def _whole(self) -> dict[int, Floats]:
        """Of each resource that is asked for, jobs: what all tasks of a job ask for together."""
        return {r: per_job(self.snapshot, self.held[:, r]) for r in self._asked}

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
        free_to_go = (snapshot.bound[first:end] < 0).all() and not any(
            k in snapshot.fetching for k in range(first, end)
        )
        if not (same and equal and free_to_go):
            return np.asarray(gang & (jobs == job))
        found = (snapshot.task_class[others] == snapshot.task_class[task]) & (snapshot.duration[others] > 0)
        for r, amount in enumerate(snapshot.demand[task].tolist()):
            found &= snapshot.demand[:, r][others] >= amount
        if end - first > 1:
            found &= (snapshot.gang[jobs] == 1) & (self._alike[jobs] >= end - first)
        return np.asarray(found | (gang & (jobs == job)))

    @functools.cached_property
    def _alike(self) -> IntArray:
        """jobs: how many tasks a job has, where all of them ask for the same; 0 elsewhere."""
        snapshot = self.snapshot
        first = np.searchsorted(snapshot.task_job, np.arange(len(snapshot.arrival)))
        rows = np.column_stack([snapshot.demand, snapshot.task_class, snapshot.duration > 0])
        same = np.minimum.reduceat(rows, first) == np.maximum.reduceat(rows, first)
        return np.asarray(np.bincount(snapshot.task_job) * same.all(axis=1))

    def start_by_share(self, share: Callable[[IntArray], Floats], taken: Callable[[int], None]) -> None:
        """Again and again start a task of the job whose `share` is least (ties: the earlier arrival).

        Of a job, the tasks in the order of `candidates`. `share(jobs)`: of each of the jobs; `taken(task)` is told what
        has been started: by that shares may grow, of other jobs as well, and never shrink.
        """
        snapshot = self.snapshot
        tasks = candidates(snapshot)
        tasks = tasks[self.open[tasks] & self.may_fit(tasks)]
        tasks = tasks[np.argsort(snapshot.task_job[tasks], kind="stable")]
        hopes = np.zeros(len(snapshot.task_job), dtype=np.bool_)
        hopes[tasks] = True

        def entries(jobs: IntArray) -> list[tuple[float, int, int, int]]:
            columns = (share(jobs), snapshot.arrival[jobs], snapshot.job_id[jobs], jobs)
            return list(zip(*(column.tolist() for column in columns), strict=True))

        heap = entries(np.unique(snapshot.task_job[tasks]))
        heapq.heapify(heap)
        while heap:
            popped = heapq.heappop(heap)
            job = popped[-1]
            own = tasks[slice(*np.searchsorted(snapshot.task_job[tasks], (job, job + 1)))]
            own = own[self.open[own] & hopes[own]]
            if not own.size:
                continue
            if (entry := entries(np.array([job]))[0]) != popped:
                heapq.heappush(heap, entry)  # what has been started since made its share grow
                continue
            before = len(self.starts)
            if self.start(int(own[0])):
                for task, _ in self.starts[before:]:
                    taken(task)
                heapq.heappush(heap, entries(np.array([job]))[0])
                continue
            hopes[own[0]] = False
            tasks = tasks[hopes[tasks]]
            tasks = tasks[self.may_fit(tasks) & ~self.as_hopeless(int(own[0]), tasks)]
            hopes[:] = False
            hopes[tasks] = True
            left = set(snapshot.task_job[tasks].tolist())
            heap = [entry for entry in heap if entry[-1] in left]
            heapq.heapify(heap)
            if job in left:
                heapq.heappush(heap, popped)

    def round(self, pauses: Iterable[int] = (), wake_at: int = 0, moves: Iterable[tuple[int, int, int]] = ()) -> Round:
        """The finished round; `pauses`, `wake_at` and `moves` (task, node, GPU or -1) are the rule's own."""
        changed = np.flatnonzero(self.stop_after != self.snapshot.stop_after)
        stops = [(int(j), int(self.stop_after[j])) for j in changed]
        names = self.gpus.names if self.gpus else {}
        starts = [(task, node, names.get(task, -1)) for task, node in self.starts]
        return self.snapshot.round(start=starts, pause=pauses, migrate=moves, stop=stops, wake_at=wake_at)
