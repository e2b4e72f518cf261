"""The integer program of admission, shared by the CP-SAT and the MIP formulation.

s[j]: job j starts, or the number of jobs like it that start (`alike_jobs`). x[u], m[u]: unit u is evicted, moved.
y[k,p]: pods of shape k in place p (equal nodes, see `_nodes.py`, or a pool, see `_pools.py`); t[p] <= the pods on each
of its nodes. w[i,p]: pods of kind i (equal pods of alike movable units) that move to place p.

    sum_p y[k,p] = count[k] s[job of k]                                                      (1)
    y[k,p] <= spread on one node; sum of y over a domain = slice * (number of slices there)  (2)
    sum of y[k,p] over a domain d = count[k] b[group of k, d];  sum_d b[g,d] = s[job of g]   (2)
    x[u] + m[u] <= 1;   sum_p w[i,p] = pods of i in a unit * sum of m over the units of i    (3)
    sum of w[i,p] over a domain d = pods of i in a unit * h[units of i, d];   sum h = sum m  (3)
    sum_k demand y + sum_i demand w <= room + sum_u released (x[u] + m[u])   in every place  (4)
    x[u] <= sum of s[j] over the jobs that may evict u                                       (5)
    sum over a gang of pods x[u] <= what it can spare + (the rest) z;  z <= x[u]             (6)
    sum_j use s[j] <= left + sum_u given back x[u]   in every limit                          (7)

and the rows of quotas (`_quotas.py`). Units are left out where nothing can gain by their leaving: they are in no place
to which something can come, and count in no quota or limit of a job. A row is left out where the ends of its
variables imply it. The units of a gang that needs all its pods share one x. A complete model has all units that
may leave, an x for each, and each node for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched_admission.formulations._nodes import (
    Place,
    alike_jobs,
    movable_kinds,
    places_of_nodes,
    released_by_node,
    rigid_bundles,
    units_sizes,
)
from mlsched_admission.formulations._pools import Pool, pools_of_nodes
from mlsched_admission.formulations._program import Program, Sum, sum_of_terms
from mlsched_admission.formulations._quotas import QuotaRows
from mlsched_admission.instances import Instance
from mlsched_admission.instances.quotas import Quotas


class Model:
    """The program of an instance: its variables and rows."""

    def __init__(self, instance: Instance, *, merge: bool = True, complete: bool = False) -> None:
        self.instance, self.program, self.complete = instance, Program(), complete
        merge = merge and not complete
        self.kinds = movable_kinds(instance, merge=merge)
        bundles = rigid_bundles(instance) if merge else np.arange(len(instance.unit_group))
        self.alike = alike_jobs(instance) if merge else {j: [j] for j in range(len(instance.job_priority))}
        self.shapes = self._shapes()
        self.released = released_by_node(instance)
        pooled = pools_of_nodes(instance, list(self.shapes), self.kinds, self.released) if merge else []
        apart = places_of_nodes(
            instance,
            self.kinds,
            self.released,
            bundles,
            shapes=self.shapes,
            pooled=[n for pool in pooled for n in pool.nodes],
            merge=merge,
        )
        self.places: list[Place | Pool] = [*pooled, *apart]
        variable = self.program.add_variable
        self.start = {j: variable("start", j, high=len(jobs)) for j, jobs in self.alike.items()}
        self.move = {int(u): variable("move", int(u)) for u in np.flatnonzero(instance.unit_movable == 1)}
        useful = self._useful()
        bundle_variables = {b: variable("evict", b) for b in dict.fromkeys(bundles[useful].tolist())}
        self.evict = {u: bundle_variables[int(bundles[u])] for u in useful}
        self.demands = [tuple(demand) for demand in instance.shape_demand.tolist()]
        self.put: dict[tuple[int, int], int] = {}
        self.each: dict[int, int] = {}
        self.shift: dict[tuple[int, int], int] = {}
        for p, place in enumerate(self.places):
            if isinstance(place, Pool):
                self._pool(p, place)
            else:
                self._place(p, place)
        self._counts()
        self._domains()
        self._groups()
        self._together()
        self._units()
        self._limits()

    def _shapes(self) -> dict[int, list[int]]:
        """Map each shape of the first job of a group to the equal shapes of all jobs of the group."""
        shapes: dict[int, list[int]] = defaultdict(list)
        for k, j in enumerate(self.instance.shape_job.tolist()):
            shapes[j].append(k)
        return {k: [shapes[m][i] for m in jobs] for j, jobs in self.alike.items() for i, k in enumerate(shapes[j])}

    def _pods(self, k: int) -> int:
        """Return the number of pods of a shape over all jobs of the group."""
        return int(self.instance.shape_count[k]) * len(self.shapes[k])

    def _pool(self, p: int, pool: Pool) -> None:
        """State rule 4 of a pool, a row for each size."""
        released = [
            (v, amount)
            for u, amount in pool.leaving.items()
            for v in (self.evict.get(u), self.move.get(u))
            if v is not None
        ]
        node = pool.nodes[0]
        coming: list[tuple[int, int]] = []
        for k in pool.shapes:
            size = int(self.instance.shape_demand[k, pool.resource])
            most = pool.room[pool.sizes.index(size)] + sum(pool.leaving.values()) // size
            self.put[k, p] = self.program.add_variable("put", k, node, high=min(self._pods(k), most))
            coming.append((size, self.put[k, p]))
        for i in pool.kinds:
            self.shift[i, p] = self.program.add_variable("shift", i, node, high=len(self.kinds[i].pods))
            coming.append((self.kinds[i].demand[pool.resource], self.shift[i, p]))
        for size, room in zip(pool.sizes, pool.room, strict=True):
            needed = [(t // size, v) for t, v in coming if t >= size]
            released_terms = [(-(amount // size), v) for v, amount in released]
            self.program.add_at_most(sum_of_terms([*needed, *released_terms]), room, "capacity", node, size)

    def _useful(self) -> list[int]:
        """Return the units that some job may evict, with a gang member whose leaving can help."""
        instance = self.instance
        able = np.asarray((instance.may > 0).any(axis=0))
        if self.complete:
            return np.flatnonzero(able).tolist()
        gain = np.zeros(len(able), dtype=bool)
        gain[[u for place in self.places for u in place.leaving]] = True
        flavors = (instance.job_use > 0).any(axis=0)
        gain |= (instance.unit_use[:, flavors] > 0).any(axis=1)
        limits = (instance.limit_job > 0).any(axis=1)
        gain |= (instance.limit_unit[limits] > 0).any(axis=0)
        gangs = np.unique(instance.unit_group[gain & able])
        return np.flatnonzero(able & np.isin(instance.unit_group, gangs)).tolist()

    def _place(self, p: int, place: Place) -> None:
        """State rules 2 (on one node) and 4."""
        instance, count = self.instance, len(place.nodes)
        most = [sum(amounts) for amounts in zip(place.room, *place.leaving.values(), strict=True)]
        terms: dict[int, tuple[int, ...]] = {}
        for k in place.shapes:
            demand, pods = self.demands[k], self._pods(k)
            fit = min([pods, *(have // need for have, need in zip(most, demand, strict=True) if need > 0)])
            fit = min(fit, int(instance.shape_spread[k]) or fit)
            here = self.put[k, p] = self.program.add_variable("put", k, place.nodes[0], high=min(count * fit, pods))
            if count > 1:
                here = self.each[p] = self.program.add_variable("each", k, place.nodes[0], high=fit)
                self.program.add_at_most(Sum({self.put[k, p]: 1, here: -count}), 0, "spread", k, place.nodes[0])
            terms[here] = demand
        for i in place.kinds:
            self.shift[i, p] = self.program.add_variable("shift", i, place.nodes[0], high=len(self.kinds[i].pods))
            terms[self.shift[i, p]] = self.kinds[i].demand
        leaving = [
            (v, amounts)
            for u, amounts in place.leaving.items()
            for v in (self.evict.get(u), self.move.get(u))
            if v is not None
        ]
        for r, room in enumerate(place.room):
            asking = [(demand[r], v) for v, demand in terms.items() if demand[r]]
            row = sum_of_terms([*asking, *((-amounts[r], v) for v, amounts in leaving)])
            if asking and room >= 0:
                self.program.add_at_most(row, room, "capacity", place.nodes[0], r)
            elif asking:  # over-committed: the row applies if an arriving pod requests the resource
                comes = self.program.add_variable("comes", place.nodes[0], r)
                for n, (_, v) in enumerate(asking):
                    upper = self.program.high[v]
                    self.program.add_at_most(Sum({v: 1, comes: -upper}), 0, "comes_any", place.nodes[0], r, n)
                self.program.add_conditional(comes, row, room, "capacity", place.nodes[0], r)

    def _counts(self) -> None:
        """State rules 1 and 3."""
        by_shape, by_kind = _by_member(self.put), _by_member(self.shift)
        for k in self.shapes:
            starts = self.start[int(self.instance.shape_job[k])]
            row = sum_of_terms([*((1, v) for _, v in by_shape[k]), (-int(self.instance.shape_count[k]), starts)])
            self.program.add_equal(row, 0, "pods", k)
        for i, kind in enumerate(self.kinds):
            moved_pods = ((-kind.pods_per_unit, self.move[u]) for u in kind.units)
            row = sum_of_terms([*((1, v) for _, v in by_kind[i]), *moved_pods])
            self.program.add_equal(row, 0, "moved", i)
        kind_units = {u for kind in self.kinds for u in kind.units}
        for u, v in self.move.items():
            if u in self.evict:
                self.program.add_at_most(Sum({self.evict[u]: 1, v: 1}), 1, "leaves_once", u)
            if u not in kind_units:  # a unit without pods is not on any node, and cannot move
                self.program.add_at_most(Sum({v: 1}), 0, "unmovable", u)

    def _domains(self) -> None:
        """State rule 2: complete slices in each domain."""
        instance = self.instance
        by_shape = _by_member(self.put)
        for k in self.shapes:
            if (level := int(instance.shape_level[k])) < 0:
                continue
            count = int(instance.shape_count[k])
            size = int(instance.shape_slice[k]) or count
            inside: dict[int, list[int]] = defaultdict(list)
            for p, v in by_shape[k]:
                inside[int(instance.node_domain[level, self.places[p].nodes[0]])].append(v)
            for domain, variables in inside.items():
                slices = self.program.add_variable("slices", k, domain, high=self._pods(k) // size)
                self.program.add_equal(
                    sum_of_terms([*((1, v) for v in variables), (-size, slices)]), 0, "domain", k, domain
                )

    def _groups(self) -> None:
        """State rule 2: the shapes of a group share a domain."""
        instance, by_shape = self.instance, _by_member(self.put)
        for group, level in enumerate(instance.shape_group_level.tolist()):
            shapes = np.flatnonzero(instance.shape_group == group).tolist()
            if shapes:
                members = {k: by_shape[k] for k in shapes}
                sizes = {k: int(instance.shape_count[k]) for k in shapes}
                starts = self.start[int(instance.shape_job[shapes[0]])]
                self._one_domain("group", group, level, [starts], members, sizes)

    def _together(self) -> None:
        """State rule 3: the pods of a moved unit share a domain of its level."""
        shift = _by_member(self.shift)
        alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, kind in enumerate(self.kinds):
            alike[kind.units].append(i)
        for units, kinds in alike.items():
            if (level := int(self.instance.unit_level[units[0]])) >= 0:
                sizes = {i: self.kinds[i].pods_per_unit for i in kinds}
                moves = [self.move[u] for u in units]
                self._one_domain("unit", units[0], level, moves, {i: shift[i] for i in sizes}, sizes)

    def _one_domain(
        self,
        group: str,
        number: int,
        level: int,
        active: Sequence[int],
        members: Mapping[int, Sequence[tuple[int, int]]],
        sizes: Mapping[int, int],
    ) -> None:
        """Add rows that put all pods of `members` in one domain, as often as variables of `active` are 1.

        members: (place, variable) pairs by member. sizes: pods of each member.
        """
        inside: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for member, variables in members.items():
            for p, v in variables:
                inside[int(self.instance.node_domain[level, self.places[p].nodes[0]])][member].append(v)
        most = len(active)
        in_domain_counts = {
            d: self.program.add_variable(f"{group}_domain", number, d, high=most) for d in sorted(inside) if d >= 0
        }
        row = sum_of_terms([*((1, c) for c in in_domain_counts.values()), *((-1, v) for v in active)])
        self.program.add_equal(row, 0, f"{group}_has_domain", number)
        for domain, there in sorted(inside.items()):
            for member, size in sizes.items():
                in_domain = [(-size, in_domain_counts[domain])] if domain in in_domain_counts else []
                row = sum_of_terms([*((1, v) for v in there[member]), *in_domain])
                self.program.add_equal(row, 0, f"{group}_in_domain", number, domain, member)

    def _units(self) -> None:
        """State rules 5, 6, 8 and 9, and the variables of lost gangs."""
        instance, quotas = self.instance, Quotas(self.instance)
        rows = QuotaRows(self.program, instance, quotas, self.start, self.evict)
        rows.state_limits()
        unborrowed = {j: rows.without_borrowing(j) for j in self.start if (instance.may[j] == 2).any()}
        may = instance.may.T.tolist()
        for u, x in {(x, *may[u]): (u, x) for u, x in self.evict.items()}.values():
            by = [start for j, start in self.start.items() if may[u][j] == 1]
            by += [unborrowed[j] for j in self.start if may[u][j] == 2]
            self.program.add_at_most(sum_of_terms([(1, x), *((-1, v) for v in by)]), 0, "evicted_for", u)
        if instance.above_nominal and self.evict:
            rows.order_of_eviction()
        sizes, groups = units_sizes(instance), instance.unit_group.tolist()
        evictable_gangs = {groups[u] for u in self.evict}
        members: dict[int, list[int]] = defaultdict(list)
        for u, group in enumerate(groups):
            if group in evictable_gangs:
                members[group].append(u)
        self.lost: dict[int, tuple[int, list[int]]] = {}
        for group, units in members.items():
            leaving = sum_of_terms((sizes[u], self.evict[u]) for u in units if u in self.evict)
            spare = max(0, sum(sizes[u] for u in units) - int(instance.group_min[group]))
            whole = all(u in self.evict for u in units)
            if not leaving.terms or (whole and len(leaving.terms) == 1):
                continue
            if whole:
                z = self.program.add_variable("lost", group)
                self.lost[group] = z, units
                leaving = leaving.plus_multiple(Sum({z: -(sum(sizes[u] for u in units) - spare)}))
                for u in units:
                    self.program.add_at_most(Sum({z: 1, self.evict[u]: -1}), 0, "lost_unit", u)
            self.program.add_at_most(leaving, spare, "gang", group)

    def _limits(self) -> None:
        """State rule 7. If a limit is exceeded already, its row applies only to the jobs that use it."""
        instance = self.instance
        for h, remaining in enumerate(instance.limit_left.tolist()):
            users = [j for j in self.start if instance.limit_job[h, j]]
            terms = [(int(instance.limit_job[h, j]), self.start[j]) for j in users]
            terms += [(-int(instance.limit_unit[h, u]), x) for u, x in self.evict.items()]
            if remaining >= 0:
                self.program.add_at_most(sum_of_terms(terms), remaining, "limit", h)
            else:
                for j in users:
                    starts = self.program.add_indicator(self.start[j])
                    self.program.add_conditional(starts, sum_of_terms(terms), remaining, "limit", h, j)

    def arriving_pods(self, p: int, place: Place | Pool) -> list[int]:
        """Return the variables of the arriving pods of a place: of its shapes, then of its kinds."""
        return [*(self.put[k, p] for k in place.shapes), *(self.shift[i, p] for i in place.kinds)]


def _by_member(variables: Mapping[tuple[int, int], int]) -> dict[int, list[tuple[int, int]]]:
    """Return (place, variable) pairs by shape or kind. variables: by (shape or kind, place)."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (member, p), v in variables.items():
        pairs[member].append((p, v))
    return pairs
