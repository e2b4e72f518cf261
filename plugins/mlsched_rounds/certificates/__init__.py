"""The rounds problem as a 0-1 formula, written only from the statement (`instances/rounds/judge.py`).

The formula has one variable for each job and configuration in which the job can run, and one for a job that waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlsched.certificates.cover import Cost, Fronts
from mlsched.certificates.formula import Formula, Term
from mlsched.certificates.translation import Translation

if TYPE_CHECKING:
    from mlsched_rounds.instances.instance import Instance

#: Variable -> job, configuration (-1: waits).
Chosen = dict[int, tuple[int, int]]


class Plans:
    """A formula with the variables and constraints of the feasible plans (rules 1 to 3)."""

    def __init__(self, claim: str, instance: Instance) -> None:
        self.formula, self.instance = Formula(claim), instance
        self.chosen: Chosen = {}
        formula, usage = self.formula, defaultdict[int, list[Term]](list)
        for j, row in enumerate(instance.rate.tolist()):
            own = {formula.variable(f"job {j} waits"): -1}
            for c, rate in enumerate(row):
                if rate:
                    x = formula.variable(f"job {j} runs in configuration {c}")
                    own[x] = c
                    usage[int(instance.config_type[c])].append((int(instance.config_gpus[c]), x))
            formula.exactly("rule 1: a job runs in one configuration or waits", [(1, x) for x in own], 1)
            self.chosen |= {x: (j, c) for x, c in own.items()}
        for m, terms in usage.items():
            formula.at_most("rule 3: GPUs of a type", terms, int(instance.capacity[m]))

    def able(self) -> Chosen:
        """Return the variables of the jobs that can run, which rules 7 to 9 are about."""
        return {x: (j, c) for x, (j, c) in self.chosen.items() if self.instance.rate[j].any()}


def _steps_done_in(instance: Instance, j: int, c: int) -> int:
    """Return the steps that job j makes in the round with configuration c (-1: none) (rule 4)."""
    if c < 0:
        return 0
    time = instance.length if c == int(instance.current[j]) else max(0, instance.length - instance.pause)
    return min(int(instance.remaining[j]), int(instance.rate[j, c]) * time // 10**6)


def _remaining_steps(instance: Instance, j: int, c: int) -> int:
    return int(instance.remaining[j]) - _steps_done_in(instance, j, c)


def goodput_cost(plans: Plans) -> Cost:
    """Return the cost of rule 5."""
    instance = plans.instance
    return [
        (int(instance.goodput_cost[j, c]) if c >= 0 else int(instance.waiting_cost[j]), x)
        for x, (j, c) in plans.chosen.items()
    ], 0


def total_steps(plans: Plans) -> Cost:
    """Return the cost of rule 6."""
    return [(-_steps_done_in(plans.instance, j, c), x) for x, (j, c) in plans.chosen.items()], 0


def least_served(plans: Plans) -> Cost:
    """Return the cost of rule 7: the largest shortfall below the best-served job in its best configuration."""
    instance, service = plans.instance, {}
    for x, (j, c) in plans.able().items():
        share = int(instance.weight[j]) * int(instance.usual[j]) * (int(instance.age[j]) + instance.length)
        service[x] = 10**12 * (int(instance.done[j]) + _steps_done_in(instance, j, c)) // share
    most = max(service.values(), default=0)
    short = {x: most - amount for x, amount in service.items()}
    return plans.formula.levels("rule 7: the shortfall", short), -most


def worst_ratio(plans: Plans) -> Cost:
    """Return the cost of rule 8."""
    instance, ratios = plans.instance, {}
    for x, (j, c) in plans.able().items():
        fair = int(instance.fair[j])
        ends = fair * (int(instance.age[j]) + instance.length) + 10**6 * _remaining_steps(instance, j, c)
        ought = fair * int(instance.isolated[j]) + 10**6 * int(instance.remaining[j])
        ratios[x] = -(-1000 * ends // ought)
    return plans.formula.levels("rule 8: the worst ratio", ratios), 0


def last_end(plans: Plans) -> Cost:
    """Return the cost of rule 9."""
    instance = plans.instance
    ends = {
        x: -(-(10**6) * _remaining_steps(instance, j, c) // int(instance.rate[j].max()))
        for x, (j, c) in plans.able().items()
    }
    return plans.formula.levels("rule 9: the last end", ends), instance.length if ends else 0


#: Each objective as a cost, with the formula that it needs.
CLAIMS: dict[Callable[[Plans], Cost], str] = {
    goodput_cost: "the least cost by goodput",
    total_steps: "the most steps",
    least_served: "the largest of what the worst-served job is served",
    worst_ratio: "the least worst finish-time ratio",
    last_end: "the soonest last end",
}
FRONTS = Fronts(Plans, {cost.__name__: cost for cost in CLAIMS})


TRANSLATION = Translation(
    "rounds.instance",
    {cost.__name__: (FRONTS.best_value_formula(cost.__name__, claim), "") for cost, claim in CLAIMS.items()},
    fronts=FRONTS,
)
