"""Plain model of admission: one Boolean per job and unit, pods per shape and node, the maxima of quotas unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from ortools.sat.python import cp_model

from mlsched.core.aliases import Expression
from mlsched_admission.instances import Instance, Plan


class _Plain:
    """The variables, and the rules of the judge in its order."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.model = instance, cp_model.CpModel()
        new = self.model.new_bool_var
        units, nodes = range(len(instance.unit_group)), range(len(instance.node_free))
        self.start = [new("") for _ in instance.job_priority]
        self.evict = [new("") for _ in units]
        self.move = [new("") for _ in units]
        self.to = {(p, n): new("") for p in range(len(instance.pod_unit)) for n in nodes}
        counts = instance.shape_count.tolist()
        self.put = {(k, n): self.model.new_int_var(0, c, "") for k, c in enumerate(counts) for n in nodes}
        self.members: dict[int, list[int]] = defaultdict(list)
        for u, group in enumerate(instance.unit_group.tolist()):
            self.members[group].append(u)
        self._add_places(nodes)
        self._add_moves(nodes)
        self._add_room_rows(nodes)
        self._add_eviction_rows()
        self._add_quota_rows()

    def _add_places(self, nodes: range) -> None:
        instance, model = self.instance, self.model
        counts = instance.shape_count.tolist()
        for k, job in enumerate(instance.shape_job.tolist()):
            count, level, spread = (
                int(x[k]) for x in (instance.shape_count, instance.shape_level, instance.shape_spread)
            )
            model.add(sum(self.put[k, n] for n in nodes) == count * self.start[job])
            for n in nodes:
                if not instance.shape_nodes[k, n] or (level >= 0 and instance.node_domain[level, n] < 0):
                    model.add(self.put[k, n] == 0)
                if spread:
                    model.add(self.put[k, n] <= spread)
            size = int(instance.shape_slice[k]) or count
            for domain in set(instance.node_domain[level].tolist()) if level >= 0 else ():
                slices = model.new_int_var(0, count // size, "")
                model.add(
                    sum(self.put[k, n] for n in nodes if instance.node_domain[level, n] == domain) == size * slices
                )

        for group, level in enumerate(instance.shape_group_level.tolist()):
            shapes = np.flatnonzero(instance.shape_group == group).tolist()
            self._one_domain(level, [(self.put[k, n], counts[k], n) for k in shapes for n in nodes])

    def _one_domain(self, level: int, coming: list[tuple[Expression, int, int]]) -> None:
        """Put all arriving pods in one domain of the level. coming: (variable, its largest value, node)."""
        domain = self.instance.node_domain[level].tolist()
        in_domain = {d: self.model.new_bool_var("") for d in set(domain)}
        self.model.add_at_most_one(in_domain.values())
        for variable, most, n in coming:
            self.model.add(variable <= (most * in_domain[domain[n]] if domain[n] >= 0 else 0))

    def _add_moves(self, nodes: range) -> None:
        instance, model = self.instance, self.model
        holders = set(instance.pod_unit.tolist())
        for u, m in enumerate(self.move):
            model.add(m + self.evict[u] <= 1)
            if not instance.unit_movable[u] or u not in holders:
                model.add(m == 0)
        for p, u in enumerate(instance.pod_unit.tolist()):
            model.add(sum(self.to[p, n] for n in nodes) == self.move[u])
            node_set = int(instance.pod_set[p])
            for n in nodes:
                if node_set >= 0 and not instance.node_sets[node_set, n]:
                    model.add(self.to[p, n] == 0)
        for u, level in enumerate(instance.unit_level.tolist()):
            if level >= 0:
                pods = np.flatnonzero(instance.pod_unit == u).tolist()
                self._one_domain(level, [(self.to[p, n], 1, n) for p in pods for n in nodes])

    def _add_room_rows(self, nodes: range) -> None:
        instance = self.instance
        hosts, units = instance.pod_node.tolist(), instance.pod_unit.tolist()
        for n in nodes:
            for r in range(len(instance.resources)):
                needed: Expression = sum(int(d[r]) * self.put[k, n] for k, d in enumerate(instance.shape_demand))
                needed += sum(int(d[r]) * self.to[p, n] for p, d in enumerate(instance.pod_demand))
                leaving = [(p, units[p]) for p in range(len(hosts)) if hosts[p] == n]
                released = sum(int(instance.pod_demand[p, r]) * (self.evict[u] + self.move[u]) for p, u in leaving)
                there = int(instance.node_free[n, r] + instance.node_draining[n, r])
                if there >= 0:
                    self.model.add(needed <= there + released)
                elif not isinstance(needed, int):  # over-committed: only pods that request the resource must fit
                    comes = self.model.new_bool_var("")
                    self.model.add(needed == 0).only_enforce_if(~comes)
                    self.model.add(needed <= there + released).only_enforce_if(comes)

    def _add_eviction_rows(self) -> None:
        instance, model = self.instance, self.model
        self.size = [max(1, int((instance.pod_unit == u).sum())) for u in range(len(self.evict))]
        self.whole = {}
        for group, units in self.members.items():
            self.whole[group] = model.new_bool_var("")
            for u in units:
                model.add_implication(self.whole[group], self.evict[u])
            staying: Expression = sum(self.size[u] * (1 - self.evict[u]) for u in units)
            anybody = model.new_bool_var("")
            model.add_max_equality(anybody, [self.evict[u] for u in units])
            model.add(staying >= int(instance.group_min[group])).only_enforce_if(anybody, ~self.whole[group])
        for h, remaining in enumerate(instance.limit_left.tolist()):
            use: Expression = sum(int(c) * s for c, s in zip(instance.limit_job[h], self.start, strict=True))
            released = sum(int(c) * x for c, x in zip(instance.limit_unit[h], self.evict, strict=True))
            for c, s in zip(instance.limit_job[h], self.start, strict=True):
                if c:
                    model.add(use <= remaining + released).only_enforce_if(s)

    def _add_quota_rows(self) -> None:
        instance, model = self.instance, self.model
        parent = instance.quota_parent.tolist()
        self.children = {q: [c for c, above in enumerate(parent) if above == q] for q in range(-1, len(parent))}
        borrowing = {}
        for j, s in enumerate(self.start):
            queue, path = int(instance.job_queue[j]), list[int]()
            q = queue
            while q >= 0:
                path.append(q)
                q = parent[q]
            borrowing[j] = model.new_bool_var("")
            for f in np.flatnonzero(instance.job_use[j]).tolist():
                for q in path:
                    borrow = 0 if parent[q] < 0 else int(instance.quota_borrow[q, f])
                    if borrow >= 0:
                        model.add(self._usage_of(q, f) <= self._subtree_quota(q, f) + borrow).only_enforce_if(s)
                model.add(self._usage_of(queue, f) <= self._subtree_quota(queue, f)).only_enforce_if(~borrowing[j])
        for u, x in enumerate(self.evict):
            by = []
            for j, s in enumerate(self.start):
                if instance.may[j, u] == 1:
                    by.append(s)
                elif instance.may[j, u] == 2:
                    by.append(model.new_bool_var(""))
                    model.add_implication(by[-1], s)
                    model.add_implication(by[-1], ~borrowing[j])
            model.add(x <= sum(by))
        if instance.above_nominal:
            self._add_eviction_order(set(path))

    def _subtree_quota(self, q: int, f: int) -> int:
        from_children = sum(self._subtree_quota(c, f) - self._local_quota(c, f) for c in self.children[q])
        return int(self.instance.quota_nominal[q, f]) + from_children

    def _local_quota(self, q: int, f: int) -> int:
        lend = int(self.instance.quota_lend[q, f])
        return 0 if lend < 0 else max(0, self._subtree_quota(q, f) - lend)

    def _usage_of(self, q: int, f: int, staying_unit: int = -1, with_starts: bool = True) -> Expression:
        instance = self.instance
        usage: Expression = int(instance.quota_used[q, f])
        for u, x in enumerate(self.evict):
            if u != staying_unit and instance.unit_queue[u] == q:
                usage -= int(instance.unit_use[u, f]) * x
        for j, s in enumerate(self.start):
            if with_starts and instance.job_queue[j] == q:
                usage += int(instance.job_use[j, f]) * s
        for c in self.children[q]:
            most = int(instance.quota_used.sum() + instance.job_use.sum())
            from_children = self.model.new_int_var(0, most, "")
            self.model.add_max_equality(
                from_children, [0, self._usage_of(c, f, staying_unit, with_starts) - self._local_quota(c, f)]
            )
            usage += from_children
        return usage

    def _add_eviction_order(self, own: set[int]) -> None:
        """State rule 9: the last victim below each queue that is not above the job's."""
        instance = self.instance
        queue = int(instance.job_queue[0])
        uses = np.flatnonzero(instance.job_use[0]).tolist()
        flavors = [f for f in uses if self._lacks_quota(queue, f)] or uses
        for u, x in enumerate(self.evict):
            if not instance.unit_use[u, flavors].any():
                self.model.add(x == 0)

        def last_victims_of(q: int) -> dict[int, Expression]:
            below = {u: x for u, x in enumerate(self.evict) if instance.unit_queue[u] == q}
            for c in self.children[q]:
                below |= last_victims_of(c)
            if q in own:
                return below
            last_victims = {}
            for u, before in below.items():
                last_victims[u] = self.model.new_bool_var("")
                self.model.add_implication(last_victims[u], before)
                over = [self.model.new_bool_var("") for _ in flavors]
                for f, o in zip(flavors, over, strict=True):
                    self.model.add(
                        self._usage_of(q, f, u, with_starts=False) > self._subtree_quota(q, f)
                    ).only_enforce_if(o)
                self.model.add_bool_or([~last_victims[u], *over])
            for u in below:
                self.model.add_bool_or([~self.evict[u], *last_victims.values()])
            return last_victims

        for root in self.children[-1]:
            last_victims_of(root)

    def _lacks_quota(self, queue: int, f: int) -> bool:
        def usage_below(q: int) -> int:
            own = int(self.instance.quota_used[q, f]) + (int(self.instance.job_use[0, f]) if q == queue else 0)
            return own + sum(max(0, usage_below(c) - self._local_quota(c, f)) for c in self.children[q])

        q, parent = queue, self.instance.quota_parent
        while q >= 0:
            borrow = 0 if parent[q] < 0 else int(self.instance.quota_borrow[q, f])
            if borrow >= 0 and usage_below(q) > self._subtree_quota(q, f) + borrow:
                return True
            q = int(parent[q])
        return False


def _victim_count(plain: _Plain) -> Expression:
    return sum(plain.evict) - sum((len(units) - 1) * plain.whole[g] for g, units in plain.members.items())


def _largest_of_evicted(plain: _Plain, numbers: list[int]) -> Expression:
    most = plain.model.new_int_var(0, max([0, *numbers]), "")
    for number, x in zip(numbers, plain.evict, strict=True):
        plain.model.add(most >= number * x)
    return most


def _top_priority(plain: _Plain) -> Expression:
    distinct = sorted(set(plain.instance.unit_priority.tolist()))
    return _largest_of_evicted(plain, [1 + distinct.index(p) for p in plain.instance.unit_priority.tolist()])


def _over_budgets(plain: _Plain) -> Expression:
    total: Expression = 0
    for covers, remaining in zip(plain.instance.pod_budget, plain.instance.budget_left.tolist(), strict=True):
        over = plain.model.new_int_var(0, int(covers.sum()), "")
        disturbed = sum(plain.evict[u] + plain.move[u] for u in plain.instance.pod_unit[covers == 1].tolist())
        plain.model.add(over >= disturbed - remaining)
        total += over
    return total


#: Objective -> its base value.
OBJECTIVES: dict[str, Callable[[_Plain], Expression]] = {
    "victims": _victim_count,
    "lost": lambda plain: sum(int(c) * x for c, x in zip(plain.instance.unit_lost, plain.evict, strict=True)),
    "top_priority": _top_priority,
    "budget_violations": _over_budgets,
    "moves": lambda plain: sum(plain.move),
    "grace": lambda plain: _largest_of_evicted(plain, plain.instance.unit_grace.tolist()),
}


def build(instance: Instance, objective: str) -> tuple[cp_model.CpModel, Callable[[cp_model.CpSolver], Plan]]:
    """Build the model of one objective and the reader of its plan."""
    plain = _Plain(instance)
    weights = instance.waiting_weight.tolist()
    waiting = sum(w * (1 - s) for w, s in zip(weights, plain.start, strict=True))
    plain.model.minimize(OBJECTIVES[objective](plain) + instance.primary(objective).weight * waiting)

    def plan(solver: cp_model.CpSolver) -> Plan:
        place = np.zeros(instance.shape_nodes.shape, dtype=np.int64)
        for (k, n), y in plain.put.items():
            place[k, n] = solver.value(y)
        move = np.full(len(instance.pod_unit), -1, dtype=np.int64)
        for (p, n), z in plain.to.items():
            if solver.value(z):
                move[p] = n
        start, evict = ([int(solver.value(x)) for x in those] for those in (plain.start, plain.evict))
        return Plan(
            start=np.array(start, dtype=np.int64), place=place, evict=np.array(evict, dtype=np.int64), move=move
        )

    return plain.model, plan
