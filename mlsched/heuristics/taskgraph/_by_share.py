"""Fair rules (`fair`, `drf`): start tasks in the order of the current shares of jobs or users."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.heuristics.taskgraph.measures import candidates
from mlsched.heuristics.taskgraph.place import Placer


def start_by_share(placer: Placer, share: Callable[[IntArray], FloatArray], taken: Callable[[int], None]) -> None:
    """Repeatedly start a task of the job with the least `share` (ties: the earlier arrival).

    The tasks of a job start in the order of `candidates`. `share(jobs)` returns the share of each of the jobs.
    `taken(task)` is called after each start. It may increase shares, also of other jobs, and never decreases them.
    """
    snapshot = placer.snapshot
    tasks = candidates(snapshot)
    tasks = tasks[placer.open[tasks] & placer.may_fit(tasks)]
    tasks = tasks[np.argsort(snapshot.task_job[tasks], kind="stable")]
    hopes = np.zeros(len(snapshot.task_job), dtype=np.bool_)
    hopes[tasks] = True

    def heap_entries(jobs: IntArray) -> list[tuple[float, int, int, int]]:
        columns = (share(jobs), snapshot.arrival[jobs], snapshot.job_id[jobs], jobs)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    heap = heap_entries(np.unique(snapshot.task_job[tasks]))
    heapq.heapify(heap)
    while heap:
        popped = heapq.heappop(heap)
        job = popped[-1]
        own = tasks[slice(*np.searchsorted(snapshot.task_job[tasks], (job, job + 1)))]
        own = own[placer.open[own] & hopes[own]]
        if not own.size:
            continue
        if (entry := heap_entries(np.array([job]))[0]) != popped:
            heapq.heappush(heap, entry)  # starts have increased its share
            continue
        before = len(placer.starts)
        if placer.start(int(own[0])):
            for task, _ in placer.starts[before:]:
                taken(task)
            heapq.heappush(heap, heap_entries(np.array([job]))[0])
            continue
        hopes[own[0]] = False
        tasks = tasks[hopes[tasks]]
        tasks = tasks[placer.may_fit(tasks) & ~placer.as_hopeless(int(own[0]), tasks)]
        hopes[:] = False
        hopes[tasks] = True
        remaining = set(snapshot.task_job[tasks].tolist())
        heap = [entry for entry in heap if entry[-1] in remaining]
        heapq.heapify(heap)
        if job in remaining:
            heapq.heappush(heap, popped)
