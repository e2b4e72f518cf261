"""Hard features of a workers instance: named special cases, and relaxations that show the binding constraint."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED
from mlsched.instances.workers.instance import NEVER, Instance, Plan


def cases(instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan: True if the case occurs."""
    runs = np.flatnonzero(plan.workers)
    at = instance.cost[runs, plan.workers[runs] - 1, plan.ps[runs] - 1]
    usage = plan.workers @ instance.worker_demand + plan.ps @ instance.ps_demand
    free = instance.capacity - usage
    never = instance.cost == NEVER
    pair = (instance.worker_demand + instance.ps_demand <= free).all(axis=1) & ~never[:, 0, 0]
    fastest = instance.cost.min(axis=(1, 2), initial=NEVER)
    return {
        "a job waits": len(runs) < len(instance.waiting),
        "a job waits though a worker and a PS would fit": bool(pair[plan.workers == 0].any()),
        "a job has more workers than PSs": bool((plan.workers > plan.ps).any()),
        "a job has more PSs than workers": bool((plan.workers < plan.ps).any()),
        "a job is as fast as it can be": bool((at == fastest[runs]).any()),
        "something of every resource is left": bool((free > 0).all()),
        "a combination is not allowed": bool(never.any()),
        "a job can never train": bool(never.all(axis=(1, 2)).any()),
    }


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return the instance with an unlimited amount of each resource, by name. It binds if the optimum improves."""
    relaxed = {}
    for r, resource in enumerate(instance.resources):
        capacity = instance.capacity.copy()
        capacity[r] = UNLIMITED
        relaxed[resource] = instance.replace(capacity=capacity)
    return relaxed
