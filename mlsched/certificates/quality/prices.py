"""The quality problem as blocks, written from the statement alone (`instances/quality/judge.py`).

A block per job that runs; an option per number of cores that it may get. The one row is the cores that are not
reserved. Needs Python alone.
"""

from collections.abc import Iterator
from typing import Any

from mlsched.certificates.prices.core import Spend, Use
from mlsched.certificates.prices.listed import Listed


def total_loss_reduction(instance: dict[str, Any], bound: int, spend: Spend) -> list[Listed]:
    """No plan has a larger sum of weight * gain than `bound`: the sum of -weight * gain is at least -bound."""
    jobs = [[(-gain, {"cores": a}) for a, gain in job] for job in allocations(instance, "gain", spend)]
    return [Listed(-bound, {"cores": instance["cores"] - instance.get("reserved", 0)}, jobs)]


def worst_loss(instance: dict[str, Any], bound: int, spend: Spend) -> list[Listed]:
    """No plan has a smaller worst loss than `bound`: it would give every job so many cores that the loss is below it.

    These numbers of cores cost nothing, so a choice of them would cost less than the target of 1.
    """
    jobs = [[(0, {"cores": a}) for a, loss in job if loss < bound] for job in allocations(instance, "loss", spend)]
    least: list[list[tuple[int, Use]]] = [[(1, {})]] if bound <= 0 else []  # no loss is below 0, also where no job runs
    return [Listed(1, {"cores": instance["cores"] - instance.get("reserved", 0)}, jobs + least)]


def allocations(instance: dict[str, Any], table: str, spend: Spend) -> Iterator[list[tuple[int, int]]]:
    """Of every job that runs (rule 1), what it may get (rule 2): cores, weight * what the table says."""
    for j, waits in enumerate(instance["waiting"]):
        if not waits:
            some = range(instance.get("least", 1), instance["most"][j] + 1)
            spend(16 * len(some))
            yield [(a, instance["weight"][j] * instance[table][j][a]) for a in some]


CLAIMS = {"total_loss_reduction": total_loss_reduction, "worst_loss": worst_loss}
SIGN = {"total_loss_reduction": -1}
