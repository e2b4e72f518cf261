"""Hard cases of admission: named special cases, and relaxations that show which constraint binds."""

from __future__ import annotations

import numpy as np

from mlsched_admission.instances.instance import Instance, Plan


def special_cases(instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan; true if they occur."""
    evicted = int(plan.evict.sum())
    return {
        "a job waits": not plan.start.all(),
        "a job starts": bool(plan.start.any()),
        "several jobs": len(plan.start) > 1,
        "somebody is evicted": evicted > 0,
        "a gang is lost whole": _lost_gang(instance, plan),
        "somebody is moved": bool((plan.move >= 0).any()),
        "a shape is spread": bool(((plan.place > 0).sum(axis=1) > 1).any()) if plan.place.size else False,
        "quotas count": bool((instance.job_use > 0).any()),
        "no nodes": len(instance.node_free) == 0,
    }


def _lost_gang(instance: Instance, plan: Plan) -> bool:
    """Return whether all units of a gang of several leave."""
    sizes = np.bincount(instance.unit_group, minlength=len(instance.group_min))
    evicted_counts = np.bincount(instance.unit_group[plan.evict == 1], minlength=len(instance.group_min))
    return bool(((sizes > 1) & (evicted_counts == sizes)).any())


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return constraint name -> the instance without it. The constraint binds if the optimum improves without it."""
    return {
        "room on nodes": instance.replace(shape_demand=0 * instance.shape_demand),
        "allowed nodes": instance.replace(shape_nodes=np.ones_like(instance.shape_nodes)),
        "domains": instance.replace(shape_level=np.full_like(instance.shape_level, -1)),
        "domains of groups": instance.replace(shape_group=np.full_like(instance.shape_group, -1)),
        "domains of moved units": instance.replace(unit_level=np.full_like(instance.unit_level, -1)),
        "pods per node": instance.replace(shape_spread=0 * instance.shape_spread),
        "who may evict whom": instance.replace(may=np.ones_like(instance.may)),
        "who may move": instance.replace(unit_movable=np.ones_like(instance.unit_movable)),
        "gangs": instance.replace(group_min=np.ones_like(instance.group_min)),
        "quotas": instance.replace(job_use=0 * instance.job_use, above_nominal=0),
        "order of eviction": instance.replace(above_nominal=0),
        "limits": instance.replace(limit_job=0 * instance.limit_job),
    }
