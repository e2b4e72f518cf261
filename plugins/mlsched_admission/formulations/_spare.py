"""Remove useless victims and moves from a plan: a solver may choose them if they are free in its objective."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.quotas import Quotas, within_limits

#: Number of evicted units above which the plan is kept: each one needs a check of all quotas.
MOST = 500


def without_needless_changes(instance: Instance, plan: Plan) -> Plan:
    """Return the plan without unnecessary moves and victims (lost gangs, and single units of others).

    Units of the highest priority with the largest loss are spared first. Objectives never get worse: a lost gang stays
    lost, is spared completely, or is left with one victim.
    """
    plan = _without_needless_moves(instance, plan)
    evicted = np.flatnonzero(plan.evict).tolist()
    if not evicted or len(evicted) > MOST:
        return plan
    room = _remaining_room(instance, plan)
    gangs: dict[int, list[int]] = defaultdict(list)
    for u in evicted:
        gangs[int(instance.unit_group[u])].append(u)
    sizes = np.bincount(instance.unit_group, minlength=len(instance.group_min))
    bundles = [part for g, us in gangs.items() for part in ([us] if len(us) == sizes[g] else [[u] for u in us])]
    bundles.sort(key=lambda us: (-max(int(instance.unit_priority[u]) for u in us), -int(instance.unit_lost[us].sum())))
    quotas = Quotas(instance)
    leaving = set(evicted)
    for bundle in bundles:
        for staying in _spared_choices(instance, bundle):
            back = _amounts_by_node(instance, staying)
            fits = all((room[n] >= amounts).all() for n, amounts in back.items() if n in room)
            if fits and _keeps_quotas(instance, quotas, plan, leaving - set(staying)):
                leaving -= set(staying)
                for n, amounts in back.items():
                    if n in room:
                        room[n] = room[n] - amounts
                break
    if len(leaving) == len(evicted):
        return plan
    fewer = plan.evict.copy()
    fewer[[u for u in evicted if u not in leaving]] = 0
    smaller = plan.replace(evict=fewer)
    # Fewer evictions can break the rule of order (9), which is not checked above; the solver's plan is then kept.
    return smaller if not instance.above_nominal or not instance.violations(smaller) else plan


def _spared_choices(instance: Instance, bundle: list[int]) -> list[list[int]]:
    """Return the spared units of a bundle to try: all; or all but one, if a gang may lose that."""
    if len(bundle) == 1:
        return [bundle]
    sizes = [max(1, int((instance.pod_unit == u).sum())) for u in bundle]
    spare = sum(sizes) - int(instance.group_min[instance.unit_group[bundle[0]]])
    return [bundle, *([u for u in bundle if u != v] for v, size in zip(bundle, sizes, strict=True) if size <= spare)]


def _without_needless_moves(instance: Instance, plan: Plan) -> Plan:
    """Return the plan without moves of units that can stay: the largest stay first."""
    moved_units = instance.moved(plan.move)
    if not moved_units or len(moved_units) > MOST:
        return plan
    room = _remaining_room(instance, plan)
    move = plan.move.copy()
    # A node may be as full as before if its arrivals leave again.
    for u in sorted(moved_units, key=lambda u: -int((instance.pod_unit == u).sum())):
        pods = np.flatnonzero(instance.pod_unit == u).tolist()
        new_room = dict(room)
        for p in pods:
            new_room[int(move[p])] = new_room[int(move[p])] + instance.pod_demand[p]
            here = int(instance.pod_node[p])
            if here in new_room:
                new_room[here] = new_room[here] - instance.pod_demand[p]
        if all((amounts >= 0).all() for amounts in new_room.values()):
            room = new_room
            move[pods] = -1
    return plan.replace(move=move)


def _amounts_by_node(instance: Instance, units: list[int]) -> dict[int, IntArray]:
    """Return node -> the amounts of these units there."""
    by_node: dict[int, IntArray] = {}
    for p in np.flatnonzero(np.isin(instance.pod_unit, units)).tolist():
        n = int(instance.pod_node[p])
        by_node[n] = by_node.get(n, 0) + instance.pod_demand[p]
    return by_node


def _remaining_room(instance: Instance, plan: Plan) -> dict[int, IntArray]:
    """Return the remaining amounts on each node with arrivals."""
    coming = plan.place.sum(axis=0) if plan.place.size else np.zeros(len(instance.node_free), dtype=np.int64)
    changed_nodes = {int(n) for n in np.flatnonzero(coming)} | {int(n) for n in plan.move if n >= 0}
    leaving = plan.evict.copy()
    leaving[instance.moved(plan.move)] = 1
    room = {n: instance.node_free[n] + instance.node_draining[n] for n in changed_nodes}
    for n in changed_nodes:
        if plan.place.size:
            room[n] = room[n] - plan.place[:, n] @ instance.shape_demand
        here = (instance.pod_node == n) & (leaving[instance.pod_unit] == 1)
        room[n] = room[n] + instance.pod_demand[here].sum(axis=0) - instance.pod_demand[plan.move == n].sum(axis=0)
    return room


def _keeps_quotas(instance: Instance, quotas: Quotas, plan: Plan, leaving: set[int]) -> bool:
    """Return whether limits, quotas and bans on borrowing are satisfied if only these units are evicted."""
    starting, evicted = np.flatnonzero(plan.start).tolist(), sorted(leaving)
    if not within_limits(instance, starting, evicted):
        return False
    if not instance.job_use.size:
        return True
    own = quotas.changed_use(starting, evicted)
    if not all(quotas.fitting_flavors(own, j).all() for j in starting):
        return False
    strict = [j for j in starting if (instance.may[j, evicted] == 2).any()]
    return not any(quotas.borrows(own, j) for j in strict)
