"""SRPT: the job that could finish first gets its fastest allocation, then the next job.

Remaining iterations and times of an iteration are part of the instance (Chic's state has both), so this rule does not
need an oracle. A job's remaining processing time is its isolated time on the available capacity. SRPT is optimal on
one machine. For jobs that share a cluster this theorem does not carry over: the first job takes its fastest
allocation, even if the last tasks help it little.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.instances.workers import NEVER, Instance, Plan


@solver("srpt", problem="workers", paper="shortest remaining processing time")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Serve jobs by the time they would need alone (not recommended: worse than at random).

    Each gets the fastest remaining allocation with the fewest tasks.
    """
    jobs, most_workers, most_ps = instance.cost.shape
    w, p = (grid.ravel() for grid in np.mgrid[1 : most_workers + 1, 1 : most_ps + 1])
    few = np.argsort(w + p, kind="stable")
    w, p, cost = w[few], p[few], instance.cost.reshape(jobs, most_workers * most_ps)[:, few]

    def fastest_allocation(job: int, free: IntArray) -> tuple[int, int]:
        """Return the cost and index of the fastest allocation that fits; the cost is NEVER if none fits."""
        need = np.outer(w, instance.worker_demand[job]) + np.outer(p, instance.ps_demand[job])
        costs = np.where((need <= free).all(axis=1), cost[job], NEVER)
        at = int(costs.argmin())
        return int(costs[at]), at

    free = instance.capacity.copy()
    workers, ps = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for job in sorted(range(jobs), key=lambda j: fastest_allocation(j, instance.capacity)[0]):
        value, at = fastest_allocation(job, free)
        if value != NEVER:
            workers[job], ps[job] = w[at], p[at]
            free -= w[at] * instance.worker_demand[job] + p[at] * instance.ps_demand[job]
    return Plan(workers=workers, ps=ps)
