"""Reason why a job waits, in one line with its requests and the available amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlsched.core.brief import count_of
from mlsched_admission.instances import Instance
from mlsched_admission.instances.quotas import Quotas
from mlsched_admission.solvers._names import name_of, name_of_queue

#: Most named borrowing queues.
MOST_BORROWERS = 2


def why_it_waits(instance: Instance, jobs: Sequence[int]) -> str:
    """Return why the first of the jobs waits; empty if neither quotas, limits nor single nodes are short."""
    for j in jobs:
        if line := _quota_reason(instance, j) or _limit_reason(instance, j) or _nodes_reason(instance, j):
            return line
    return ""


def _quota_reason(instance: Instance, j: int) -> str:
    """Describe the first queue on the path that is short of quota, and the borrowers there."""
    queue = int(instance.job_queue[j])
    if queue < 0:
        return ""
    quotas = Quotas(instance)
    for q in quotas.path_to_root(queue):
        for f in np.flatnonzero(instance.job_use[j] > 0).tolist():
            asks, most, usage = int(instance.job_use[j, f]), int(quotas.allowed[q, f]), int(quotas.used[q, f])
            if usage + asks <= most or most >= 2**53:
                continue
            what, where = _flavor_in_words(instance, f), name_of_queue(instance, q)
            borrowers = _borrowers(instance, quotas, f)
            free = max(0, most - usage)
            return f"asks {asks} {what}; {where} has {free} of {most} free" + (f"; {borrowers}" if borrowers else "")
    return ""


def _flavor_in_words(instance: Instance, f: int) -> str:
    return instance.flavor_names[f] if instance.flavor_names else f"flavor {f}"


def _borrowers(instance: Instance, quotas: Quotas, f: int) -> str:
    """Return queues without children that use more than their quota, the largest first."""
    parents = set(quotas.parent)
    over = quotas.used[:, f] - quotas.subtree[:, f]
    able = [q for q in np.argsort(-over, kind="stable").tolist() if over[q] > 0 and q not in parents]
    names = [f"{name_of_queue(instance, q)} borrows {int(over[q])}" for q in able[:MOST_BORROWERS]]
    return ", ".join(names)


def _limit_reason(instance: Instance, j: int) -> str:
    for h, remaining in enumerate(instance.limit_left.tolist()):
        asks = int(instance.limit_job[h, j])
        if asks > max(0, remaining):
            return f"asks {asks}; {name_of('limit', instance.limit_names, h)} has {max(0, remaining)} left"
    return ""


def _nodes_reason(instance: Instance, j: int) -> str:
    """Describe the resource for which the fewest pods fit now."""
    for k in np.flatnonzero(instance.shape_job == j).tolist():
        demand, count = instance.shape_demand[k], int(instance.shape_count[k])
        able = instance.shape_nodes[k] == 1
        if not able.any():
            return f"asks {count_of(count, 'pod')}; no node is open to them"
        there = np.maximum(instance.node_free[able], 0)
        for r in np.flatnonzero(demand > 0).tolist():
            fits = int((there[:, r] // demand[r]).sum())
            if fits < count:
                resource, free = instance.resources[r], int(there[:, r].sum())
                has, pods = f"{_nodes_have(able)} {free} free", count_of(count, "pod")
                return f"asks {count} x {int(demand[r])} {resource}; {has}, room for {fits} of {pods}"
        fits = int((there[:, demand > 0] // demand[demand > 0]).min(axis=1).sum()) if (demand > 0).any() else count
        if fits < count:
            return f"asks {count_of(count, 'pod')}; {_nodes_have(able)} room for {fits} of them"
        if int(instance.shape_level[k]) >= 0:
            return f"asks {count_of(count, 'pod')} in one domain; the nodes have room for {fits}, but no domain for all"
    return ""


def _nodes_have(able: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """Return "1 node has" or "4 nodes have"."""
    return f"{count_of(int(able.sum()), 'node')} {'has' if able.sum() == 1 else 'have'}"
