"""Tasks start in the order of what jobs or users have already: the fair rules (`fair`, `drf`)."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph.measures import Floats, candidates
from mlsched.heuristics.taskgraph.place import Placer


def start_by_share(placer: Placer, share: Callable[[IntArray], Floats], taken: Callable[[int], None]) -> None:
    """Again and again start a task of the job whose `share` is least (ties: the earlier arrival).

    Of a job, the tasks in the order of `candidates`. `share(jobs)`: of each of the jobs; `taken(task)` is told what
    has been started: by that shares may grow, of other jobs as well, and never shrink.
    """
    snapshot = placer.snapshot
    tasks = candidates(snapshot)
    tasks = tasks[placer.open[tasks] & placer.may_fit(tasks)]
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
        own = own[placer.open[own] & hopes[own]]
        if not own.size:
            continue
        if (entry := entries(np.array([job]))[0]) != popped:
            heapq.heappush(heap, entry)  # what has been started since made its share grow
            continue
        before = len(placer.starts)
        if placer.start(int(own[0])):
            for task, _ in placer.starts[before:]:
                taken(task)
            heapq.heappush(heap, entries(np.array([job]))[0])
            continue
        hopes[own[0]] = False
        tasks = tasks[hopes[tasks]]
        tasks = tasks[placer.may_fit(tasks) & ~placer.as_hopeless(int(own[0]), tasks)]
        hopes[:] = False
        hopes[tasks] = True
        left = set(snapshot.task_job[tasks].tolist())
        heap = [entry for entry in heap if entry[-1] in left]
        heapq.heapify(heap)
        if job in left:
            heapq.heappush(heap, popped)
