"""Preemption for a complete workload, as proposed in KEP-5710 of Kubernetes.

The cluster is one domain: all evictable units leave, and the job is placed. Then units come back while the job keeps
its places: first those whose eviction violates a disruption budget, then the most important: higher priority, gangs
before single units, longer running. The proposal itself declares that this is not optimal.

Left out: delayed preemption and nominations. Pods go to the fullest nodes with room, counted with all units
present: the proposal leaves the places to the scheduler.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_admission.heuristics._room import Places, Room
from mlsched_admission.heuristics.kube import _violating
from mlsched_admission.instances import Instance, Plan

SOURCE = "Kubernetes, KEP-5710"


@solver("kep-5710", problem="admission", warm_start=True, paper=SOURCE)
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place the job with all lower units gone, then reprieve budgets' pods and the most important ones."""
    room = Room(instance)
    for j in room.jobs_by_priority():
        if room.starts_as_it_is(j):
            continue
        able = _without_protected_gangs(room, room.candidates(j))
        places = room.places_of_job(j, able) if room.keeps_quotas(j, able) else None
        if places is not None:
            room.start_job(j, places, _reprieved(room, j, able, places))
    return room.plan()


def _without_protected_gangs(room: Room, units: list[int]) -> set[int]:
    """Return the units, less those whose eviction would take protected gang members."""
    able = set(units)
    for group in {int(room.instance.unit_group[u]) for u in units}:
        if not room.complete_gangs(able & set(room.gangs[group])) <= set(units):
            able -= set(room.gangs[group])
    return able


def _reprieved(room: Room, j: int, able: set[int], places: Places) -> set[int]:
    """Return the units of `able` that are still evicted after every unit that can stay has been reprieved."""
    instance = room.instance
    violating = _violating(instance, sorted(able))

    def importance(u: int) -> tuple[bool, int, bool, int, int]:
        alone = len(room.gangs[int(instance.unit_group[u])]) == 1
        return (u not in violating, -int(instance.unit_priority[u]), alone, -int(instance.unit_age[u]), u)

    needed = np.zeros_like(room.free)
    for k, counts in places.items():
        needed += counts[:, None] * instance.shape_demand[k][None, :]
    busy = np.asarray(needed.any(axis=1))
    leaving, spare = set(able), room.free_after(able) - needed
    for u in sorted(able, key=importance):
        leaving.discard(u)
        gang, pods = room.gangs[int(instance.unit_group[u])], room.pods[u]
        hosts, before = instance.pod_node[pods], spare[instance.pod_node[pods]]
        np.subtract.at(spare, hosts, instance.pod_demand[pods])
        fits = (
            bool((spare[hosts[busy[hosts]]] >= 0).all()) and room.complete_gangs(leaving.intersection(gang)) <= leaving
        )
        if not (fits and room.keeps_quotas(j, leaving)):
            leaving.add(u)
            spare[hosts] = before
    return leaving
