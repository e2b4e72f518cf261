"""Individual GPUs of the nodes of a running world, and the tasks that use them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import gpus
from mlsched.simulation.taskgraph.iterations.workload import Jobs


class Holdings(NamedTuple):
    """State of the GPUs, shape (nodes, GPUs): free amount of each, and the holder of each.

    The holder is the job and the task that use the GPU completely, or -1.
    """

    free: IntArray
    holder: IntArray

    def copy(self) -> Holdings:
        """Return an immutable copy."""
        return Holdings(self.free.copy(), self.holder.copy())


class Devices:
    """GPU books of the nodes. Tasks are identified by their job and their number in it.

    Attributes:
        total, free: Capacity and free amount of each GPU, shape (nodes, GPUs); 0 for missing GPUs.
        unit: Amount of one GPU; 0: the GPUs of a node are one pool, and the books stay empty.
    """

    def __init__(self, jobs: Jobs, held: IntArray) -> None:
        """Create the books; `held` has the use of each task of the templates per resource."""
        self.unit, self._jobs = jobs.gpu_unit, jobs
        self.total = gpus.empty(jobs)
        self.free = self.total.copy()
        self._need = held[:, gpus.gpu_column(jobs.resources)].tolist() if self.unit else []
        self._of: dict[tuple[int, int], tuple[int, list[int]]] = {}  # (job, task) -> its node and GPUs
        self._holder = np.full((2, *self.free.shape), -1)  # job and task that use a complete GPU

    def change(self, leaving: list[tuple[int, int]], coming: list[tuple[int, int, int, int]]) -> None:
        """Remove tasks (job, task) and place others (job, task, node, GPU or -1), those with a named GPU first."""
        if not self.unit:
            return
        for job, task in leaving:
            self.leave(job, task)
        for job, task, node, gpu in sorted(coming, key=lambda row: row[3] < 0):
            need = self._need[self._jobs.span(job)[0] + task]
            gpu_set = gpus.taken(self.free[node], need, self.unit, gpu)
            self.free[node, gpu_set] -= min(need, self.unit)
            if need >= self.unit:
                self._holder[0, node, gpu_set], self._holder[1, node, gpu_set] = job, task
            self._of[job, task] = (node, gpu_set)

    def leave(self, job: int, task: int) -> None:
        """Release the resources of a task."""
        node, gpu_set = self._of.pop((job, task))
        need = self._need[self._jobs.span(job)[0] + task]
        self.free[node, gpu_set] += min(need, self.unit)
        if need >= self.unit:
            self._holder[:, node, gpu_set] = -1

    def of(self, job: int, count: int) -> tuple[tuple[int, ...], ...]:
        """Return the GPUs of each of the `count` tasks of a job; empty for pooled GPUs."""
        if not self.unit:
            return ()
        return tuple(self.of_task(job, task) for task in range(count))

    def of_task(self, job: int, task: int) -> tuple[int, ...]:
        """Return the GPUs of a task."""
        return tuple(self._of.get((job, task), (0, ()))[1])

    def named(self, job: int, task: int) -> int:
        """Return the one GPU of which a task uses a part or the total; -1 for none or several."""
        gpu_set = self.of_task(job, task) if self.unit else ()
        return gpu_set[0] if len(gpu_set) == 1 else -1

    def seen(self) -> Holdings:
        """Return the current holders; the result changes with the books."""
        return Holdings(self.free, self._holder)
