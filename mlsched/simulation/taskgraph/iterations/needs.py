"""When a round is worth asking for: whether any job that waits would find room."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.simulation.taskgraph.iterations.fits import room
from mlsched.simulation.taskgraph.iterations.workload import Jobs

#: Of more templates than that, those that what is free in all is too little for are left out first.
FEW = 4


class Needs:
    """What the jobs of each template need to start: to tell, at each event, whether any that waits would find room."""

    def __init__(self, jobs: Jobs, demand: IntArray) -> None:
        self._jobs = jobs
        count, resources = len(jobs.gang), len(jobs.resources)
        self._total, self._most = (np.zeros((count, resources), dtype=np.int64) for _ in range(2))
        self._kinds: list[list[tuple[int, IntArray, int]]] = []
        #: Of each type of nodes, those that may run each class.
        self._able = [[np.flatnonzero((row > 0) & among) for row in jobs.eligible] for among in jobs.one_type]
        for template, (first, end) in enumerate(jobs.tasks):
            rows = demand[first:end]
            whole = bool(jobs.gang[template])
            self._total[template] = rows.sum(axis=0) if whole else rows.min(axis=0)
            self._most[template] = rows.max(axis=0) if whole else rows.min(axis=0)
            kinds, many = np.unique(np.column_stack([jobs.task_class[first:end], rows]), axis=0, return_counts=True)
            self._kinds.append([(int(k[0]), k[1:], int(m)) for k, m in zip(kinds, many, strict=True)])

    def met(self, waiting: Collection[int], free: IntArray, gpu_free: IntArray) -> bool:
        """Whether room is free for a job of one of these templates: for all tasks of a gang, else for one."""
        if len(waiting) > FEW:
            asking = np.fromiter(waiting, np.int64, len(waiting))
            fits = (self._total[asking] <= free.sum(axis=0)).all(axis=1)
            fits &= (self._most[asking] <= free.max(axis=0, initial=0)).all(axis=1)
            waiting = asking[fits].tolist()
        return any(self._fits(template, free, gpu_free) for template in waiting)

    def _fits(self, template: int, free: IntArray, gpu_free: IntArray) -> bool:
        return any(self._fit_on(nodes, template, free, gpu_free) for nodes in self._able)

    def _fit_on(self, those: list[IntArray], template: int, free: IntArray, gpu_free: IntArray) -> bool:
        kinds, whole = self._kinds[template], self._jobs.gang[template]
        if whole and len(kinds) > 1 and (self._total[template] > free.sum(axis=0)).any():
            return False  # each kind may find room by itself, and all together none
        able = []
        for kind, demand, many in kinds:
            nodes = those[kind]
            count = room(free[nodes], gpu_free[nodes], self._jobs, demand, many)
            able.append(count >= (many if whole else 1))
        return all(able) if whole else any(able)
