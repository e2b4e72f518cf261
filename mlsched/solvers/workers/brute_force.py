"""Workers by enumeration: every allowed number of workers and PSs for every job, or waiting."""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.workers import NEVER, Instance, Plan

#: Limit on plans per run: about 1 s.
MOST_PLANS = 2**21


@exact_algorithm("brute-force", problem="workers", objectives=("total_jct",))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan that fits; instances of up to 2^21 of them (about 1 s)."""
    jobs, deadline = len(instance.waiting), Deadline(limits.seconds)
    free = instance.capacity[None, :].copy()
    value = np.zeros(1, dtype=np.int64)
    trail = []
    for j in range(jobs):
        grid = np.argwhere(instance.cost[j] != NEVER)
        w, p = np.concatenate([[0], grid[:, 0] + 1]), np.concatenate([[0], grid[:, 1] + 1])
        cost = np.concatenate([instance.waiting[j : j + 1], instance.cost[j][tuple(grid.T)]])
        need = np.outer(w, instance.worker_demand[j]) + np.outer(p, instance.ps_demand[j])
        rows, options = [], []
        count = 0
        for k in deadline.over(range(len(w))):
            able = np.flatnonzero((free >= need[k]).all(axis=1))
            rows.append(able)
            options.append(np.full(len(able), k))
            count += len(able)
            if count > MOST_PLANS:
                raise TooLarge(f"brute-force: more than {MOST_PLANS} plans fit: use dp, cp-sat or highs")
        row, option = np.concatenate(rows), np.concatenate(options)
        free, value = free[row] - need[option], value[row] + cost[option]
        trail.append((row, w[option], p[option]))
    best = at = int(value.argmin())
    workers, ps = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for j in range(jobs - 1, -1, -1):
        row, w, p = trail[j]
        workers[j], ps[j], at = w[at], p[at], int(row[at])
    return Outcome("optimal", Plan(workers=workers, ps=ps), int(value[best]), work={"plans": len(value)})
