"""The first sufficient reason why a job cannot start, with its numbers."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_admission.instances import Instance
from mlsched_admission.instances.quotas import Quotas
from mlsched_admission.solvers._names import name_of, name_of_queue


def why_job_waits(instance: Instance, j: int, *, evictions: bool = True) -> str | None:
    """Explain why job `j` does not start by itself, even if all its possible victims leave; None without a single
    reason.

    evictions: False explains why it does not start without evictions. Each sentence is a proof: it uses upper limits
    and ignores all other obstacles.
    """
    evictable = instance.may[j] > 0 if evictions else np.zeros(len(instance.unit_group), dtype=bool)
    by = " by allowed evictions" if evictions else ""
    room = instance.node_free + instance.node_draining
    leaving = evictable | (instance.unit_movable == 1)
    pods = leaving[instance.pod_unit] if len(instance.pod_unit) else np.zeros(0, dtype=bool)
    np.add.at(room, instance.pod_node[pods], instance.pod_demand[pods])
    job = name_of("job", instance.job_names, j)
    for k in np.flatnonzero(instance.shape_job == j).tolist():
        if sentence := _why_no_room(instance, k, room, by):
            return f"{job}: {sentence}"
    return _why_no_quota(instance, j, evictable, by, job) or _why_no_limit(instance, j, evictable, by, job)


def _why_no_room(instance: Instance, k: int, room: IntArray, by: str) -> str | None:
    open_to = instance.shape_nodes[k] == 1
    level = int(instance.shape_level[k])
    if level >= 0:
        open_to = open_to & (instance.node_domain[level] >= 0)
    if not open_to.any():
        return "no node is open to its pods"
    demand, there = instance.shape_demand[k], room[open_to]
    for r, resource in enumerate(instance.resources):
        if demand[r] and (most := int(there[:, r].max())) < int(demand[r]):
            return f"no node can free more than {most} {resource} (of {int(demand[r])}){by}"
    fits = np.maximum(there[:, demand > 0] // demand[demand > 0], 0).min(axis=1) if (demand > 0).any() else None
    if fits is None:
        return None
    if not fits.any():
        return f"no node can free all that one pod needs at once{by}"
    count, spread = int(instance.shape_count[k]), int(instance.shape_spread[k])
    fits = np.minimum(fits, spread) if spread else fits
    if (most := int(fits.sum())) < count:
        return f"all nodes together can hold {most} of its {count} pods{by}"
    if level >= 0:
        inside = np.zeros(int(instance.node_domain[level].max()) + 1, dtype=np.int64)
        np.add.at(inside, instance.node_domain[level][open_to], fits)
        size = int(instance.shape_slice[k]) or count
        if int((inside // size).sum()) * size < count:
            return f"no domain can hold more than {int(inside.max())} pods of a slice of {size}{by}"
    return None


def _why_no_quota(instance: Instance, j: int, leaving: IntArray, by: str, job: str) -> str | None:
    if int(instance.job_queue[j]) < 0:
        return None
    quotas = Quotas(instance)
    usage = quotas.usage_of(quotas.changed_use([j], np.flatnonzero(leaving).tolist()))
    for q in quotas.path_to_root(int(instance.job_queue[j])):
        for f in np.flatnonzero(instance.job_use[j] > 0).tolist():
            if usage[q, f] > quotas.allowed[q, f]:
                queue, flavor = name_of_queue(instance, q), name_of("flavor", instance.flavor_names, f)
                most = max(0, int(instance.job_use[j, f] - (usage[q, f] - quotas.allowed[q, f])))
                use = int(instance.job_use[j, f])
                return f"{job}: {queue} can give it no more than {most} of {flavor} (of {use}){by}"
    return None


def _why_no_limit(instance: Instance, j: int, leaving: IntArray, by: str, job: str) -> str | None:
    for h, remaining in enumerate(instance.limit_left.tolist()):
        use, most = int(instance.limit_job[h, j]), remaining + int(instance.limit_unit[h, leaving].sum())
        if use and use > most:
            limit = name_of("limit", instance.limit_names, h)
            return f"{job}: {limit} leaves it no more than {max(0, most)} (of {use}){by}"
    return None
