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
variables imply it. The units of a gang that can spare no pod share one x. A complete model has all units that
may leave, an x for each, and each node for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Formulation, Term
from mlsched_admission.formulations._nodes import (
    Kind,
    Place,
    alike_jobs,
    movable_kinds,
    places,
    released_by_node,
    rigid_bundles,
    units_sizes,
)
from mlsched_admission.formulations._pools import Pool, pools, spread_over
from mlsched_admission.formulations._program import Program, Sum, total
from mlsched_admission.formulations._quotas import QuotaRows
from mlsched_admission.formulations._spare import spared
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.quotas import Quotas


class Model:
    """The program of an instance, its objectives as sums, and plans as values of its variables."""

    def __init__(self, instance: Instance, *, merge: bool = True, complete: bool = False) -> None:
        self.instance, self.program, self.complete = instance, Program(), complete
        merge = merge and not complete
        self.kinds = movable_kinds(instance, merge=merge)
        bundles = rigid_bundles(instance) if merge else np.arange(len(instance.unit_group))
        self.alike = alike_jobs(instance) if merge else {j: [j] for j in range(len(instance.job_priority))}
        self.shapes = self._shapes()
        self.released = released_by_node(instance)
        pooled = pools(instance, list(self.shapes), self.kinds, self.released) if merge else []
        apart = places(
            instance,
            self.kinds,
            self.released,
            bundles,
            shapes=self.shapes,
            pooled=[n for pool in pooled for n in pool.nodes],
            merge=merge,
        )
        self.places: list[Place | Pool] = [*pooled, *apart]
        variable = self.program.variable
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
            self.put[k, p] = self.program.variable("put", k, node, high=min(self._pods(k), most))
            coming.append((size, self.put[k, p]))
        for i in pool.kinds:
            self.shift[i, p] = self.program.variable("shift", i, node, high=len(self.kinds[i].pods))
            coming.append((self.kinds[i].demand[pool.resource], self.shift[i, p]))
        for size, room in zip(pool.sizes, pool.room, strict=True):
            needed = [(t // size, v) for t, v in coming if t >= size]
            released_terms = [(-(amount // size), v) for v, amount in released]
            self.program.at_most(total([*needed, *released_terms]), room, "capacity", node, size)

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
            here = self.put[k, p] = self.program.variable("put", k, place.nodes[0], high=min(count * fit, pods))
            if count > 1:
                here = self.each[p] = self.program.variable("each", k, place.nodes[0], high=fit)
                self.program.at_most(Sum({self.put[k, p]: 1, here: -count}), 0, "spread", k, place.nodes[0])
            terms[here] = demand
        for i in place.kinds:
            self.shift[i, p] = self.program.variable("shift", i, place.nodes[0], high=len(self.kinds[i].pods))
            terms[self.shift[i, p]] = self.kinds[i].demand
        leaving = [
            (v, amounts)
            for u, amounts in place.leaving.items()
            for v in (self.evict.get(u), self.move.get(u))
            if v is not None
        ]
        for r, room in enumerate(place.room):
            asking = [(demand[r], v) for v, demand in terms.items() if demand[r]]
            row = total([*asking, *((-amounts[r], v) for v, amounts in leaving)])
            if asking and room >= 0:
                self.program.at_most(row, room, "capacity", place.nodes[0], r)
            elif asking:  # over-committed: the row holds if an arriving pod requests the resource
                comes = self.program.variable("comes", place.nodes[0], r)
                for n, (_, v) in enumerate(asking):
                    upper = self.program.high[v]
                    self.program.at_most(Sum({v: 1, comes: -upper}), 0, "comes_any", place.nodes[0], r, n)
                self.program.where(comes, row, room, "capacity", place.nodes[0], r)

    def _counts(self) -> None:
        """State rules 1 and 3."""
        by_shape, by_kind = _by_member(self.put), _by_member(self.shift)
        for k in self.shapes:
            starts = self.start[int(self.instance.shape_job[k])]
            row = total([*((1, v) for _, v in by_shape[k]), (-int(self.instance.shape_count[k]), starts)])
            self.program.equal(row, 0, "pods", k)
        for i, kind in enumerate(self.kinds):
            moved_pods = ((-kind.pods_per_unit, self.move[u]) for u in kind.units)
            row = total([*((1, v) for _, v in by_kind[i]), *moved_pods])
            self.program.equal(row, 0, "moved", i)
        kind_units = {u for kind in self.kinds for u in kind.units}
        for u, v in self.move.items():
            if u in self.evict:
                self.program.at_most(Sum({self.evict[u]: 1, v: 1}), 1, "leaves_once", u)
            if u not in kind_units:  # a unit without pods is not on any node, and cannot move
                self.program.at_most(Sum({v: 1}), 0, "unmovable", u)

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
                slices = self.program.variable("slices", k, domain, high=self._pods(k) // size)
                self.program.equal(total([*((1, v) for v in variables), (-size, slices)]), 0, "domain", k, domain)

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
            d: self.program.variable(f"{group}_domain", number, d, high=most) for d in sorted(inside) if d >= 0
        }
        row = total([*((1, c) for c in in_domain_counts.values()), *((-1, v) for v in active)])
        self.program.equal(row, 0, f"{group}_has_domain", number)
        for domain, there in sorted(inside.items()):
            for member, size in sizes.items():
                in_domain = [(-size, in_domain_counts[domain])] if domain in in_domain_counts else []
                row = total([*((1, v) for v in there[member]), *in_domain])
                self.program.equal(row, 0, f"{group}_in_domain", number, domain, member)

    def _units(self) -> None:
        """State rules 5, 6, 8 and 9, and the variables of lost gangs."""
        instance, quotas = self.instance, Quotas(self.instance)
        rows = QuotaRows(self.program, instance, quotas, self.start, self.evict)
        rows.limits()
        unborrowed = {j: rows.without_borrowing(j) for j in self.start if (instance.may[j] == 2).any()}
        may = instance.may.T.tolist()
        for u, x in {(x, *may[u]): (u, x) for u, x in self.evict.items()}.values():
            by = [start for j, start in self.start.items() if may[u][j] == 1]
            by += [unborrowed[j] for j in self.start if may[u][j] == 2]
            self.program.at_most(total([(1, x), *((-1, v) for v in by)]), 0, "evicted_for", u)
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
            leaving = total((sizes[u], self.evict[u]) for u in units if u in self.evict)
            spare = max(0, sum(sizes[u] for u in units) - int(instance.group_min[group]))
            whole = all(u in self.evict for u in units)
            if not leaving.terms or (whole and len(leaving.terms) == 1):
                continue
            if whole:
                z = self.program.variable("lost", group)
                self.lost[group] = z, units
                leaving = leaving.plus(Sum({z: -(sum(sizes[u] for u in units) - spare)}))
                for u in units:
                    self.program.at_most(Sum({z: 1, self.evict[u]: -1}), 0, "lost_unit", u)
            self.program.at_most(leaving, spare, "gang", group)

    def _limits(self) -> None:
        """State rule 7. If a limit is exceeded already, its row applies only to the jobs that use it."""
        instance = self.instance
        for h, remaining in enumerate(instance.limit_left.tolist()):
            users = [j for j in self.start if instance.limit_job[h, j]]
            terms = [(int(instance.limit_job[h, j]), self.start[j]) for j in users]
            terms += [(-int(instance.limit_unit[h, u]), x) for u, x in self.evict.items()]
            if remaining >= 0:
                self.program.at_most(total(terms), remaining, "limit", h)
            else:
                for j in users:
                    starts = self.program.indicator(self.start[j])
                    self.program.where(starts, total(terms), remaining, "limit", h, j)

    # --- objectives ----------------------------------------------------------------------------------------------

    def waiting(self) -> Sum:
        """Return the waiting rank."""
        weights = self.instance.waiting_weight.tolist()
        return total([(-weights[j], s) for j, s in self.start.items()], sum(weights))

    def base(self, objective: str) -> Sum:
        """Return the base value of an objective."""
        return OBJECTIVES[objective](self)

    def sums(self, objectives: Sequence[str]) -> dict[str, tuple[Sum, Sum]]:
        """Return the waiting rank and the base value of each objective; this may add variables."""
        waiting = self.waiting()
        return {name: (waiting, self.base(name)) for name in objectives}

    def formulation(
        self,
        model: Any,
        variables: Sequence[Any],
        sums: Mapping[str, tuple[Sum, Sum]],
        expressed: Callable[[Sum], Any],
        parameters: Mapping[str, Any] | None = None,
    ) -> Formulation:
        """Return the formulation for a backend. variables: the program's. expressed: writes a sum of them."""

        def decode(value_of: Callable[[Any], int]) -> Plan:
            return self.decode(lambda v: int(value_of(variables[v])))

        def encode(plan: Plan) -> list[tuple[Any, int]]:
            return [(variables[v], value) for v, value in self.encode(plan)]

        terms = {
            name: (Term(self.instance.primary(name).weight, expressed(waiting)), Term(1, expressed(base)))
            for name, (waiting, base) in sums.items()
        }
        return Formulation(model, terms, decode, encode, parameters=parameters or {})

    def victims(self) -> Sum:
        return total((1, x) for x in self.evict.values())

    def work_lost(self) -> Sum:
        return total((int(self.instance.unit_lost[u]), x) for u, x in self.evict.items())

    def top_priority(self) -> Sum:
        levels = {level: place for place, level in enumerate(sorted(set(self.instance.unit_priority.tolist())), 1)}
        return self._highest([levels[p] for p in self.instance.unit_priority.tolist()], "priority")

    def budget_violations(self) -> Sum:
        excess = Sum()
        units = self.instance.pod_unit
        for b, (covered, remaining) in enumerate(
            zip(self.instance.pod_budget, self.instance.budget_left.tolist(), strict=True)
        ):
            disturbed: dict[int, int] = defaultdict(int)
            for u in units[covered == 1].tolist():
                for v in (self.evict.get(u), self.move.get(u)):
                    if v is not None:
                        disturbed[v] += 1
            if (most := self.program.largest(Sum(disturbed)) - remaining) > 0:
                over = self.program.variable("over_budget", b, high=most)
                self.program.at_most(Sum({**disturbed, over: -1}), remaining, "budget", b)
                excess = excess.plus(Sum({over: 1}))
        return excess

    def moves(self) -> Sum:
        return total((1, v) for v in self.move.values())

    def grace(self) -> Sum:
        return self._highest(self.instance.unit_grace.tolist(), "grace")

    def _highest(self, numbers: Sequence[int], group: str) -> Sum:
        """Return the largest number of an evicted unit, 0 if no unit is evicted."""
        by_variable: dict[int, int] = {}
        for u, x in self.evict.items():
            by_variable[x] = max(numbers[u], by_variable.get(x, 0))
        return self.program.steps(by_variable, group)

    # --- plans ---------------------------------------------------------------------------------------------------

    def decode(self, value_of: Callable[[int], int]) -> Plan:
        """Return the plan of values of the variables; of a model that is not complete, without needless victims."""
        instance = self.instance
        evict = ints(value_of(self.evict[u]) if u in self.evict else 0 for u in range(len(instance.unit_group)))
        leaving = [*np.flatnonzero(evict).tolist(), *(u for u, m in self.move.items() if value_of(m))]
        hosts: dict[int, list[int]] = defaultdict(list)
        move = np.full(len(instance.pod_node), -1, dtype=np.int64)
        targets: dict[int, list[int]] = defaultdict(list)
        for p, place in enumerate(self.places):
            if isinstance(place, Pool):
                sizes = [
                    *(int(instance.shape_demand[k, place.resource]) for k in place.shapes),
                    *(self.kinds[i].demand[place.resource] for i in place.kinds),
                ]
                pods = [value_of(v) for v in self._coming(p, place)]
                nodes = spread_over(instance, place, leaving, list(zip(pods, sizes, strict=True)), self.released)
            else:
                pods = [value_of(v) for v in self._coming(p, place)]
                most = value_of(self.each[p]) if p in self.each else max(pods, default=0)
                nodes = [[n for n in place.nodes for _ in range(most)][:count] for count in pods]
            for k, at in zip(place.shapes, nodes, strict=False):
                hosts[k] += at
            for i, at in zip(place.kinds, nodes[len(place.shapes) :], strict=True):
                targets[i] += at
        for i, at in targets.items():
            kind = self.kinds[i]
            level = int(instance.unit_level[kind.units[0]])
            domain = instance.node_domain[level].tolist() if level >= 0 else list(range(len(instance.node_free)))
            at.sort(key=domain.__getitem__)
            moved_pods = [p for m, u in enumerate(kind.units) if value_of(self.move[u]) for p in self._pods_of(kind, m)]
            move[moved_pods] = at
        start = np.zeros(len(instance.job_priority), dtype=np.int64)
        for j, s in self.start.items():
            start[self.alike[j][: value_of(s)]] = 1
        plan = Plan(start=start, place=self._placed(hosts), evict=evict, move=move)
        return plan if self.complete else spared(instance, plan)

    @staticmethod
    def _pods_of(kind: Kind, m: int) -> tuple[int, ...]:
        """Return the pods of the kind's unit number m."""
        return kind.pods[m * kind.pods_per_unit : (m + 1) * kind.pods_per_unit]

    def _coming(self, p: int, place: Place | Pool) -> list[int]:
        """Return the variables of the arriving pods of a place: of its shapes, then of its kinds."""
        return [*(self.put[k, p] for k in place.shapes), *(self.shift[i, p] for i in place.kinds)]

    def _placed(self, hosts: Mapping[int, Sequence[int]]) -> IntArray:
        """Return pods by shape and node. hosts: shape -> nodes of the pods of all jobs of the group.

        Domain by domain, each job in turn takes its number of pods, in complete slices.
        """
        instance = self.instance
        place = np.zeros(instance.shape_nodes.shape, dtype=np.int64)
        for k, nodes in hosts.items():
            level, count = int(instance.shape_level[k]), int(instance.shape_count[k])
            ordered = sorted(nodes, key=lambda n: int(instance.node_domain[level, n])) if level >= 0 else nodes
            for i, n in enumerate(ordered):
                place[self.shapes[k][i // count], n] += 1
        return place

    def encode(self, plan: Plan) -> list[tuple[int, int]]:
        """Return (variable, value) pairs of a plan, as far as they follow directly from it."""
        pairs = [(s, int(plan.start[self.alike[j]].sum())) for j, s in self.start.items()]
        pairs += {x: int(plan.evict[u]) for u, x in self.evict.items()}.items()
        moved_units = set(self.instance.moved(plan.move))
        pairs += [(m, int(u in moved_units)) for u, m in self.move.items()]
        pairs += [(z, int(all(plan.evict[u] for u in units))) for z, units in self.lost.values()]
        if plan.place.size:
            for (k, p), v in self.put.items():
                if p in self.each or isinstance(self.places[p], Pool):
                    there = plan.place[np.ix_(self.shapes[k], self.places[p].nodes)].sum(axis=0)
                    pairs.append((v, int(there.sum())))
                    if p in self.each:
                        pairs.append((self.each[p], int(there.max())))
        return pairs


def _by_member(variables: Mapping[tuple[int, int], int]) -> dict[int, list[tuple[int, int]]]:
    """Return (place, variable) pairs by shape or kind. variables: by (shape or kind, place)."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (member, p), v in variables.items():
        pairs[member].append((p, v))
    return pairs


#: Objective -> its base value as a sum over the program's variables, some of which it may add.
OBJECTIVES: dict[str, Callable[[Model], Sum]] = {
    "victims": Model.victims,
    "lost": Model.work_lost,
    "top_priority": Model.top_priority,
    "budget_violations": Model.budget_violations,
    "moves": Model.moves,
    "grace": Model.grace,
}
