"""KAI Scheduler's actions in their order: allocate, consolidate, reclaim, preempt (`pkg/scheduler/actions`).

Allocate: the job starts if it fits. Consolidate: movable units leave their nodes one after another, the smallest first,
until the job fits and all of them find a node again, without evictions. Reclaim: units of other queues that use more
than their nominal quota (KAI's deserved share) are evicted, the lowest priority first, the youngest first, until the
job fits, while the job's own queue stays within its own. Preempt: the same for units of the job's queue. Victims on
nodes that the job does not use are spared. Disruption budgets are ignored, as in KAI.

Left out: over-quota weights and the fair share beyond the deserved one, reclaimMinRuntime and preemptMinRuntime (the
reader computes the possible victims), fractions of GPUs.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched_admission.heuristics._room import Room, until_it_fits
from mlsched_admission.instances import Instance, Plan

SOURCE = "KAI Scheduler, pkg/scheduler/actions"


@solver("kai", problem="admission", warm_start=True, paper=SOURCE)
def answer(instance: Instance, *, rng: np.random.Generator, consolidate: bool = True) -> Plan:
    """Allocate, consolidate, reclaim from other queues, preempt in the own queue."""
    room = Room(instance)
    for j in room.jobs_by_priority():
        if room.starts_as_it_is(j) or (consolidate and _consolidated(room, j)):
            continue
        queue = int(instance.job_queue[j])
        candidates = room.candidates(j)
        candidates.sort(key=lambda u: (int(instance.unit_priority[u]), int(instance.unit_age[u]), u))
        others = [u for u in candidates if int(instance.unit_queue[u]) != queue]
        _evict_until_fit(room, j, others, own=False) or _evict_until_fit(
            room, j, [u for u in candidates if u not in others], own=True
        )
    return room.plan()


def _evict_until_fit(room: Room, j: int, order: list[int], *, own: bool) -> bool:
    """Evict units in this order until the job fits."""
    evictable = [u for u in order if own or _over_deserved(room, u)]

    def fits(leaving: set[int]) -> bool:
        return room.keeps_quotas(j, leaving, borrowing=own) and room.places_of_job(j, leaving) is not None

    victims = until_it_fits(room, j, evictable, fits)
    if victims is None:
        return False
    needed = list(victims)
    for u in victims[:-1]:
        if fits(room.complete_gangs([v for v in needed if v != u])):
            needed.remove(u)
    leaving = room.complete_gangs(needed)
    places = room.places_of_job(j, leaving)
    return places is not None and room.start_job(j, places, leaving)


def _over_deserved(room: Room, u: int) -> bool:
    q = int(room.instance.unit_queue[u])
    if q < 0:
        return True
    usage = room.quotas.usage_of(room.quotas.changed_use(room.started, sorted(room.evicted)))
    uses = room.instance.unit_use[u] > 0
    return bool((usage[q, uses] > room.quotas.subtree[q, uses]).any())


def _consolidated(room: Room, j: int) -> bool:
    """Start the job by moving units, without evictions."""
    instance = room.instance
    if not room.keeps_quotas(j):
        return False
    there = {*room.evicted, *instance.moved(room.move)}
    movable = [u for u in np.flatnonzero(instance.unit_movable).tolist() if room.pods[u] and u not in there]
    movable.sort(key=lambda u: (int(instance.pod_demand[room.pods[u]].sum()), u))
    for count in range(1, len(movable) + 1):
        movers = movable[:count]
        places = room.places_of_job(j, movers)
        if places is None:
            continue
        free = room.free_after(movers)
        for k, counts in places.items():
            free = free - counts[:, None] * instance.shape_demand[k][None, :]
        moves = _consolidation_moves(room, [p for u in movers for p in room.pods[u]], free)
        if moves is not None:
            return room.start_job(j, places, (), moves)
    return False


def _consolidation_moves(room: Room, pods: list[int], free: IntArray) -> dict[int, int] | None:
    """Return a node for each pod, the largest first: its own if it still fits there, else the fullest with room."""
    instance, targets = room.instance, {}
    for p in sorted(pods, key=lambda p: (-int(instance.pod_demand[p].sum()), p)):
        able = ((free >= instance.pod_demand[p]) | (instance.pod_demand[p] == 0)).all(axis=1)
        if (node_set := int(instance.pod_set[p])) >= 0:
            able &= instance.node_sets[node_set] == 1
        if not able.any():
            return None
        own = int(instance.pod_node[p])
        nodes = np.flatnonzero(able)
        targets[p] = own if able[own] else int(nodes[np.argmin(free[nodes].sum(axis=1))])
        free[targets[p]] -= instance.pod_demand[p]
    return targets
