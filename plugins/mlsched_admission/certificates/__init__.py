"""The admission problem as 0-1 formulas, written only from the statement (`instances/admission/judge.py`).

First the least waiting rank, then the least base value among the plans of at most this rank. A number of pods is stated
by one variable for each pod that fits on a node, a sum of quotas by its binary digits (`_quotas.py`).
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlsched.certificates.cover import Cost, Fronts
from mlsched.certificates.formula import Formula, Term
from mlsched.certificates.translation import Translation
from mlsched_admission.certificates._quotas import state_quotas

if TYPE_CHECKING:
    from mlsched_admission.instances.instance import Instance, Plan


class Stated:
    """A formula with the variables and constraints of the feasible plans."""

    def __init__(self, claim: str, instance: Instance) -> None:
        self.formula, self.instance = Formula(claim), instance
        units, jobs = range(len(instance.unit_group)), range(len(instance.job_priority))
        say = self.formula.variable
        self.start = [say(f"job {j} starts") for j in jobs]
        self.evict = [say(f"unit {u} is evicted") for u in units]
        self.move = {u: say(f"unit {u} is moved") for u in units if int(instance.unit_movable[u])}
        self.coming: dict[int, list[tuple[list[int], int]]] = defaultdict(list)
        self._state_places()
        self._state_moves()
        self._state_room()
        self._state_evictions()
        self.lost = self._state_gangs()
        self._state_limits()
        state_quotas(self.formula, instance, self.start, self.evict)

    def _largest_room(self, n: int) -> list[int]:
        """Return the amounts of node n after every unit has left."""
        instance = self.instance
        most = [int(a) + int(b) for a, b in zip(instance.node_free[n], instance.node_draining[n], strict=True)]
        for p, host in enumerate(instance.pod_node.tolist()):
            if host == n:
                most = [a + int(b) for a, b in zip(most, instance.pod_demand[p], strict=True)]
        return most

    def _state_places(self) -> None:
        """State rules 1 and 2."""
        instance, formula = self.instance, self.formula
        most = [self._largest_room(n) for n in range(len(instance.node_free))]
        on_node: dict[tuple[int, int], list[int]] = {}
        for k, job in enumerate(instance.shape_job.tolist()):
            count, level = int(instance.shape_count[k]), int(instance.shape_level[k])
            demand, spread = instance.shape_demand[k].tolist(), int(instance.shape_spread[k])
            pods: list[int] = []
            inside: dict[int, list[int]] = defaultdict(list)
            for n in range(len(most)):
                domain = int(instance.node_domain[level, n]) if level >= 0 else 0
                if not int(instance.shape_nodes[k, n]) or domain < 0:
                    continue
                fit = min([count, *(a // d for a, d in zip(most[n], demand, strict=True) if d)])
                here = [
                    formula.variable(f"shape {k} has at least {i + 1} pods on node {n}")
                    for i in range(min(fit, spread or fit))
                ]
                for fewer, more in zip(here, here[1:], strict=False):
                    formula.implies("pods of a shape on a node are counted", more, fewer)
                self.coming[n] += [(demand, y) for y in here]
                on_node[k, n] = here
                pods += here
                inside[domain] += here
            formula.exactly(
                "rule 1: a job that starts places all its pods", [*((1, y) for y in pods), (-count, self.start[job])], 0
            )
            if level >= 0:
                size = int(instance.shape_slice[k]) or count
                for domain, variables in sorted(inside.items()):
                    slices = [
                        formula.variable(f"shape {k} has at least {i + 1} slices in domain {domain}")
                        for i in range(count // size)
                    ]
                    terms = [*((1, y) for y in variables), *((-size, s) for s in slices)]
                    formula.exactly("rule 2: whole slices in each domain", terms, 0)
        self._shape_groups(on_node)

    def _shape_groups(self, on_node: dict[tuple[int, int], list[int]]) -> None:
        """State rule 2 for groups of shapes. on_node: the variables of each shape on each node."""
        instance = self.instance
        for group, level in enumerate(instance.shape_group_level.tolist()):
            shapes = [k for k, g in enumerate(instance.shape_group.tolist()) if g == group]
            pods = [(n, y) for k in shapes for n in range(len(instance.node_free)) for y in on_node.get((k, n), ())]
            self._one_domain(f"group {group} of shapes", level, pods, "rule 2: a group of shapes in one domain")

    def _one_domain(self, who: str, level: int, pods: list[tuple[int, int]], rule: str) -> None:
        """State that all pods that come are in one domain. pods: (node, variable that is 1 if the pod is there)."""
        inside: dict[int, list[int]] = defaultdict(list)
        for n, y in pods:
            inside[int(self.instance.node_domain[level, n])].append(y)
        in_domain = {d: self.formula.variable(f"{who} is in domain {d}") for d in sorted(inside) if d >= 0}
        self.formula.at_most(rule, [(1, c) for c in in_domain.values()], 1)
        for d, variables in sorted(inside.items()):
            for y in variables:
                if d < 0:
                    self.formula.at_most(rule, [(1, y)], 0)
                else:
                    self.formula.implies(rule, y, in_domain[d])

    def _state_moves(self) -> None:
        """State rule 3."""
        instance, formula = self.instance, self.formula
        pods = instance.pod_unit.tolist()
        for u, m in self.move.items():
            formula.at_most("rule 3: not both evicted and moved", [(1, self.evict[u]), (1, m)], 1)
            if u not in pods:
                formula.at_most("rule 3: a unit without pods is not moved", [(1, m)], 0)
        goes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for p, u in enumerate(pods):
            if u not in self.move:
                continue
            node_set = int(instance.pod_set[p])
            able = [n for n in range(len(instance.node_free)) if node_set < 0 or int(instance.node_sets[node_set, n])]
            to = [formula.variable(f"pod {p} moves to node {n}") for n in able]
            for n, w in zip(able, to, strict=True):
                self.coming[n].append((instance.pod_demand[p].tolist(), w))
            formula.exactly(
                "rule 3: every pod of a moved unit goes somewhere", [*((1, w) for w in to), (-1, self.move[u])], 0
            )
            goes[u] += zip(able, to, strict=True)
        for u in self.move:
            if (level := int(instance.unit_level[u])) >= 0:
                self._one_domain(f"the moved unit {u}", level, goes[u], "rule 3: a moved unit in one domain")

    def _state_room(self) -> None:
        """State rule 4."""
        instance = self.instance
        for n, coming in sorted(self.coming.items()):
            for r, resource in enumerate(instance.resources):
                needed: list[Term] = [(demand[r], y) for demand, y in coming]
                released: Counter[int] = Counter()
                for p, host in enumerate(instance.pod_node.tolist()):
                    if host == n:
                        u = int(instance.pod_unit[p])
                        for variable in [self.evict[u], *([self.move[u]] if u in self.move else [])]:
                            released[variable] += int(instance.pod_demand[p, r])
                there = int(instance.node_free[n, r]) + int(instance.node_draining[n, r])
                released_terms = [(-a, x) for x, a in released.items()]
                if there >= 0:
                    self.formula.at_most(f"rule 4: {resource}", [*needed, *released_terms], there)
                    continue
                # Over-committed: needed - given <= there if an arriving job requests the resource. If this job does not
                # arrive, the row states needed - given <= 0, which follows from the row of any job that does.
                for d, y in needed:
                    if d:
                        terms = [(c - there, t) if t == y else (c, t) for c, t in needed]
                        self.formula.at_most(f"rule 4: {resource}", [*terms, *released_terms], 0)

    def _state_evictions(self) -> None:
        """State rule 5 for jobs that may evict in any case; the others are in `state_quotas`."""
        for u, x in enumerate(self.evict):
            if not any(int(self.instance.may[j, u]) == 2 for j in range(len(self.start))):
                by = [s for j, s in enumerate(self.start) if int(self.instance.may[j, u]) == 1]
                self.formula.at_least("rule 5: who may evict whom", [*((1, s) for s in by), (-1, x)], 0)

    def _state_gangs(self) -> list[tuple[int, int]]:
        """State rule 6; return (variable, number of units) of each gang of several; 1 only if all are evicted."""
        instance, formula = self.instance, self.formula
        pods = Counter(instance.pod_unit.tolist())
        members: dict[int, list[int]] = defaultdict(list)
        for u, group in enumerate(instance.unit_group.tolist()):
            members[group].append(u)
        gangs = []
        for group, units in sorted(members.items()):
            if len(units) == 1:
                continue  # evicted or not, it is complete
            size = sum(max(1, pods[u]) for u in units)
            whole = formula.variable(f"gang {group} is evicted whole")
            for u in units:
                formula.implies("rule 6: a gang evicted whole", whole, self.evict[u])
            spare = max(0, size - int(instance.group_min[group]))
            terms = [(max(1, pods[u]), self.evict[u]) for u in units]
            formula.at_most("rule 6: enough of a gang stays", [*terms, (spare - size, whole)], spare)
            gangs.append((whole, len(units)))
        return gangs

    def _state_limits(self) -> None:
        """State rule 7."""
        instance = self.instance
        for h, remaining in enumerate(instance.limit_left.tolist()):
            use = [(int(instance.limit_job[h, j]), s) for j, s in enumerate(self.start)]
            released = [(-int(instance.limit_unit[h, u]), x) for u, x in enumerate(self.evict)]
            if remaining >= 0:
                self.formula.at_most("rule 7: limits", [*use, *released], remaining)
                continue
            # Exceeded already: use - given <= left if a job starts that uses the limit. If this job waits, the row
            # states use - given <= 0. This is true if all such jobs wait, and follows from the row of any other that
            # starts.
            for c, s in use:
                if c:
                    terms = [(d - remaining, t) if t == s else (d, t) for d, t in use]
                    self.formula.at_most("rule 7: limits", [*terms, *released], 0)

    def waiting_rank(self) -> Cost:
        """Return the waiting rank (rule 10): the sum of all weights, less those of the jobs that start."""
        weights = self.instance.waiting_weight.tolist()
        return [(-int(w), s) for w, s in zip(weights, self.start, strict=True)], sum(weights)


def formulas(objective: str, instance: Instance, plan: Plan) -> list[Formula]:
    """Return the formula of the least waiting rank; then of the least base value at a rank of at most that of `plan`.

    Their values add up to the objective: a plan of a larger rank is worse by D, and D exceeds every base value.
    """
    first = Stated("the least waiting rank, times D", instance)
    terms, total = first.waiting_rank()
    first.formula.optimise(terms, offset=total, weight=1 + _largest_base_value(instance, objective))
    rank = _rank_of_plan(instance, plan)
    then = Stated(f"the least {objective} where the waiting rank is at most {rank}", instance)
    then.formula.at_most("no larger waiting rank than must be", then.waiting_rank()[0], rank - total)
    then.formula.optimise(BASES[objective][1](then))
    return [first.formula, then.formula]


def _rank_of_plan(instance: Instance, plan: Plan) -> int:
    weights = zip(instance.waiting_weight.tolist(), plan.start.tolist(), strict=True)
    return sum(weight for weight, starts in weights if not starts)


def claims(instance: Instance, objective: str, plan: Plan, values: list[int]) -> list[str]:
    """Explain why the two minima add up to the least value of all."""
    rank, largest = _rank_of_plan(instance, plan), _largest_base_value(instance, objective)
    return [
        f"The waiting rank is {rank}, and in no plan less. No base value is above {largest}: a plan of a larger rank "
        f"is worse by at least D = {largest + 1} and better by at most {largest}. Where the rank is {rank}, the least "
        f"base value is {values[1]}: {rank} x {largest + 1} + {values[1]} = {sum(values)} is the least."
    ]


def _evictable_units(instance: Instance) -> list[int]:
    return [u for u in range(len(instance.unit_group)) if any(int(row[u]) for row in instance.may)]


def _priority_levels(instance: Instance) -> list[int]:
    """Return the position of each unit's priority among the distinct ones, from 1."""
    priorities = instance.unit_priority.tolist()
    distinct = sorted(set(priorities))
    return [1 + distinct.index(p) for p in priorities]


