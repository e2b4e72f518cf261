"""Hard features of a preemption instance: named special cases, and relaxations that show the binding constraint."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED
from mlsched.instances.preemption.instance import Instance, Plan


def cases(instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan: True if the case occurs."""
    return {
        "a TE job is deferred": bool((plan.te_node < 0).any()),
        "no victim needed": plan.victims.size == 0,
        "several victims": plan.victims.size > 1,
        "several TE jobs": len(instance.te_demand) > 1,
        "TE jobs share a node": bool((np.bincount(plan.te_node[plan.te_node >= 0]) > 1).any()),
        "some job is at the limit": bool((~instance.preemptible).any()),
    }


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return the instance without each constraint, by name. A constraint binds if the optimum improves without it."""
    relaxed = {"preemption limit": instance.replace(preemption_limit=UNLIMITED)}
    for r, name in enumerate(instance.resources):
        demand = instance.te_demand.copy()
        demand[:, r] = 0
        relaxed[f"capacity of {name}"] = instance.replace(te_demand=demand)
    return relaxed
