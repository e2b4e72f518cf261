"""The GPUs of the nodes of a running world, where they are told apart: which task holds which of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph import gpus
from mlsched.simulation.taskgraph.iterations.workload import Jobs


class Holdings(NamedTuple):
    """nodes x GPUs: what is free of each; and the job and the task that hold it whole, -1: none."""

    free: IntArray
    holder: IntArray

    def copy(self) -> Holdings:
        """The same, which nobody changes."""
        return Holdings(self.free.copy(), self.holder.copy())


class Devices:
    """`total`, `free`: nodes x GPUs, what each GPU has and what is left of it (0 for those that a node lacks).

    `unit`: what one GPU is; 0: the GPUs of a node are one pool, and nothing is noted here. Tasks are named by their job
    and their number in it.
    """

    def __init__(self, jobs: Jobs, held: IntArray) -> None:
        """held: of each task of the templates, what it holds of each resource."""
        self.unit, self._jobs = jobs.gpu_unit, jobs
        self.total = gpus.empty(jobs)
        self.free = self.total.copy()
        self._need = held[:, gpus.gpu_column(jobs.resources)].tolist() if self.unit else []
        self._of: dict[tuple[int, int], tuple[int, list[int]]] = {}  # (job, task) -> its node and GPUs
        self._holder = np.full((2, *self.free.shape), -1)  # job and task that hold a whole GPU

    def change(self, leaving: list[tuple[int, int]], coming: list[tuple[int, int, int, int]]) -> None:
        """Tasks (job, task) leave and others (job, task, node, GPU or -1) come, those that name a GPU first."""
        if not self.unit:
            return
        for job, task in leaving:
            self.leave(job, task)
        for job, task, node, gpu in sorted(coming, key=lambda row: row[3] < 0):
            need = self._need[self._jobs.span(job)[0] + task]
            taken = gpus.taken(self.free[node], need, self.unit, gpu)
            self.free[node, taken] -= min(need, self.unit)
            if need >= self.unit:
                self._holder[0, node, taken], self._holder[1, node, taken] = job, task
            self._of[job, task] = (node, taken)

    def leave(self, job: int, task: int) -> None:
        """A task gives back what it holds."""
        node, taken = self._of.pop((job, task))
        need = self._need[self._jobs.span(job)[0] + task]
        self.free[node, taken] += min(need, self.unit)
        if need >= self.unit:
            self._holder[:, node, taken] = -1

    def of(self, job: int, count: int) -> tuple[tuple[int, ...], ...]:
        """The GPUs of each of the tasks of a job, of which it has so many; nothing where none are told apart."""
        if not self.unit:
            return ()
        return tuple(self.of_task(job, task) for task in range(count))

    def of_task(self, job: int, task: int) -> tuple[int, ...]:
        """The GPUs that a task holds."""
        return tuple(self._of.get((job, task), (0, ()))[1])

    def named(self, job: int, task: int) -> int:
        """The one GPU of which a task holds a part or the whole; -1 where there is none, or more than one."""
        taken = self.of_task(job, task) if self.unit else ()
        return taken[0] if len(taken) == 1 else -1

    def seen(self) -> Holdings:
        """Who holds what; what is handed out changes with it."""
        return Holdings(self.free, self._holder)
