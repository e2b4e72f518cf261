"""Slurm's choice of victims (`select/cons_tres`, slurm.conf(5): PreemptParameters).

Candidates are ordered by priority (the reader gives the partition's tier or the QOS' priority), then by their number of
nodes, fewest first; with `youngest_first` by their start, the latest first. They are removed one after another until
the job fits. Then the order is changed and the removal repeated, `reorder_count` times. With `strict_order` the last
removed one comes first, else the units on most of the chosen nodes. Victims are the removed units whose nodes the job
uses.

Left out: suspension and gang time slicing (a victim is cancelled or requeued, and frees everything), licences except as
limits, the weights of nodes: the first nodes that fit are taken.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched_admission.heuristics._room import Places, Room, until_it_fits
from mlsched_admission.instances import Instance, Plan

SOURCE = "Slurm, select/cons_tres"


@solver("slurm", problem="admission", warm_start=True, paper=SOURCE)
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    reorder_count: Annotated[int, Range(0, 10000)] = 1,
    strict_order: bool = False,
    youngest_first: bool = False,
) -> Plan:
    """Remove candidates in order until the job fits; change the order and try again."""
    room = Room(instance, "first")
    for j in room.jobs_by_priority():
        if room.starts_as_it_is(j):
            continue
        order = room.candidates(j)
        nodes = {u: len({int(instance.pod_node[p]) for p in room.pods[u]}) for u in order}
        order.sort(key=lambda u: (int(instance.unit_priority[u]), nodes[u], u))
        if youngest_first:
            order.sort(key=lambda u: int(instance.unit_age[u]))
        solution = _attempts_in_orders(room, j, order, reorder_count, strict_order)
        if solution is not None:
            leaving, places = solution
            room.start_job(j, places, leaving)
    return room.plan()


def _attempts_in_orders(
    room: Room, j: int, order: list[int], reorders: int, strict: bool
) -> tuple[set[int], Places] | None:
    """Return victims and places by the last of the orders."""

    def fits(leaving: set[int]) -> bool:
        return room.keeps_quotas(j, leaving) and room.places_of_job(j, leaving) is not None

    solution = None
    for attempt in range(reorders + 1):
        victims = until_it_fits(room, j, order, fits)
        if victims is None:
            break
        places = room.places_of_job(j, room.complete_gangs(victims))
        assert places is not None
        solution = _on_chosen_nodes(room, j, victims, places), places
        if attempt < reorders:
            before = list(order)
            order = [victims[-1], *(u for u in order if u != victims[-1])]
            if not strict:
                common_nodes = {u: _common_node_count(room, u, places) for u in order}
                order.sort(key=lambda u, common_nodes=common_nodes: -common_nodes[u])  # type: ignore[misc]
            if order == before:
                break
    return solution


def _common_node_count(room: Room, u: int, places: Places) -> int:
    """Return the number of a unit's nodes that the job would use."""
    occupied = np.zeros(len(room.free), dtype=bool)
    for counts in places.values():
        occupied |= counts > 0
    return len({int(n) for n in room.instance.pod_node[room.pods[u]] if occupied[n]})


def _on_chosen_nodes(room: Room, j: int, victims: list[int], places: Places) -> set[int]:
    """Return the victims on the nodes of job `j`, with their gangs; all victims if quotas or limits need the others."""
    here = room.complete_gangs([u for u in victims if _common_node_count(room, u, places)])
    return here if room.keeps_quotas(j, here) else room.complete_gangs(victims)
