"""Bookkeeping of all rules: free capacity, each job's tasks, and the effect of another task.

It uses plain Python lists: rules look at single entries, for which lists are several times faster than arrays.
"""

from __future__ import annotations

from mlsched.core.fields import ints
from mlsched.instances.workers import NEVER, Instance, Plan

#: Kinds of task.
PS, WORKER = 0, 1
#: Workers and PSs that another task of a kind adds.
STEP = {PS: (0, 1), WORKER: (1, 0)}


class Room:
    """The free capacity while a rule gives out workers and PSs, from an empty cluster."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.jobs = len(instance.waiting)
        self.cost: list[list[list[int]]] = instance.cost.tolist()
        self.most_workers, self.most_ps = instance.cost.shape[1:]
        self.capacity: list[int] = instance.capacity.tolist()
        self.free: list[int] = instance.capacity.tolist()
        self.demand: dict[int, list[list[int]]] = {
            WORKER: instance.worker_demand.tolist(),
            PS: instance.ps_demand.tolist(),
        }
        self.workers, self.ps = [0] * self.jobs, [0] * self.jobs

    def allowed(self, job: int, workers: int, ps: int) -> bool:
        """Return if the job can train with these numbers (with at least one of each)."""
        return workers <= self.most_workers and ps <= self.most_ps and self.cost[job][workers - 1][ps - 1] != NEVER

    def fits(self, job: int, workers: int, ps: int) -> bool:
        """Return if these further workers and PSs of the job fit."""
        for free, w, p in zip(self.free, self.demand[WORKER][job], self.demand[PS][job], strict=True):
            if workers * w + ps * p > free:
                return False
        return True

    def give(self, job: int, workers: int, ps: int) -> None:
        """Give the job these further workers and PSs."""
        self.workers[job] += workers
        self.ps[job] += ps
        for r, (w, p) in enumerate(zip(self.demand[WORKER][job], self.demand[PS][job], strict=True)):
            self.free[r] -= workers * w + ps * p

    def now(self, job: int) -> int:
        """Return the cost of a job with its present workers and PSs (at least one of each)."""
        return self.cost[job][self.workers[job] - 1][self.ps[job] - 1]

    def first(self, job: int) -> tuple[int, int] | None:
        """Return a job's first tasks: one worker and one PS, or the fewest tasks (then workers) that can train."""
        if self.allowed(job, 1, 1):
            return 1, 1
        able = [
            (w + p, w, p)
            for w in range(1, self.most_workers + 1)
            for p in range(1, self.most_ps + 1)
            if self.allowed(job, w, p)
        ]
        return min(able)[1:] if able else None

    def start(self) -> None:
        """Give each job its first tasks, in arrival order; skip jobs whose first tasks do not fit."""
        for job in range(self.jobs):
            bundle = self.first(job)
            if bundle is not None and self.fits(job, *bundle):
                self.give(job, *bundle)

    def plan(self) -> Plan:
        """Return the finished plan; a job with only workers or only PSs gets neither."""
        both = [bool(w and p) for w, p in zip(self.workers, self.ps, strict=True)]
        return Plan(
            workers=ints(w if b else 0 for w, b in zip(self.workers, both, strict=True)),
            ps=ints(p if b else 0 for p, b in zip(self.ps, both, strict=True)),
        )
