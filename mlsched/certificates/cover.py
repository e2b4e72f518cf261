"""A complete front as one 0-1 formula: a plan without a covering point. If it is unsolvable, the front is complete.

A point covers a plan that is at least as costly in the criteria compared first (the rank of the objectives, then the
objectives named `first`, in this order), and, if these are equal, in every objective. Assume that the points' plans are
feasible, that their first criteria are equal, and that points do not cover each other. Then the points are exactly the
front if and only if they cover every plan:

1. An unbeaten plan is covered by a point. The point does not beat it, so it has the same values: the front is complete.
2. Suppose a plan beats a point. A point covers the plan, and then also the beaten point. It is a different point, since
a plan cannot beat itself: a contradiction. So all points belong to the front.

One formula is enough, for any number of points and objectives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mlsched.certificates.formula import Formula, Term
from mlsched.core.contract import Instance, Plan

#: Terms and a constant; with variables of their own, their least sum counts.
Cost = tuple[list[Term], int]


class Plans(Protocol):
    """The feasible plans of an instance, stated in a formula."""

    formula: Formula


@dataclasses.dataclass(frozen=True)
class Fronts:
    """The statement of a problem's fronts.

    Attributes:
        plans: `plans(claim, instance)`: a new formula that states the feasible plans.
        costs: Objective -> base value of these plans, negative if it is maximised.
        rank: Criterion compared before every base value, if the objectives have one (`Instance.primary`).
    """

    plans: Callable[[str, Any], Any]
    costs: Mapping[str, Callable[..., Cost]]
    rank: Callable[..., Cost] | None = None

    def best_value_formula(self, objective: str, claim: str) -> Callable[..., list[Formula]]:
        """Return the statement of an objective without a rank as one formula of its best value (`by_objective`)."""

        def formulas(instance: Instance, plan: Plan) -> list[Formula]:
            plans: Plans = self.plans(claim, instance)
            terms, constant = self.costs[objective](plans)
            sign = 1 if instance.objective(objective).sense == "min" else -1
            plans.formula.optimise(terms, offset=constant, weight=sign)
            return [plans.formula]

        return formulas


@dataclasses.dataclass(frozen=True)
class Points:
    """The costs of the points of a front: the shared `first`, and each point's `costs`."""

    objectives: tuple[str, ...]
    first: tuple[str, ...]
    before: tuple[int, ...]
    costs: tuple[tuple[int, ...], ...]


def points_of(
    instance: Instance, objectives: Sequence[str], first: Sequence[str], values: Sequence[Mapping[str, int]]
) -> tuple[Points, str]:
    """Return the points with the judge's values, and why they cannot be a front; "" if they can."""
    rows = [[_rank_and_cost(instance, name, row[name]) for name in (*first, *objectives)] for row in values]
    ranks = [{rank for rank, _ in row} for row in rows]
    before = [
        (min(rank_set), *(cost for _, cost in row[: len(first)])) for rank_set, row in zip(ranks, rows, strict=True)
    ]
    costs = [tuple(cost for _, cost in row[len(first) :]) for row in rows]
    points = Points(tuple(objectives), tuple(first), before[0], tuple(costs))
    if any(len(rank_set) > 1 for rank_set in ranks):
        return points, "the objectives of a point differ in what is compared before them"
    for i, other in enumerate(before):
        if other != before[0]:
            return points, f"points 1 and {i + 1} differ in what is compared first"
    for i, mine in enumerate(costs):
        for j, its in enumerate(costs):
            if i != j and all(a <= b for a, b in zip(mine, its, strict=True)):
                return points, f"point {j + 1} is no better than point {i + 1} in any objective"
    return points, ""


def _rank_and_cost(instance: Instance, name: str, value: int) -> tuple[int, int]:
    """Split a value into (rank, cost); the rank is 0 if the objective lacks one."""
    objective, rank = instance.objective(name), instance.primary(name)
    count, base = (0, value) if rank is None else divmod(value, rank.weight)
    return count, base if objective.sense == "min" else -base


def uncovered(fronts: Fronts, instance: Instance, points: Points) -> Formula:
    """Build the formula of the plans that the points do not cover."""
    number = len(points.costs)
    names = ", ".join(points.objectives)
    plans: Plans = fronts.plans(f"a plan that none of {number} points covers in {names}", instance)
    formula = plans.formula
    less: list[int] = []  # variables: 1 only if the plan is cheaper in part of the first criteria
    measures = [*([] if fronts.rank is None else [fronts.rank]), *(fronts.costs[name] for name in points.first)]
    most = points.before if fronts.rank is not None else points.before[1:]
    for k, (measure, there) in enumerate(zip(measures, most, strict=True), 1):
        terms, constant = measure(plans)
        excess = max(0, _largest_sum(terms) + constant - there)
        family = f"compared first, {k}: no more than the points, but where something before it is less"
        formula.at_most(family, [*terms, *((-excess, x) for x in less)], there - constant)
        less.append(_variable_below(formula, terms, constant, there, f"compared first, {k}"))
    below: list[dict[int, int]] = []  # per objective: cost -> variable, 1 only if the plan is cheaper
    for k, name in enumerate(points.objectives):
        terms, constant = fronts.costs[name](plans)
        variable_of = {
            there: _variable_below(formula, terms, constant, there, name)
            for there in sorted({row[k] for row in points.costs})
        }
        for low, high in zip(list(variable_of), list(variable_of)[1:], strict=False):
            formula.implies(f"{name}: what is below {low} is below {high}", variable_of[low], variable_of[high])
        below.append(variable_of)
    for row in points.costs:
        cheaper = [variable_of[there] for there, variable_of in zip(row, below, strict=True)]
        formula.at_least("no point covers the plan", [(1, x) for x in [*less, *cheaper]], 1)
    formula.optimise([])
    return formula


def _variable_below(formula: Formula, terms: list[Term], constant: int, there: int, what: str) -> int:
    """Return a variable that is 1 only if the cost is below `there`."""
    variable = formula.variable(f"{what} is below {there}")
    most = there - 1 - constant
    excess = max(0, _largest_sum(terms) - most)
    formula.at_most(f"{what} is below {there}", [*terms, (excess, variable)], most + excess)
    return variable


def _largest_sum(terms: list[Term]) -> int:
    return sum(c for c, _ in terms if c > 0)


def explain_cover(instance: Instance, points: Points) -> str:
    """Explain the meaning of an unsolvable formula in a sentence with these numbers."""
    names, number = " and ".join(points.objectives), len(points.costs)
    rank = instance.primary(points.objectives[0])
    before = [f"{rank.name} {points.before[0]}"] if rank else []
    before += [f"{name} {cost}" for name, cost in zip(points.first, points.before[1:], strict=True)]
    first = f"no plan is better in what is compared first ({', then '.join(before)}), and " if before else ""
    which = "each that is as good there" if before else "every plan"
    point = "the point" if number == 1 else f"one of the {number} points"
    needed = " No point is superfluous: each is better than every other point in at least one objective."
    return (
        f"Formula 1 has no solution: {first}{which} is no better than {point} in each of {names}. So no point is "
        f"missing.{needed if number > 1 else ''}"
    )
