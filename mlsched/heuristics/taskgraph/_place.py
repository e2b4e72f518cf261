"""What every list scheduler of task graphs needs: room, the choice of a node, and when jobs stop."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.params import one_of
from mlsched.instances.taskgraph import Round, Snapshot

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: When jobs that may stop early do: after as many iterations as allowed, as few, or with the required accuracy.
STOPS = ("most", "least", "required")


class Placer:
    """A mutable copy of a snapshot's room; tasks start one after another, each on the node chosen for it here.

    `stop_after`: after how many iterations each job shall stop, by the rule `stop` (see STOPS). `open`: the tasks that
    may still start in this round. A gang starts as a whole: asked for any of its tasks, all start or none.
    """

    def __init__(self, snapshot: Snapshot, stop: str = "most") -> None:
        self.snapshot = snapshot
        self.stop_after = _stop_after(snapshot, stop)
        self.free = snapshot.free.copy()
        self.spare = self.free  # of `free`, what nobody has to leave for; the same, unless a rule makes tasks give way
        self.open = snapshot.startable & (self.stop_after > snapshot.finished)[snapshot.task_job]
        self.place = np.where(snapshot.node >= 0, snapshot.node, snapshot.home)  # of each task, as far as known
        self.starts: list[tuple[int, int]] = []

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
            if self.spare is not self.free:
                quiet = may & (self.spare >= snapshot.demand[task]).all(axis=1)
                may = quiet if quiet.any() else may
        return np.flatnonzero(may)

    def start(self, task: int) -> bool:
        """Start the task, or the gang that it belongs to, on the best of the nodes that can take it; False: no room.

        Best: the least volume between it and its neighbours in the graph, as far as these have a node; then the least
        delay; then the least work bound to it (by the resource of which it has least); then the first. Bound to a node
        is what is left of the tasks that run there or have it as home, since tasks rarely may leave.
        """
        if self.snapshot.gang[self.snapshot.task_job[task]]:
            return self._start_gang(task)
        nodes = self.nodes(task)
        if not nodes.size:
            return False
        self.put(task, int(nodes[0]) if nodes.size == 1 else self._best(task, nodes))
        return True

    def _start_gang(self, task: int) -> bool:
        """Start all tasks of a gang, in their order; where one finds no room, those before it are taken back."""
        first, end = tasks_of(self.snapshot, int(self.snapshot.task_job[task]))
        if not self.open[first:end].all():
            return False
        before, places, bound = len(self.starts), self.place[first:end].copy(), self._bound.copy()
        for member in range(first, end):
            nodes = self.nodes(member)
            if not nodes.size:
                for started, node in self.starts[before:]:
                    self._take(started, node, -1)
                del self.starts[before:]
                self.open[first:end], self.place[first:end], self._bound[:] = True, places, bound
                return False
            self.put(member, int(nodes[0]) if nodes.size == 1 else self._best(member, nodes))
        return True

    def put(self, task: int, node: int) -> None:
        """Start the task on a node that can take it."""
        self.starts.append((task, node))
        if self.place[task] < 0:
            self._bound[node] += self.snapshot.demand[task] * self._left[task]
        self.place[task] = node
        self.open[task] = False
        self._take(task, node, 1)

    def _take(self, task: int, node: int, sign: int) -> None:
        if self.snapshot.duration[task]:
            self.free[node] -= sign * self.snapshot.demand[task]
            if self.spare is not self.free:
                self.spare[node] -= sign * self.snapshot.demand[task]

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
        than something that found none is not tried (`_as_hopeless`).
        """
        queue = tasks[self.open[tasks]]
        if not strict:
            queue = queue[self._may_fit(queue)]
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
            rest = rest[self._may_fit(rest)]
            queue, at = rest[~self._as_hopeless(task, rest)], 0

    def _may_fit(self, tasks: IntArray) -> Flags:
        """For each of the tasks, False where even the largest amounts that are free anywhere are too small for it.

        Or where all that is free is too little for its gang.
        """
        snapshot = self.snapshot
        may = np.ones(len(tasks), dtype=np.bool_)
        gangs = snapshot.gang[snapshot.task_job[tasks]] == 1
        largest = self.free.max(axis=0, initial=0)
        for r in self._asked:
            may &= snapshot.demand[:, r][tasks] <= largest[r]
            if gangs.any():
                whole = self._whole[r][snapshot.task_job[tasks]]
                may &= ~gangs | (whole <= int(np.maximum(self.free[:, r], 0).sum()))
        return np.asarray(may | (snapshot.duration[tasks] == 0))

    @functools.cached_property
    def _asked(self) -> list[int]:
        """The resources that some task asks for."""
        found: list[int] = np.flatnonzero(self.snapshot.demand.any(axis=0)).tolist()
        return found

    @functools.cached_property
    def _whole(self) -> dict[int, Floats]:
        """Of each resource that is asked for, jobs: what all tasks of a job ask for together."""
        snapshot = self.snapshot
        held = snapshot.duration > 0
        return {r: per_job(snapshot, snapshot.demand[:, r] * held) for r in self._asked}

    def _as_hopeless(self, task: int, others: IntArray) -> Flags:
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

    def start_by_share(self, share: Callable[[int], float], taken: Callable[[int], None]) -> None:
        """Again and again start a task of the job whose `share` is least (ties: the earlier arrival).

        Of a job, the tasks in the order of `candidates`. `taken(task)` is told what has been started, and `share` of a
        job grows by that alone.
        """
        snapshot = self.snapshot
        waiting: dict[int, list[int]] = {}
        tasks = candidates(snapshot)
        for task in tasks[self.open[tasks] & self._may_fit(tasks)].tolist():
            waiting.setdefault(int(snapshot.task_job[task]), []).append(task)

        def entry(job: int) -> tuple[float, int, int, int]:
            return share(job), int(snapshot.arrival[job]), int(snapshot.job_id[job]), job

        heap = [entry(job) for job in waiting]
        heapq.heapify(heap)
        while heap:
            job = heapq.heappop(heap)[-1]
            before = len(self.starts)
            if not self.start(waiting[job].pop(0)) and snapshot.gang[job]:
                continue
            for task, _ in self.starts[before:]:
                taken(task)
            waiting[job] = [task for task in waiting[job] if self.open[task]]
            if waiting[job]:
                heapq.heappush(heap, entry(job))

    def round(self, pauses: Iterable[int] = (), wake_at: int = 0) -> Round:
        """The finished round; `pauses` and `wake_at` are the rule's own."""
        changed = np.flatnonzero(self.stop_after != self.snapshot.stop_after)
        stops = [(int(j), int(self.stop_after[j])) for j in changed]
        return self.snapshot.round(start=self.starts, pause=pauses, stop=stops, wake_at=wake_at)


