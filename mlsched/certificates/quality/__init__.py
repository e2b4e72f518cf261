"""The quality problem as a 0-1 formula, written only from the problem statement (`instances/quality/judge.py`).

One variable per running job and allowed number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlsched.certificates.cover import Cost, Fronts
from mlsched.certificates.formula import Formula
from mlsched.certificates.prices import listed
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.quality import prices
from mlsched.certificates.translation import Translation

if TYPE_CHECKING:
    from mlsched.core.fields import IntArray
    from mlsched.instances.quality.instance import Instance


class Plans:
    """A formula with the variables and constraints of the feasible plans."""

    def __init__(self, claim: str, instance: Instance) -> None:
        self.formula, self.instance = Formula(claim), instance
        self.given: dict[int, tuple[int, int]] = {}  # variable -> job, cores
        formula = self.formula
        for j, waits in enumerate(instance.waiting.tolist()):
            if not waits:
                cores = range(instance.least, int(instance.most[j]) + 1)
                own = {formula.variable(f"job {j} gets {a} cores"): a for a in cores}
                formula.exactly("rule 2: a job gets one number of cores", [(1, x) for x in own], 1)
                self.given |= {x: (j, a) for x, a in own.items()}
        there = instance.cores - instance.reserved
        formula.at_most("rule 3: cores that are not reserved", [(a, x) for x, (_, a) in self.given.items()], there)

    def amounts(self, table: IntArray) -> dict[int, int]:
        """Return variable -> weight * table entry of job and cores."""
        return {x: int(self.instance.weight[j]) * int(table[j, a]) for x, (j, a) in self.given.items()}


def total_loss_reduction(plans: Plans) -> Cost:
    """Return the sum of weight * gain."""
    return [(-gain, x) for x, gain in plans.amounts(plans.instance.gain).items()], 0


def worst_loss(plans: Plans) -> Cost:
    """Return terms whose smallest possible sum is the largest weight * loss."""
    return plans.formula.levels("rule 5: the worst loss", plans.amounts(plans.instance.loss)), 0


#: Each objective as a cost, and the claim of its formula.
CLAIMS: dict[Callable[[Plans], Cost], str] = {
    total_loss_reduction: "the largest total loss reduction",
    worst_loss: "the least worst loss",
}
FRONTS = Fronts(Plans, {cost.__name__: cost for cost in CLAIMS})
TRANSLATION = Translation(
    "quality.instance",
    {cost.__name__: (FRONTS.best_value_formula(cost.__name__, claim), "") for cost, claim in CLAIMS.items()},
    fronts=FRONTS,
)
PRICES = Statement("quality.instance", prices, (listed,))