def _largest_base_value(instance: Instance, objective: str) -> int:
    """Return an upper limit of all base values; D is one more."""
    return BASES[objective][0](instance)


def _over_budgets(instance: Instance) -> int:
    movable = {u for u, can in enumerate(instance.unit_movable.tolist()) if can}
    pods = [p for p, u in enumerate(instance.pod_unit.tolist()) if u in movable | set(_evictable_units(instance))]
    budgets = zip(instance.pod_budget, instance.budget_left.tolist(), strict=True)
    return sum(max(0, sum(int(covers[p]) for p in pods) - remaining) for covers, remaining in budgets)


def _budget_terms(stated: Stated) -> list[Term]:
    """Return one variable for each pod beyond a budget."""
    instance, terms = stated.instance, list[Term]()
    for b, (covers, remaining) in enumerate(zip(instance.pod_budget, instance.budget_left.tolist(), strict=True)):
        disturbed: Counter[int] = Counter()
        for p, u in enumerate(instance.pod_unit.tolist()):
            for variable in [stated.evict[u], *([stated.move[u]] if u in stated.move else [])]:
                disturbed[variable] += int(covers[p])
        most = max(0, sum(int(c) for c in covers) - remaining)
        over = [stated.formula.variable(f"budget {b} is exceeded by at least {i + 1}") for i in range(most)]
        weighted = [*((c, x) for x, c in disturbed.items()), *((-1, o) for o in over)]
        stated.formula.at_most("budgets", weighted, remaining)
        terms += [(1, o) for o in over]
    return terms


