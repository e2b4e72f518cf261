"""The preemption problem as 0-1 formulas, written only from the problem statement (`instances/preemption/judge.py`).

One variable per TE job and node, and one per BE job. First minimise the waiting TE jobs, then the base value among the
plans with that number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlsched.certificates.cover import Cost, Fronts
from mlsched.certificates.formula import Formula, Term
from mlsched.certificates.preemption import prices
from mlsched.certificates.prices import fixing, listed
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.translation import Translation

if TYPE_CHECKING:
    from mlsched.instances.preemption.instance import Instance, Plan


def formulas(objective: str, instance: Instance, plan: Plan) -> list[Formula]:
    """State the fewest waiting TE jobs, then the least base value with at most as many as in `plan`.

    Their values add up to the objective: one more waiting TE job costs D, and D exceeds every base value. The second
    formula omits plans with more waiting jobs than `plan`; the first proves that `plan` has the fewest.
    """
    waiting = plan.te_node.tolist().count(-1)
    return [_fewest_waiting(instance, objective), _least_base(instance, objective, waiting)]


def _fewest_waiting(instance: Instance, objective: str) -> Formula:
    plans = Plans("the fewest TE jobs that wait, times D", instance)
    terms, number = plans.waiting()
    plans.formula.optimise(terms, offset=number, weight=1 + _largest_base(instance, objective))
    return plans.formula


def _largest_base(instance: Instance, objective: str) -> int:
    """Return an upper bound on base values; D is one more."""
    of_victim, largest, _ = BASES[objective]
    return largest([of_victim(instance, j) for j in _preemptible_jobs(instance)])


def claims(instance: Instance, objective: str, plan: Plan, values: list[int]) -> list[str]:
    """Explain why the two minima add up to the overall minimum."""
    waiting, number = plan.te_node.tolist().count(-1), len(plan.te_node)
    largest = _largest_base(instance, objective)
    return [
        f"{waiting} of {number} TE jobs wait, and in no plan fewer do. No base value is above {largest}, so a plan in "
        f"which one more waits is worse by D = {largest + 1} and better by at most {largest}. Where {waiting} wait, "
        f"the least base value is {values[1]}: {waiting} x {largest + 1} + {values[1]} = {sum(values)} is the least."
    ]


def _least_base(instance: Instance, objective: str, waiting: int) -> Formula:
    plans = Plans(f"the least {objective} of the victims where at most {waiting} TE jobs wait", instance)
    terms, number = plans.waiting()
    plans.formula.at_most("no more TE jobs wait than must", terms, waiting - number)
    plans.formula.optimise(plans.base(objective))
    return plans.formula


def _preemptible_jobs(instance: Instance) -> list[int]:
    """Return the BE jobs that may be suspended (rule 2)."""
    return [j for j, times in enumerate(instance.job_preemptions.tolist()) if times < instance.preemption_limit]


def _sum_of_base(formula: Formula, base: dict[int, int]) -> list[Term]:
    return [(number, x) for x, number in base.items()]


def _longest_grace(formula: Formula, base: dict[int, int]) -> list[Term]:
    return formula.levels("the longest grace period", base)


#: Objective -> contribution of each victim to the base value (or to its maximum); the largest base value if all
#: contribute; and the terms of the base value.
BASES: dict[
    str,
    tuple[Callable[[Instance, int], int], Callable[[list[int]], int], Callable[[Formula, dict[int, int]], list[Term]]],
] = {
    "total_score": (lambda instance, job: int(instance.score[job]), sum, _sum_of_base),
    "victim_count": (lambda instance, job: 1, sum, _sum_of_base),
    "max_grace_period": (
        lambda instance, job: int(instance.job_grace[job]),
        lambda base: max(base, default=0),
        _longest_grace,
    ),
}


class Plans:
    """A formula with the variables and constraints of the feasible plans."""

    def __init__(self, claim: str, instance: Instance) -> None:
        self.formula, self.instance = Formula(claim), instance
        formula, tes, nodes = self.formula, range(len(instance.te_demand)), range(len(instance.node_capacity))
        self.victims = [formula.variable(f"BE job {j} is suspended") for j in range(len(instance.job_node))]
        self.placed = [[formula.variable(f"TE job {t} goes to node {n}") for n in nodes] for t in tes]
        for places in self.placed:
            formula.at_most("rule 1: a TE job has one node, or waits", [(1, y) for y in places], 1)
        for j in set(range(len(self.victims))) - set(_preemptible_jobs(instance)):
            formula.at_most("rule 2: the preemption limit", [(1, self.victims[j])], 0)
        for n in nodes:
            here = [(j, x) for j, x in enumerate(self.victims) if instance.job_node[j] == n]
            for r, resource in enumerate(instance.resources):
                there = int(instance.node_free[n, r]) + int(instance.node_draining[n, r])
                needed = [(int(instance.te_demand[t, r]), self.placed[t][n]) for t in tes]
                released = [(-int(instance.job_demand[j, r]), x) for j, x in here]
                formula.at_most(f"rule 3: {resource}", needed + released, there)

    def waiting(self) -> Cost:
        """Return the waiting TE jobs as a cost."""
        return [(-1, y) for places in self.placed for y in places], len(self.placed)

    def base(self, objective: str) -> list[Term]:
        """Return terms whose smallest possible sum is the base value."""
        of_victim, _, terms = BASES[objective]
        return terms(self.formula, {x: of_victim(self.instance, j) for j, x in enumerate(self.victims)})


def _base_cost(objective: str, plans: Plans) -> Cost:
    return plans.base(objective), 0


FRONTS = Fronts(Plans, {name: functools.partial(_base_cost, name) for name in BASES}, Plans.waiting)
TRANSLATION = Translation(
    "preemption.instance", {name: (functools.partial(formulas, name), "") for name in BASES}, claims, FRONTS
)
PRICES = Statement(
    "preemption.instance",
    prices,
    (listed, fixing),
    agrees=lambda instance, data: prices.scores(data) == instance.score.tolist(),
)
