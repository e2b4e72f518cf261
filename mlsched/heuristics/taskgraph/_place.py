"""What every list scheduler of task graphs needs: room, the choice of a node, and when jobs stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.params import one_of
from mlsched.instances.taskgraph import Round, Snapshot

Floats = npt.NDArray[np.float64]

#: When jobs that may stop early do: after as many iterations as allowed, as few, or with the required accuracy.
STOPS = ("most", "least", "required")


class Placer:
    """A mutable copy of a snapshot's room; tasks start one after another, each on the node chosen for it here.

    `stop_after`: after how many iterations each job shall stop, by the rule `stop` (see STOPS).
    """

    def __init__(self, snapshot: Snapshot, stop: str = "most") -> None:
        self.snapshot = snapshot
        self.stop_after = _stop_after(snapshot, stop)
        self.free = snapshot.free.copy()
        self.ready = snapshot.ready & (self.stop_after > snapshot.finished)[snapshot.task_job][:, None]
        self.place = np.where(snapshot.node >= 0, snapshot.node, snapshot.home)  # of each task, as far as known
        self.starts: list[tuple[int, int]] = []
        self._work = snapshot.demand * remaining_ticks(snapshot, self.stop_after)[:, None]
        self._bound = np.zeros(snapshot.node_capacity.shape, dtype=np.int64)
        known = np.flatnonzero(self.place >= 0)
        np.add.at(self._bound, self.place[known], self._work[known])

    def nodes(self, task: int) -> IntArray:
        """Where the task could start now: it is ready there, and there is room."""
        snapshot = self.snapshot
        room = (self.free >= snapshot.demand[task]).all(axis=1) | (snapshot.duration[task] == 0)
        return np.flatnonzero(self.ready[task] & room)

    def start(self, task: int) -> bool:
        """Start the task on the best of the nodes that can take it; False when there is none.

        Best: the least volume between it and its neighbours in the graph, as far as these have a node; then the least
        delay; then the least work bound to it (by the resource of which it has least); then the first. Bound to a node
        is what is left of the tasks that run there or have it as home, since tasks rarely may leave.
        """
        nodes = self.nodes(task)
        if not nodes.size:
            return False
        self.put(task, int(nodes[0]) if nodes.size == 1 else self._best(task, nodes))
        return True

    def put(self, task: int, node: int) -> None:
        """Start the task on a node that can take it."""
        self.starts.append((task, node))
        if self.place[task] < 0:
            self._bound[node] += self._work[task]
        self.place[task] = node
        self.ready[task] = False
        if self.snapshot.duration[task]:
            self.free[node] -= self.snapshot.demand[task]

    def _best(self, task: int, nodes: IntArray) -> int:
        snapshot = self.snapshot
        edges = np.flatnonzero((snapshot.edge_from == task) ^ (snapshot.edge_to == task))
        other = np.where(snapshot.edge_from[edges] == task, snapshot.edge_to[edges], snapshot.edge_from[edges])
        other = self.place[other]
        away = (other >= 0)[:, None] & (other[:, None] != nodes)
        bound = (self._bound[nodes] / np.maximum(snapshot.node_capacity[nodes], 1)).max(axis=1, initial=0.0)
        volume, delay = snapshot.edge_volume[edges] @ away, snapshot.edge_delay[edges] @ away
        return int(nodes[np.lexsort((nodes, bound, delay, volume))[0]])

    def start_in_order(self, tasks: Iterable[int], *, strict: bool = False) -> None:
        """Start what fits, in this order; `strict`: the first task without room ends it."""
        for task in tasks:
            if not self.start(int(task)) and strict:
                return

    def start_by_share(self, share: Callable[[int], float], taken: Callable[[int], None]) -> None:
        """Again and again start a task of the job whose `share` is least (ties: the earlier arrival).

        Of a job, the tasks in the order of `candidates`. `taken(task)` is told what has been started.
        """
        snapshot = self.snapshot
        waiting: dict[int, list[int]] = {}
        for task in candidates(snapshot).tolist():
            waiting.setdefault(int(snapshot.task_job[task]), []).append(task)
        while waiting:
            job = min(waiting, key=lambda j: (share(j), int(snapshot.arrival[j]), int(snapshot.job_id[j])))
            task = waiting[job].pop(0)
            if self.start(task):
                taken(task)
            if not waiting[job]:
                del waiting[job]

    def round(self) -> Round:
        """The finished round."""
        changed = np.flatnonzero(self.stop_after != self.snapshot.stop_after)
        return self.snapshot.round(start=self.starts, stop=[(int(j), int(self.stop_after[j])) for j in changed])


def candidates(snapshot: Snapshot) -> IntArray:
    """Tasks that are ready on some node: those with the longest way to the end of their iteration first."""
    ready = np.flatnonzero(snapshot.ready.any(axis=1))
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
    enough = snapshot.accuracy >= snapshot.required[:, None]
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), snapshot.max_iterations)
    return np.asarray(np.clip(first, low, snapshot.max_iterations))
