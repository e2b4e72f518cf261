"""The default preemptor of the Kubernetes scheduler (`pkg/scheduler/framework/plugins/defaultpreemption`).

Pods of a job are placed one after another, each on one node. If every node is full, all evictable units of each node
leave. If the pod then fits, they are put back one after another, each if the pod still fits: first those whose eviction
violates a disruption budget, then the most important (higher priority, longer running). The chosen node has the fewest
budget violations, then the lowest top priority of a victim, the smallest sum of (priority + 2^31), the fewest victims,
the latest start of a victim of the highest priority, the first position.

Left out: nominated nodes, and the node sample of a large cluster (all nodes are examined). Kubernetes also places pods
of a job that does not start completely: here it waits. Scheduling is only by free room: the fullest node that fits.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched_admission.heuristics._room import Room
from mlsched_admission.instances import Instance, Plan

SOURCE = "Kubernetes, defaultpreemption"


@solver("kube", problem="admission", warm_start=True, paper=SOURCE)
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Pod by pod: the node whose victims matter least, by budgets, priorities, number and age."""
    room = Room(instance)
    for j in room.jobs_by_priority():
        if not room.starts_as_it_is(j) and (solution := _place_pod_by_pod(room, j)) is not None:
            leaving, places = solution
            room.start_job(j, places, leaving)
    return room.plan()


def _place_pod_by_pod(room: Room, j: int) -> tuple[set[int], dict[int, IntArray]] | None:
    """Return victims and places of all pods, one after another."""
    instance, leaving = room.instance, set[int]()
    places: dict[int, IntArray] = {}
    arrivals = np.zeros_like(room.free)
    for k in np.flatnonzero(instance.shape_job == j).tolist():
        places[k] = np.zeros(len(room.free), dtype=np.int64)
        for _ in range(int(instance.shape_count[k])):
            able = _nodes_for_one_more(instance, k, places[k])
            free = room.free_after(leaving) - arrivals
            demand = instance.shape_demand[k]
            fits = np.flatnonzero(able & ((free >= demand) | (demand == 0)).all(axis=1))
            if fits.size:
                n = int(fits[np.argmin(free[fits].sum(axis=1))])
            else:
                choices = [
                    (c, n)
                    for n in np.flatnonzero(able).tolist()
                    if (c := _victims_on_node(room, j, k, n, leaving, arrivals)) is not None
                ]
                if not choices:
                    return None
                victims, n = min(choices, key=lambda choice: (_node_key(instance, choice[0]), choice[1]))
                leaving = room.complete_gangs(leaving | set(victims))
            places[k][n] += 1
            arrivals[n] += instance.shape_demand[k]
    return leaving, places


def _nodes_for_one_more(instance: Instance, k: int, placed: IntArray) -> IntArray:
    """Return nodes that may take one more pod of the shape, in the domain of the placed pods."""
    able = instance.shape_nodes[k] == 1
    if spread := int(instance.shape_spread[k]):
        able &= placed < spread
    if (level := int(instance.shape_level[k])) >= 0:
        domains = instance.node_domain[level]
        size = int(instance.shape_slice[k]) or int(instance.shape_count[k])
        able &= domains >= 0
        if int(placed.sum()) % size:  # a slice is begun in a domain
            counts = {d: int(placed[domains == d].sum()) for d in set(domains[placed > 0].tolist())}
            able &= np.isin(domains, [d for d, count in counts.items() if count % size])
    return np.asarray(able)


def _victims_on_node(room: Room, j: int, k: int, n: int, leaving: set[int], arrivals: IntArray) -> list[int] | None:
    """Return the pod's victims on a node; None if it never fits there."""
    instance, demand = room.instance, room.instance.shape_demand[k]
    there = {int(u) for u in instance.pod_unit[instance.pod_node == n]} - leaving
    able = [u for u in room.candidates(j) if u in there]

    def fits(out: set[int]) -> bool:
        everyone = room.complete_gangs(leaving | out)
        return bool((room.free_after(everyone)[n] - arrivals[n] >= demand).all()) and room.keeps_quotas(j, everyone)

    if not fits(set(able)):
        return None
    violating = _violating(instance, able)
    out = set(able)
    for u in sorted(
        able, key=lambda u: (u not in violating, -int(instance.unit_priority[u]), -int(instance.unit_age[u]), u)
    ):
        if fits(out - {u}):
            out.discard(u)
    return sorted(out)


def _violating(instance: Instance, units: list[int]) -> set[int]:
    """Return the units whose eviction violates a budget, in order of importance."""
    remaining, violators = instance.budget_left.copy(), set()
    for u in sorted(units, key=lambda u: (-int(instance.unit_priority[u]), -int(instance.unit_age[u]), u)):
        disturbed = instance.pod_budget[:, instance.pod_unit == u].sum(axis=1)
        remaining = remaining - disturbed
        if ((disturbed > 0) & (remaining < 0)).any():
            violators.add(u)
    return violators


def _node_key(instance: Instance, victims: list[int]) -> tuple[int, int, int, int, int]:
    """Return the sort key of nodes, the smallest first."""
    if not victims:
        return (0, -(2**62), 0, 0, 0)
    priorities = [int(instance.unit_priority[u]) for u in victims]
    highest = max(priorities)
    oldest = max(int(instance.unit_age[u]) for u, p in zip(victims, priorities, strict=True) if p == highest)
    return len(_violating(instance, victims)), highest, sum(p + 2**31 for p in priorities), len(victims), oldest
