"""The quality problem as a 0-1 formula, written from the statement alone (`instances/quality/judge.py`).

One variable a job that runs and a number of cores that it may get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.certificates.formula import Formula
from mlsched.certificates.prices import listed
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.quality import prices
from mlsched.certificates.translation import Translation

if TYPE_CHECKING:
    from mlsched.core.fields import IntArray
    from mlsched.instances.quality.instance import Instance, Plan


def total_loss_reduction(instance: Instance, plan: Plan) -> list[Formula]:
    """One formula: the largest sum of weight * gain."""
    formula = Formula("the largest total loss reduction")
    gains = _amounts(formula, instance, instance.gain)
    formula.optimise([(number, x) for x, number in gains.items()], sense="max")
    return [formula]


def worst_loss(instance: Instance, plan: Plan) -> list[Formula]:
    """One formula: the least worst weight * loss."""
    formula = Formula("the least worst loss")
    formula.optimise(formula.levels("rule 5: the worst loss", _amounts(formula, instance, instance.loss)))
    return [formula]


def _amounts(formula: Formula, instance: Instance, table: IntArray) -> dict[int, int]:
    """Variables and constraints of the feasible plans: variable -> weight * what the table says of job and cores."""
    given: dict[int, tuple[int, int]] = {}  # variable -> job, cores
    for j, waits in enumerate(instance.waiting.tolist()):
        if not waits:
            own = {
                formula.variable(f"job {j} gets {a} cores"): a for a in range(instance.least, int(instance.most[j]) + 1)
            }
            formula.exactly("rule 2: a job gets one number of cores", [(1, x) for x in own], 1)
            given |= {x: (j, a) for x, a in own.items()}
    there = instance.cores - instance.reserved
    formula.at_most("rule 3: cores that are not reserved", [(a, x) for x, (_, a) in given.items()], there)
    return {x: int(instance.weight[j]) * int(table[j, a]) for x, (j, a) in given.items()}


TRANSLATION = Translation(
    "quality.instance", {"total_loss_reduction": (total_loss_reduction, ""), "worst_loss": (worst_loss, "")}
)
PRICES = Statement("quality.instance", prices, (listed,))