def _victim_terms(stated: Stated) -> list[Term]:
    return [(1, x) for x in stated.evict]


def _loss_terms(stated: Stated) -> list[Term]:
    return [(int(loss), x) for loss, x in zip(stated.instance.unit_lost, stated.evict, strict=True)]


def _top_priority_terms(stated: Stated) -> list[Term]:
    levels = dict(zip(stated.evict, _priority_levels(stated.instance), strict=True))
    return stated.formula.levels("the highest level of priority", levels)


def _grace_terms(stated: Stated) -> list[Term]:
    graces = {x: int(g) for x, g in zip(stated.evict, stated.instance.unit_grace, strict=True)}
    return stated.formula.levels("the longest grace period", graces)


def _move_terms(stated: Stated) -> list[Term]:
    return [(1, m) for m in stated.move.values()]


def _binary_cost(terms: Callable[[Stated], list[Term]], stated: Stated) -> Cost:
    return terms(stated), 0


#: Objective -> upper limit of its base values, and the terms of the base value.
BASES: dict[str, tuple[Callable[[Instance], int], Callable[[Stated], list[Term]]]] = {
    "victims": (lambda one: len(_evictable_units(one)), _victim_terms),
    "lost": (lambda one: sum(int(one.unit_lost[u]) for u in _evictable_units(one)), _loss_terms),
    "top_priority": (
        lambda one: max((_priority_levels(one)[u] for u in _evictable_units(one)), default=0),
        _top_priority_terms,
    ),
    "budget_violations": (_over_budgets, _budget_terms),
    "moves": (lambda one: int(one.unit_movable.sum()), _move_terms),
    "grace": (lambda one: max((int(one.unit_grace[u]) for u in _evictable_units(one)), default=0), _grace_terms),
}
FRONTS = Fronts(
    Stated, {name: functools.partial(_binary_cost, terms) for name, (_, terms) in BASES.items()}, Stated.waiting_rank
)
TRANSLATION = Translation(
    "admission.instance", {name: (functools.partial(formulas, name), "") for name in BASES}, claims, FRONTS
)
