"""SRPT: the job that could finish first gets what makes it fastest, then the next.

Remaining iterations and times of an iteration are part of the question (Chic's state has both), so this rule needs no
oracle. A job's remaining processing time is its time alone on what may be used now. SRPT is optimal on one machine; for
jobs that share a cluster there is no such theorem, and one that is served first takes what makes it fastest however
little the last tasks of it help.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.instances.workers import NEVER, Instance, Plan


@solver("srpt", problem="workers", paper="shortest remaining processing time")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Jobs by the time they would need alone (not recommended: worse than at random).

    Each gets the fastest that is left, in as few tasks as that takes.
    """
    jobs, most_workers, most_ps = instance.cost.shape
    w, p = (grid.ravel() for grid in np.mgrid[1 : most_workers + 1, 1 : most_ps + 1])
    few = np.argsort(w + p, kind="stable")
    w, p, cost = w[few], p[few], instance.cost.reshape(jobs, most_workers * most_ps)[:, few]

    def fastest(job: int, free: IntArray) -> tuple[int, int]:
        """Cost and index of the fastest that fits; NEVER where nothing does."""
        need = np.outer(w, instance.worker_demand[job]) + np.outer(p, instance.ps_demand[job])
        offered = np.where((need <= free).all(axis=1), cost[job], NEVER)
        at = int(offered.argmin())
        return int(offered[at]), at

    free = instance.capacity.copy()
    workers, ps = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for job in sorted(range(jobs), key=lambda j: fastest(j, instance.capacity)[0]):
        value, at = fastest(job, free)
        if value != NEVER:
            workers[job], ps[job] = w[at], p[at]
            free -= w[at] * instance.worker_demand[job] + p[at] * instance.ps_demand[job]
    return Plan(workers=workers, ps=ps)
