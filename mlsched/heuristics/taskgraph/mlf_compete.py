"""MLF-H with competition (`queueing=iteration` or `last-task`): choose the running jobs and the preempted jobs.

MLFS queues tasks: "tasks in earlier iterations should have a higher priority", "preempted tasks" return to the queue,
and tasks for the next iteration are generated after the current one (Sections 1, 3.3.2 and 3.5). By iterations
(`simulator`) a placed job occupies its nodes to the end. So here, in every round, running jobs compete with waiting
jobs as if their next iteration were queued.

1. Choice: in order of priority, by the engine of all preemptive rules (`_preemption`): capacity first, then pauses. A
job beyond the capacity does not pause others.
2. The paused jobs are taken off their nodes. Then the starting jobs look for hosts as in MLF-H (`_mlf_queue`), with
the tasks relieved from overloaded nodes.
3. Paused jobs return to their places in order of priority, unless another unit took them. Then other fitting jobs
start.

If one task of a job would pause, the entire job pauses, since its other tasks could not continue.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph._mlf_queue import of_unit
from mlsched.heuristics.taskgraph.measures import by_class, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import serve, within_capacity
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING


class Competition:
    """The outcome of step 1.

    `priority`: of all tasks; `starting`: tasks that are to start; `pausing`: running tasks of each preempted job, the
    highest priority first. Moves of the engine are ignored: only MLF-H's relief of overloaded nodes moves tasks. With
    `last`, a job counts by the lowest priority of its tasks.
    """

    def __init__(self, snapshot: Snapshot, stop: str, priority: FloatArray, last: bool = False) -> None:
        self._snapshot, self.priority = snapshot, priority
        of_job = of_unit(priority, snapshot.task_job, len(snapshot.arrival), last)
        placer = Placer(snapshot, stop, "least-work")
        placer.open &= self._within_capacity(placer, -of_job)[snapshot.task_job]
        pauses = serve(placer, -of_job)
        gives_way = np.zeros(len(snapshot.arrival), dtype=np.bool_)
        gives_way[snapshot.task_job[pauses]] = True
        order = np.lexsort((snapshot.job_id, -of_job))
        runs = snapshot.state == RUNNING
        self.pausing = [np.flatnonzero((snapshot.task_job == job) & runs) for job in order[gives_way[order]].tolist()]
        self.starting = self._of_complete_jobs(np.array([task for task, _ in placer.starts], dtype=np.int64), gives_way)

    def _within_capacity(self, placer: Placer, key: FloatArray) -> BoolArray:
        """Return the jobs within the cluster's total capacity, in this order, including running jobs.

        Only these may pause others. Other jobs start at the end, if they fit beside them.
        """
        snapshot = self._snapshot
        idle = per_job(snapshot, snapshot.state == RUNNING) == 0
        order = np.lexsort((snapshot.job_id, snapshot.arrival, idle, key, *by_class(snapshot)))
        result = np.zeros(len(order), dtype=np.bool_)
        result[order] = within_capacity(placer.whole[order], snapshot.node_capacity.sum(axis=0))
        return result

    def _of_complete_jobs(self, starting: IntArray, gives_way: BoolArray) -> IntArray:
        """Return the starting tasks of jobs with all of their tasks: others would occupy nodes without progress."""
        snapshot = self._snapshot
        jobs = len(snapshot.arrival)
        waits = np.bincount(snapshot.task_job, snapshot.state != RUNNING, jobs)
        enough = (np.bincount(snapshot.task_job[starting], minlength=jobs) >= waits) & ~gives_way
        return np.asarray(np.sort(starting[enough[snapshot.task_job[starting]]]))


def lift(hosts: Hosts, jobs: Iterable[IntArray]) -> None:
    """Take the pausing tasks off their nodes, job by job (step 2)."""
    for tasks in jobs:
        for task in tasks.tolist():
            hosts.lift(task)


def settle(hosts: Hosts, jobs: Iterable[IntArray]) -> list[int]:
    """Return lifted jobs to free places, in this order (step 3); return the tasks that pause."""
    return [task for tasks in jobs if not hosts.put_back(tasks) for task in tasks.tolist()]