def tasks_of(snapshot: Snapshot, job: int) -> tuple[int, int]:
    """The tasks of a job: from the first to before the second number."""
    first, end = np.searchsorted(snapshot.task_job, (job, job + 1))
    return int(first), int(end)


def candidates(snapshot: Snapshot) -> IntArray:
    """Tasks that could start, were there room: those with the longest way to the end of their iteration first."""
    ready = np.flatnonzero(snapshot.startable)
    return np.asarray(ready[np.argsort(-tails(snapshot)[ready], kind="stable")])


def by_job(snapshot: Snapshot, *keys: Any) -> IntArray:
    """Candidates in the order of their jobs' keys, the first key first, then by arrival; a job's own as they come."""
    tasks = candidates(snapshot)
    jobs = snapshot.task_job[tasks]
    columns = [*keys, snapshot.arrival, snapshot.job_id]
    return np.asarray(tasks[np.lexsort([np.asarray(key)[jobs] for key in reversed(columns)])])


def tails(snapshot: Snapshot) -> IntArray:
    """For each task, the longest chain of estimated durations from its start to the end of its iteration."""
    inside = snapshot.edge_lag == 0
    u, v = snapshot.edge_from[inside], snapshot.edge_to[inside]
    found = snapshot.duration.copy()
    while True:
        longer = snapshot.duration.copy()
        np.maximum.at(longer, u, snapshot.duration[u] + found[v])
        if np.array_equal(longer, found):
            return found
        found = longer


def remaining_ticks(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """For each task, the estimated ticks of all its runs until its job stops, the one under way included.

    A run that has outlasted its estimate counts one more tick.
    """
    rounds = np.maximum(stop_after - snapshot.finished, 1)[snapshot.task_job] - 1
    elapsed = snapshot.progress + np.where(snapshot.state == 1, snapshot.now - snapshot.start, 0)
    left = np.maximum(snapshot.duration - elapsed, np.minimum(snapshot.duration, 1))
    return np.asarray(rounds * snapshot.duration + np.where(snapshot.state == 3, 0, left))


def shares(snapshot: Snapshot) -> Floats:
    """For each task, its demand's dominant share of the whole cluster."""
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    return np.asarray((snapshot.demand / total).max(axis=1, initial=0.0))


def per_job(snapshot: Snapshot, values: Any) -> Floats:
    """Sum of a value a task over the tasks of each job."""
    found: Floats = np.bincount(snapshot.task_job, weights=values, minlength=len(snapshot.arrival)).astype(np.float64)
    return found


def _stop_after(snapshot: Snapshot, stop: str) -> IntArray:
    """After how many iterations each job shall stop."""
    one_of("stop", stop, STOPS)
    begun = np.zeros(len(snapshot.arrival), dtype=np.int64)
    begun[snapshot.task_job[snapshot.state != 0]] = 1
    low = np.maximum(snapshot.min_iterations, snapshot.finished + begun)
    if stop == "most":
        return snapshot.max_iterations
    if stop == "least":
        return np.asarray(low)
    enough = snapshot.accuracy[snapshot.accuracy_table] >= snapshot.required[:, None]
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), snapshot.max_iterations)
    return np.asarray(np.clip(first, low, snapshot.max_iterations))
