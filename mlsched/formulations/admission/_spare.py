"""A plan without victims that nothing needs: a solver may evict units that cost nothing in its objective."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.admission import Instance, Plan
from mlsched.instances.admission.quotas import Quotas

#: Beyond so many evicted units nothing is spared: each takes a look at all quotas.
MOST = 500


def spared(instance: Instance, plan: Plan) -> Plan:
    """The plan, less victims (gangs that are lost, and single units of others) without which it is as feasible.

    Those of the highest priority that lose most are spared first. No objective gets worse: a gang that is lost stays
    lost or is spared whole.
    """
    evicted = np.flatnonzero(plan.evict).tolist()
    if not evicted or len(evicted) > MOST:
        return plan
    room = _room(instance, plan)
    gangs: dict[int, list[int]] = defaultdict(list)
    for u in evicted:
        gangs[int(instance.unit_group[u])].append(u)
    sizes = np.bincount(instance.unit_group, minlength=len(instance.group_min))
    bundles = [part for g, us in gangs.items() for part in ([us] if len(us) == sizes[g] else [[u] for u in us])]
    bundles.sort(key=lambda us: (-max(int(instance.unit_priority[u]) for u in us), -int(instance.unit_lost[us].sum())))
    quotas = Quotas(instance)
    gone = set(evicted)
    for bundle in bundles:
        back = _amounts(instance, bundle)
        if all((room[n] >= amounts).all() for n, amounts in back.items() if n in room) and _allowed(
            instance, quotas, plan, gone - set(bundle)
        ):
            gone -= set(bundle)
            for n, amounts in back.items():
                if n in room:
                    room[n] = room[n] - amounts
    if len(gone) == len(evicted):
        return plan
    kept = plan.evict.copy()
    kept[[u for u in evicted if u not in gone]] = 0
    found = plan.replace(evict=kept)
    # Evicting less can break a rule of order (9) that is not looked at above; then the solver's plan stands.
    return found if not instance.above_nominal or not instance.violations(found) else plan


def _amounts(instance: Instance, units: list[int]) -> dict[int, IntArray]:
    """Node -> what these units hold there."""
    held: dict[int, IntArray] = {}
    for p in np.flatnonzero(np.isin(instance.pod_unit, units)).tolist():
        n = int(instance.pod_node[p])
        held[n] = held.get(n, 0) + instance.pod_demand[p]
    return held


def _room(instance: Instance, plan: Plan) -> dict[int, IntArray]:
    """What is left on each node that something comes to."""
    coming = plan.place.sum(axis=0) if plan.place.size else np.zeros(len(instance.node_free), dtype=np.int64)
    touched = {int(n) for n in np.flatnonzero(coming)} | {int(n) for n in plan.move if n >= 0}
    moved = instance.pod_unit[plan.move >= 0]
    leaving = plan.evict.copy()
    leaving[moved] = 1
    room = {n: instance.node_free[n] + instance.node_draining[n] for n in touched}
    for n in touched:
        if plan.place.size:
            room[n] = room[n] - plan.place[:, n] @ instance.shape_demand
        here = (instance.pod_node == n) & (leaving[instance.pod_unit] == 1)
        room[n] = room[n] + instance.pod_demand[here].sum(axis=0) - instance.pod_demand[plan.move == n].sum(axis=0)
    return room


def _allowed(instance: Instance, quotas: Quotas, plan: Plan, gone: set[int]) -> bool:
    """Whether limits and quotas hold, and who must not borrow does not, where these units alone are evicted."""
    started, evicted = np.flatnonzero(plan.start).tolist(), sorted(gone)
    if len(instance.limit_left):
        use = instance.limit_job[:, started].sum(axis=1)
        given = instance.limit_unit[:, evicted].sum(axis=1)
        if ((use > 0) & (use > instance.limit_left + given)).any():
            return False
    if not instance.job_use.size:
        return True
    own = quotas.changed(started, evicted)
    if not all(quotas.fits(own, j).all() for j in started):
        return False
    strict = [j for j in started if (instance.may[j, evicted] == 2).any()]
    return not any(quotas.borrows(own, j) for j in strict)
