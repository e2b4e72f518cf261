"""Features of preemption instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

import numpy as np

from mlsched.core.contract import Feature
from mlsched.core.fields import IntArray
from mlsched.instances.preemption.instance import Instance

Rng = np.random.Generator
JOBS = ("job_node", "job_demand", "job_grace", "job_preemptions", "job_remaining")
NODES = ("node_capacity", "node_free", "node_draining")


def _with_entry(values: IntArray, at: int, value: int | IntArray) -> IntArray:
    changed = values.copy()
    changed[at] = value
    return changed


def _three_tes(instance: Instance, rng: Rng) -> Instance:
    """Add copies of a waiting TE job, or jobs of one unit."""
    demands = instance.te_demand if len(instance.te_demand) else np.ones((1, len(instance.resources)), dtype=np.int64)
    more = demands[rng.integers(len(demands), size=max(0, 3 - len(instance.te_demand)))]
    return instance.replace(te_demand=np.vstack([instance.te_demand, more]))


def _draining(instance: Instance, rng: Rng) -> Instance:
    """Let part of the free resources drain; a node without free room grows."""
    node = int(rng.integers(len(instance.node_free)))
    amount = (instance.node_free[node] + 1) // 2
    grown = np.where(amount == 0, 1, 0)
    return instance.replace(
        node_free=_with_entry(instance.node_free, node, instance.node_free[node] - amount),
        node_draining=_with_entry(instance.node_draining, node, instance.node_draining[node] + amount + grown),
        node_capacity=_with_entry(instance.node_capacity, node, instance.node_capacity[node] + grown),
    )


def _exhausted(instance: Instance, rng: Rng) -> Instance:
    job = int(rng.integers(len(instance.job_node)))
    return instance.replace(job_preemptions=_with_entry(instance.job_preemptions, job, instance.preemption_limit))


def _preempted_before(instance: Instance, rng: Rng) -> Instance:
    """Allow one more preemption, and record an earlier one of a job."""
    job = int(rng.integers(len(instance.job_node)))
    limit = instance.preemption_limit + 1
    return instance.replace(
        preemption_limit=limit, job_preemptions=_with_entry(instance.job_preemptions, job, int(rng.integers(1, limit)))
    )


def _no_grace(instance: Instance, rng: Rng) -> Instance:
    job = int(rng.integers(len(instance.job_node)))
    return instance.replace(job_grace=_with_entry(instance.job_grace, job, 0))


def _two_resources(instance: Instance, rng: Rng) -> Instance:
    """Add a second resource; nodes have slightly more of it than their jobs need."""
    nodes, jobs, tes = len(instance.node_free), len(instance.job_node), len(instance.te_demand)
    demand, free = rng.integers(0, 3, (jobs, 1)), rng.integers(0, 3, (nodes, 1))
    usage = np.zeros((nodes, 1), dtype=np.int64)
    np.add.at(usage, instance.job_node, demand)
    return instance.replace(
        resources=(*instance.resources, "another"),
        node_capacity=np.hstack([instance.node_capacity, usage + free]),
        node_free=np.hstack([instance.node_free, free]),
        node_draining=np.hstack([instance.node_draining, 0 * free]),
        job_demand=np.hstack([instance.job_demand, demand]),
        te_demand=np.hstack([instance.te_demand, rng.integers(0, 3, (tes, 1))]),
        max_size=0,
    )


def _empty_node(instance: Instance, rng: Rng) -> Instance:
    """Add a node without jobs, some of whose room is taken."""
    capacity = instance.node_capacity[rng.integers(len(instance.node_free))][None]
    new_row = {"node_capacity": capacity, "node_free": capacity // 2, "node_draining": 0 * capacity}
    return instance.replace(**{name: np.vstack([getattr(instance, name), new_row[name]]) for name in NODES})


def _fits_nowhere(instance: Instance, rng: Rng) -> Instance:
    demand = instance.node_capacity.max(axis=0) + 1
    tes = [*instance.te_demand, demand]
    return instance.replace(te_demand=np.array(tes)[rng.permutation(len(tes))])


def _exact_fit(instance: Instance, rng: Rng) -> Instance:
    """Let a TE job demand exactly the free and draining resources of a node."""
    room = instance.node_free + instance.node_draining
    node = int(room.sum(axis=1).argmax())
    te = int(rng.integers(len(instance.te_demand)))
    return instance.replace(te_demand=_with_entry(instance.te_demand, te, room[node]))


def _needs_nothing_of_one(instance: Instance, rng: Rng) -> Instance:
    te = int(rng.integers(len(instance.te_demand)))
    demand = _with_entry(instance.te_demand[te], int(rng.integers(len(instance.resources))), 0)
    return instance.replace(te_demand=_with_entry(instance.te_demand, te, demand))


def _equal_jobs(instance: Instance, rng: Rng) -> Instance:
    """Copy a job onto its node, which grows by the demand."""
    job = int(rng.integers(len(instance.job_node)))
    node = int(instance.job_node[job])
    fields = {name: np.concatenate([getattr(instance, name), getattr(instance, name)[job : job + 1]]) for name in JOBS}
    capacity = instance.node_capacity[node] + instance.job_demand[job]
    return instance.replace(**fields, node_capacity=_with_entry(instance.node_capacity, node, capacity), max_size=0)


def _others_run(instance: Instance, rng: Rng) -> Instance:
    """Raise the maxima: unlisted jobs are larger, with longer grace periods."""
    return instance.replace(max_size=instance.max_size + 10**8, max_grace=instance.max_grace + 30)


def _has_exact_fit(instance: Instance) -> bool:
    room = instance.node_free + instance.node_draining
    return any((room == demand).all(axis=1).any() for demand in instance.te_demand if demand.any())


def _has_equal_jobs(instance: Instance) -> bool:
    rows = np.column_stack([instance.job_node, instance.job_demand, instance.job_grace, instance.job_preemptions])
    return len(np.unique(rows, axis=0)) < len(rows)


def _has_others(instance: Instance) -> bool:
    return bool(instance.max_grace > instance.job_grace.max(initial=0))


FEATURES = {
    "three TE jobs": Feature(lambda i: len(i.te_demand) >= 3, _three_tes),
    "draining node": Feature(lambda i: bool(i.node_draining.any()), _draining),
    "job at its preemption limit": Feature(lambda i: bool((~i.preemptible).any()), _exhausted),
    "job preempted before": Feature(lambda i: bool((i.preemptible & (i.job_preemptions > 0)).any()), _preempted_before),
    "job without grace period": Feature(lambda i: bool((i.job_grace == 0).any()), _no_grace),
    "two resources": Feature(lambda i: len(i.resources) >= 2, _two_resources),
    "node without jobs": Feature(lambda i: len(np.unique(i.job_node)) < len(i.node_free), _empty_node),
    "TE job that fits nowhere": Feature(
        lambda i: any((d > i.node_capacity).any(axis=1).all() for d in i.te_demand), _fits_nowhere
    ),
    "TE job that fits exactly": Feature(_has_exact_fit, _exact_fit),
    "TE job that needs nothing of a resource": Feature(lambda i: bool((i.te_demand == 0).any()), _needs_nothing_of_one),
    "equal jobs": Feature(_has_equal_jobs, _equal_jobs),
    "longer grace periods of other jobs": Feature(_has_others, _others_run),
}
