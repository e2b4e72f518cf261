"""MLF-H where what runs queues as well (`queueing=iteration`): who runs now, and who gives way for it.

MLFS queues tasks: "tasks in earlier iterations should have a higher priority", "preempted tasks" go back to the queue,
and tasks for the next iteration are generated after the one before (Sections 1, 3.3.2 and 3.5). By iterations
(`simulator`) a placed job holds its nodes to the end; so here, at every round, what runs competes with what waits as if
its next iteration were queued.

1. Who runs: in order of priority, by the engine of all preemptive rules (`_preemption`): capacity first, then pauses.
   What the capacity has no room for pauses nobody.
2. What it pauses is taken off its nodes; then what it starts looks for hosts as MLF-H has them (`_mlf_queue`), with
   what is relieved of overloaded nodes.
3. What paused takes its place again in order of priority, unless another unit took that; then what else fits starts.

A job of which one task would pause pauses whole, since none of its others could go on.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph.measures import Flags, Floats, by_class, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import serve, within_capacity
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING


class Competition:
    """The outcome of step 1. `priority`: of all tasks; `starting`: tasks that are to start; `pausing`: running tasks of
    each job that is to give way, the highest priority first. What the engine would move, only MLF-H's relief of
    overloaded nodes does.
    """

    def __init__(self, snapshot: Snapshot, stop: str, priority: Floats) -> None:
        self._snapshot, self.priority = snapshot, priority
        highest = np.full(len(snapshot.arrival), -np.inf)
        np.maximum.at(highest, snapshot.task_job, priority)
        placer = Placer(snapshot, stop, "least-work")
        placer.open &= self._affordable(placer, -highest)[snapshot.task_job]
        pauses = serve(placer, -highest)
        gives_way = np.zeros(len(snapshot.arrival), dtype=np.bool_)
        gives_way[snapshot.task_job[pauses]] = True
        order = np.lexsort((snapshot.job_id, -highest))
        runs = snapshot.state == RUNNING
        self.pausing = [np.flatnonzero((snapshot.task_job == job) & runs) for job in order[gives_way[order]].tolist()]
        self.starting = self._whole(np.array([task for task, _ in placer.starts], dtype=np.int64), gives_way)

    def _affordable(self, placer: Placer, key: Floats) -> Flags:
        """jobs: whether the cluster's capacity has room for them, wherever that is, in this order; what runs included.

        Only these are worth a pause. Others start, at the end, where there is room beside them.
        """
        snapshot = self._snapshot
        idle = per_job(snapshot, snapshot.state == RUNNING) == 0
        order = np.lexsort((snapshot.job_id, snapshot.arrival, idle, key, *by_class(snapshot)))
        found = np.zeros(len(order), dtype=np.bool_)
        found[order] = within_capacity(placer.whole[order], snapshot.node_capacity.sum(axis=0))
        return found

    def _whole(self, starting: IntArray, gives_way: Flags) -> IntArray:
        """Of the tasks that are to start, those of jobs that then lack none: any other would hold nodes for nothing."""
        snapshot = self._snapshot
        jobs = len(snapshot.arrival)
        waits = np.bincount(snapshot.task_job, snapshot.state != RUNNING, jobs)
        enough = (np.bincount(snapshot.task_job[starting], minlength=jobs) >= waits) & ~gives_way
        return np.asarray(np.sort(starting[enough[snapshot.task_job[starting]]]))


def lift(hosts: Hosts, jobs: Iterable[IntArray]) -> None:
    """Step 2: what is to pause, running tasks job by job, leaves its nodes."""
    for tasks in jobs:
        for task in tasks.tolist():
            hosts.lift(task)


def settle(hosts: Hosts, jobs: Iterable[IntArray]) -> list[int]:
    """Step 3: of what was lifted, in this order, what finds its place untaken goes on there; the tasks that pause."""
    return [task for tasks in jobs if not hosts.may_return(tasks) for task in tasks.tolist()]
