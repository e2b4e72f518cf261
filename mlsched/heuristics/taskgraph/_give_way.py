"""Preemption by priority: the cluster is filled anew in order of the jobs, and what no longer fits pauses."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._measures import by_job, per_job
from mlsched.heuristics.taskgraph._place import Flags, Placer
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING


def give_way(placer: Placer, tasks: IntArray, jobs: IntArray) -> list[int]:
    """Fill the cluster anew in order of the `jobs`; returns the running tasks that pause, the placer notes the starts.

    What runs keeps its node if that is still free when its job's turn comes, else it pauses; a gang does so whole. What
    starts goes where nothing has to leave for it, if it can.
    `tasks`: those that could start, in the same order of their jobs.
    """
    rank = np.empty(len(jobs), dtype=np.int64)
    rank[jobs] = np.arange(len(jobs))
    keeper = _Keeper(placer, rank)
    placer.start_in_order(tasks, before=lambda task: keeper.keep_up_to(int(rank[placer.snapshot.task_job[task]])))
    keeper.keep_up_to(len(jobs))
    return keeper.pauses


def serve(placer: Placer, *keys: Any) -> list[int]:
    """Serve jobs in order of the keys, the first key first; of equals those that run, then the earlier arrival.

    Where runs may pause and go on later, what runs gives way to what comes before it; returns the tasks that pause.
    """
    snapshot = placer.snapshot
    idle = per_job(snapshot, snapshot.state == RUNNING) == 0
    tasks = by_job(snapshot, *keys, idle)
    if snapshot.pausing != "keep":
        placer.start_in_order(tasks)
        return []
    return give_way(placer, tasks, np.lexsort((snapshot.job_id, snapshot.arrival, idle, *reversed(keys))))


def epochs(snapshot: Snapshot, memory: dict[str, Any] | None, ticks: int) -> tuple[dict[str, Any], bool]:
    """The memory of a rule that predicts anew every so many ticks, and whether it is time to.

    `next`: when it next is; `of`: what was predicted of the jobs that are still there, by their names.
    """
    if memory is None or snapshot.now >= memory["next"]:
        return {"next": snapshot.now + ticks, "of": {}}, True
    here = set(snapshot.job_id.astype(str).tolist())
    return {"next": memory["next"], "of": {job: value for job, value in memory["of"].items() if job in here}}, False


def holding(placer: Placer, pauses: list[int]) -> Flags:
    """tasks: whether the task holds its node after the round with these pauses and the placer's starts."""
    holds: Flags = placer.snapshot.state == RUNNING
    holds[pauses] = False
    holds[[task for task, _ in placer.starts]] = True
    return holds


def refuse_unless_pausing(snapshot: Snapshot, rule: str) -> None:
    """Refuse a snapshot of a world in which nothing may give way and go on later."""
    if snapshot.pausing != "keep":
        raise InvalidInput(
            f"{rule}: runs may not pause and go on later here (pausing = '{snapshot.pausing}'): simulate with the "
            "world's option pausing=keep, or leave preempt out"
        )


class _Keeper:
    """The running tasks in order of their jobs' ranks: at first none holds anything; then they take their nodes again,
    as far as the ranks are gone through.
    """

    def __init__(self, placer: Placer, rank: IntArray) -> None:
        snapshot = placer.snapshot
        self._placer, self.pauses = placer, list[int]()
        running = np.flatnonzero(snapshot.state == RUNNING)
        self._tasks = running[np.argsort(rank[snapshot.task_job[running]], kind="stable")]
        self._ranks = rank[snapshot.task_job[self._tasks]]
        self._held = placer.held
        self._at = 0
        placer.spare = placer.free.copy()
        np.add.at(placer.free, snapshot.node[running], self._held[running])
        self._overloaded = np.flatnonzero((placer.spare < 0).any(axis=1)).tolist()
        if placer.gpus:
            placer.gpus.clear()

    def keep_up_to(self, rank: int) -> None:
        """Those of jobs up to and with this rank take their nodes again, or pause."""
        end = int(np.searchsorted(self._ranks, rank, side="right"))
        batch, self._at = self._tasks[self._at : end], max(end, self._at)
        if not batch.size:
            return
        placer, snapshot = self._placer, self._placer.snapshot
        node, job = snapshot.node[batch], snapshot.task_job[batch]
        # Where nothing has started since, what fitted together fits again, in whatever order it comes back.
        changed = np.isin(node, [*self._overloaded, *(started for _, started in placer.starts)])
        unsure = np.isin(job, job[changed])
        sure = batch[~unsure]
        np.subtract.at(placer.free, snapshot.node[sure], self._held[sure])
        if placer.gpus:
            placer.gpus.keep(sure)
        units: dict[tuple[int, int], list[int]] = {}
        for task, j in zip(batch[unsure].tolist(), job[unsure].tolist(), strict=True):
            units.setdefault((j, -1) if snapshot.gang[j] else (j, task), []).append(task)
        for unit in units.values():
            self._keep(np.array(unit))

    def _keep(self, unit: IntArray) -> None:
        """Tasks that stay or pause together."""
        placer, node = self._placer, self._placer.snapshot.node[unit]
        np.subtract.at(placer.free, node, self._held[unit])
        gpus = placer.gpus
        if (placer.free[node] < 0).any() or (gpus and not gpus.keep(unit)):
            np.add.at(placer.free, node, self._held[unit])
            np.add.at(placer.spare, node, self._held[unit])
            if gpus:
                gpus.leave(unit)
            self.pauses += unit.tolist()
