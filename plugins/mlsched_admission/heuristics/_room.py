"""Common helpers: room on the nodes, places for a job, complete gangs, and a plan that grows job by job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.quotas import Quotas, within_limits

#: Shape -> number of its pods on each node.
Places = dict[int, IntArray]
Fill = Literal["first", "fullest"]
#: Nodes -> whether pods may be placed there.
Nodes = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Room:
    """A growing plan. Queries do not change it; `start` adds a job, its victims and its moves."""

    def __init__(self, instance: Instance, fill: Fill = "fullest") -> None:
        self.instance, self.fill, self.quotas = instance, fill, Quotas(instance)
        self.free = instance.node_free + instance.node_draining
        self.started: list[int] = []
        self.evicted: set[int] = set()
        self.place = np.zeros(instance.shape_nodes.shape, dtype=np.int64)
        self.move = np.full(len(instance.pod_node), -1, dtype=np.int64)
        self.pods: dict[int, list[int]] = defaultdict(list)
        for p, u in enumerate(instance.pod_unit.tolist()):
            self.pods[u].append(p)
        self.gangs: dict[int, list[int]] = defaultdict(list)
        for u, group in enumerate(instance.unit_group.tolist()):
            self.gangs[group].append(u)

    def jobs_by_priority(self) -> list[int]:
        """Return the waiting jobs by priority, then in the order of the list."""
        return sorted(range(len(self.instance.job_priority)), key=lambda j: -int(self.instance.job_priority[j]))

    def candidates(self, j: int) -> list[int]:
        """Return the remaining units that job `j` may evict."""
        leaving = {*self.evicted, *self.instance.moved(self.move)}
        able = np.flatnonzero(self.instance.may[j] > 0).tolist()
        return [u for u in able if u not in leaving]

    def complete_gangs(self, units: Iterable[int]) -> set[int]:
        """Return these units, and all others of gangs that would fall below their minimum."""
        out = set(units)
        away = out | self.evicted
        for group in {int(self.instance.unit_group[u]) for u in out}:
            members = self.gangs[group]
            staying = sum(max(1, len(self.pods[u])) for u in members if u not in away)
            if staying < int(self.instance.group_min[group]):
                out |= {u for u in members if u not in self.evicted}
        return out

    def free_after(self, leaving: Collection[int]) -> IntArray:
        """Return the free amounts of each node if these units leave too."""
        free = self.free.copy()
        pods = [p for u in leaving for p in self.pods[u]]
        np.add.at(free, self.instance.pod_node[pods], self.instance.pod_demand[pods])
        return free

    def places_of_job(self, j: int, leaving: Collection[int] = ()) -> Places | None:
        """Return nodes for all pods of a job if these units leave, shape by shape; None if a pod does not fit."""
        free, all_places = self.free_after(leaving), Places()
        groups: dict[int, list[int]] = defaultdict(list)
        for k in np.flatnonzero(self.instance.shape_job == j).tolist():
            group = int(self.instance.shape_group[k])
            groups[group if group >= 0 else -1 - k].append(k)
        for group, shapes in groups.items():
            places = self._place_shapes(shapes, free) if group < 0 else self._place_in_domain(group, shapes, free)
            if places is None:
                return None
            all_places |= places
            for k, counts in places.items():
                free -= counts[:, None] * self.instance.shape_demand[k][None, :]
        return all_places

    def _place_in_domain(self, group: int, shapes: list[int], free: IntArray) -> Places | None:
        """Return places of a group's shapes in its first domain with room for all, by the order of `fill`."""
        domains = self.instance.node_domain[int(self.instance.shape_group_level[group])]
        inside = {d: int(free[domains == d].sum()) for d in sorted(set(domains.tolist()) - {-1})}
        order = sorted(inside, key=lambda d: inside[d]) if self.fill == "fullest" else list(inside)
        placed = (self._place_shapes(shapes, free, domains == d) for d in order)
        return next((places for places in placed if places is not None), None)

    def _place_shapes(self, shapes: list[int], free: IntArray, open_nodes: Nodes | None = None) -> Places | None:
        """Return places of the shapes, one after the other, on the allowed nodes. None: a shape does not fit."""
        free, places = free.copy(), Places()
        for k in shapes:
            counts = self._place_shape(k, free, open_nodes)
            if counts is None:
                return None
            places[k] = counts
            free -= counts[:, None] * self.instance.shape_demand[k][None, :]
        return places

    def _place_shape(self, k: int, free: IntArray, open_nodes: Nodes | None) -> IntArray | None:
        instance, count = self.instance, int(self.instance.shape_count[k])
        demand, spread = instance.shape_demand[k], int(instance.shape_spread[k])
        asks = demand > 0
        fits = (free[:, asks] // demand[asks]).min(axis=1) if asks.any() else np.full(len(free), count)
        fits = np.clip(fits, 0, spread or count) * instance.shape_nodes[k] * (1 if open_nodes is None else open_nodes)
        level, size = int(instance.shape_level[k]), int(instance.shape_slice[k]) or count
        if level < 0:
            return self._fill_nodes(fits, count, free)
        domains = instance.node_domain[level]
        pod_counts, missing = np.zeros(len(fits), dtype=np.int64), count
        slices = np.bincount(domains[domains >= 0], weights=fits[domains >= 0]).astype(np.int64) // size
        inside = {d: count for d, count in enumerate(slices.tolist()) if count}
        order = sorted(inside, key=lambda d: inside[d]) if self.fill == "fullest" else list(inside)
        if self.fill == "fullest" and (enough := [d for d in order if inside[d] * size >= missing]):
            order = enough
        for d in order:
            if not missing:
                break
            take = min(inside[d] * size, missing)
            part = self._fill_nodes(np.where(domains == d, fits, 0), take, free)
            assert part is not None
            pod_counts, missing = pod_counts + part, missing - take
        return pod_counts if missing == 0 else None

    def _fill_nodes(self, fits: IntArray, count: int, free: IntArray) -> IntArray | None:
        """Return `count` pods on nodes with these capacities: in order, or the nodes with least room first."""
        if int(fits.sum()) < count:
            return None
        counts = np.zeros(len(fits), dtype=np.int64)
        order = np.arange(len(fits)) if self.fill == "first" else np.argsort(free.sum(axis=1), kind="stable")
        for n in order[fits[order] > 0].tolist():
            counts[n] = min(int(fits[n]), count)
            count -= int(counts[n])
            if not count:
                break
        return counts

    def keeps_quotas(self, j: int, leaving: Collection[int] = (), *, borrowing: bool = True) -> bool:
        """Return whether quotas and limits let job `j` start if these units leave; with `borrowing` or not."""
        instance = self.instance
        starting, evicted = [*self.started, j], sorted(self.evicted | set(leaving))
        if not within_limits(instance, starting, evicted):
            return False
        if int(instance.job_queue[j]) < 0:
            return True
        own = self.quotas.changed_use(starting, evicted)
        return bool(self.quotas.fitting_flavors(own, j).all()) and (borrowing or not self.quotas.borrows(own, j))

    def start_job(
        self, j: int, places: Places, leaving: Collection[int] = (), moves: dict[int, int] | None = None
    ) -> bool:
        """Start the job there, evict these units, and move pods; return False, unchanged, if a rule forbids it."""
        place, move = self.place.copy(), self.move.copy()
        for k, counts in places.items():
            place[k] = counts
        for p, n in (moves or {}).items():
            move[p] = n
        if self.instance.violations(self._plan_of([*self.started, j], self.evicted | set(leaving), place, move)):
            return False
        for p, n in (moves or {}).items():
            self.free[int(self.instance.pod_node[p])] += self.instance.pod_demand[p]
            self.free[n] -= self.instance.pod_demand[p]
        self.free, self.evicted, self.move = self.free_after(leaving), self.evicted | set(leaving), move
        self._record_start(j, places)
        return True

    def _record_start(self, j: int, places: Places) -> None:
        for k, counts in places.items():
            self.place[k] = counts
            self.free -= counts[:, None] * self.instance.shape_demand[k][None, :]
        self.started.append(j)

    def _plan_of(self, starting: list[int], evicted: set[int], place: IntArray, move: IntArray) -> Plan:
        start = np.zeros(len(self.instance.job_priority), dtype=np.int64)
        start[starting] = 1
        evict = np.zeros(len(self.instance.unit_group), dtype=np.int64)
        evict[sorted(evicted)] = 1
        return Plan(start=start, place=place, evict=evict, move=move)

    def plan(self) -> Plan:
        """Return the plan of all starts, evictions and moves."""
        return self._plan_of(self.started, self.evicted, self.place, self.move)

    def starts_as_it_is(self, j: int) -> bool:
        """Start the job without evicting anybody, if it fits.

        Places within quotas and limits obey all rules, unless an earlier eviction forbids queues to borrow (rule 5).
        """
        places = self.places_of_job(j) if self.keeps_quotas(j) else None
        if places is None or (self.evicted and (self.instance.may == 2).any()):
            return places is not None and self.start_job(j, places)
        self._record_start(j, places)
        return True


def until_it_fits(room: Room, j: int, order: list[int], fits: Callable[[set[int]], bool]) -> list[int] | None:
    """Return units of `order`, one more at a time, until the job fits; None if all of them do not suffice."""
    victims: list[int] = []
    leaving: set[int] = set()
    for u in order:
        if u in leaving:
            continue
        victims.append(u)
        leaving |= room.complete_gangs({u, *leaving.intersection(room.gangs[int(room.instance.unit_group[u])])})
        if fits(set(leaving)):
            return victims
    return None
