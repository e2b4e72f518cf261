"""Bookkeeping of all placement rules, and the loop of rules that place one job after another.

Harmony's text leaves some points open, and these rules settle them in the same way. The jobs of a batch are placed in
the order of the instance (arrival). The tasks of a job take turns: worker, PS, worker, PS, then the remaining kind. A
job that does not fit completely is rolled back and waits, and the next job is tried. Section III places the jobs of a
batch and lets them run to completion, so a placed job is never moved within its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.placement import Instance, Plan

#: Kinds of task.
WORKER, PS = 0, 1


class Room:
    """A mutable copy of an instance's servers while jobs are placed task by task."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.free = instance.server_free.copy()
        self.capacity = np.maximum(instance.server_capacity, 1)
        shape = (len(instance.job_type), len(instance.server_free))
        self.tasks = np.zeros((2, *shape), dtype=np.int64)
        self.running = np.stack([instance.run_workers, instance.run_ps])
        self.separate = bool(instance.apart.any())
        self.open = max(0, min(instance.most_new, instance.most_jobs - len(instance.run_type)))

    def demand(self, job: int, kind: int) -> IntArray:
        """Return the demand of a worker or a PS of `job`."""
        return np.asarray((self.instance.worker_demand if kind == WORKER else self.instance.ps_demand)[job])

    def load(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return the used share of each server, summed over the resources."""
        return np.asarray(((self.instance.server_capacity - self.free) / self.capacity).sum(axis=1))

    def banned(self, job: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return the servers that host a type that `job` must stay apart from."""
        instance = self.instance
        apart = instance.apart[instance.job_type[job]] > 0
        mates = self.tasks.sum(axis=0) > 0
        mates[job] = False
        new = (mates & apart[instance.job_type][:, None]).any(axis=0)
        old = ((self.running.sum(axis=0) > 0) & apart[instance.run_type][:, None]).any(axis=0)
        return np.asarray(new | old)

    def able(self, job: int, kind: int) -> IntArray:
        """Return the servers with room for another task of `job`."""
        fits = (self.free >= self.demand(job, kind)).all(axis=1)
        return np.flatnonzero(fits & ~self.banned(job))

    def has_space(self, job: int, kind: int, server: int) -> bool:
        """Return if `server` is one of `able`."""
        fits = bool((self.free[server] >= self.demand(job, kind)).all())
        return fits and not (self.separate and self.banned(job)[server])

    def put(self, job: int, kind: int, server: int) -> None:
        """Place a task on a server."""
        self.tasks[kind, job, server] += 1
        self.free[server] -= self.demand(job, kind)

    def take_out(self, job: int) -> None:
        """Remove all tasks of `job`."""
        for kind in (WORKER, PS):
            self.free += self.tasks[kind, job][:, None] * self.demand(job, kind)
        self.tasks[:, job] = 0

    def order(self, job: int) -> list[int]:
        """Return the kinds of the job's tasks in placement order: worker, PS, worker, PS, then the remaining kind."""
        workers, ps = int(self.instance.job_workers[job]), int(self.instance.job_ps[job])
        both = min(workers, ps)
        return [WORKER, PS] * both + [WORKER] * (workers - both) + [PS] * (ps - both)

    def place(self, job: int, choose: Choose) -> bool:
        """Place all tasks of `job`, each on the server that `choose(room, job, kind, able)` returns; -1 gives up.

        A job that does not fit completely is rolled back and waits.
        """
        if self.open <= 0:
            return False
        for kind in self.order(job):
            able = self.able(job, kind)
            server = choose(self, job, kind, able) if able.size else -1
            if server < 0:
                self.take_out(job)
                return False
            self.put(job, kind, server)
        self.open -= 1
        return True

    def plan(self) -> Plan:
        """Return the finished plan."""
        return Plan(workers=self.tasks[WORKER], ps=self.tasks[PS])


#: choose(room, job, kind, able): server among `able` for a task of `job`; -1 gives the job up.
Choose: TypeAlias = Callable[[Room, int, int, IntArray], int]


def place_all(instance: Instance, choose: Choose) -> Plan:
    """Return the plan of a rule that places one job after another, in the order of the instance."""
    room = Room(instance)
    for job in range(len(instance.job_type)):
        room.place(job, choose)
    return room.plan()
