"""The quality problem as a 0-1 formula, written from the statement alone (`instances/quality/judge.py`).

One variable a job that runs and a number of cores that it may get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.certificates.cover import Fronts
from mlsched.certificates.formula import Formula, Term
from mlsched.certificates.prices import listed
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.quality import prices
from mlsched.certificates.translation import Translation

if TYPE_CHECKING:
    from mlsched.core.fields import IntArray
    from mlsched.instances.quality.instance import Instance, Plan


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

    def gains(self) -> list[Term]:
        """The sum of weight * gain."""
        return [(number, x) for x, number in self._amounts(self.instance.gain).items()]

    def worst(self) -> list[Term]:
        """Terms whose least sum is the worst weight * loss."""
        return self.formula.levels("rule 5: the worst loss", self._amounts(self.instance.loss))

    def _amounts(self, table: IntArray) -> dict[int, int]:
        """Variable -> weight * what the table says of job and cores."""
        return {x: int(self.instance.weight[j]) * int(table[j, a]) for x, (j, a) in self.given.items()}


def total_loss_reduction(instance: Instance, plan: Plan) -> list[Formula]:
    """One formula: the largest sum of weight * gain."""
    plans = Plans("the largest total loss reduction", instance)
    plans.formula.optimise(plans.gains(), sense="max")
    return [plans.formula]


def worst_loss(instance: Instance, plan: Plan) -> list[Formula]:
    """One formula: the least worst weight * loss."""
    plans = Plans("the least worst loss", instance)
    plans.formula.optimise(plans.worst())
    return [plans.formula]


FRONTS = Fronts(
    Plans,
    {
        "total_loss_reduction": lambda plans: ([(-number, x) for number, x in plans.gains()], 0),
        "worst_loss": lambda plans: (plans.worst(), 0),
    },
)
TRANSLATION = Translation(
    "quality.instance",
    {"total_loss_reduction": (total_loss_reduction, ""), "worst_loss": (worst_loss, "")},
    fronts=FRONTS,
)
PRICES = Statement("quality.instance", prices, (listed,))
