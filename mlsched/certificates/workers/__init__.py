"""The workers problem as a 0-1 formula, written only from the problem statement (`instances/workers/judge.py`).

One variable per job and configuration of workers and PSs in which it can train.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.certificates.formula import Formula
from mlsched.certificates.prices import listed
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.translation import Translation
from mlsched.certificates.workers import prices
from mlsched.instances.workers.judge import CANNOT

if TYPE_CHECKING:
    from mlsched.instances.workers.instance import Instance, Plan


def total_jct(instance: Instance, plan: Plan) -> list[Formula]:
    """State the least sum of cost and waiting terms as one formula."""
    formula = Formula("the least total completion time")
    configuration_of: dict[int, tuple[int, int, int]] = {}  # variable -> job, workers, PSs
    for j, table in enumerate(instance.cost.tolist()):
        own = {
            formula.variable(f"job {j} gets {w} workers and {p} PSs"): (j, w, p)
            for w, row in enumerate(table, 1)
            for p, cost in enumerate(row, 1)
            if cost != CANNOT
        }
        formula.at_most("rule 1: a job has one number of workers and of PSs, or waits", [(1, x) for x in own], 1)
        configuration_of |= own
    for r, resource in enumerate(instance.resources):
        worker, ps = instance.worker_demand[:, r].tolist(), instance.ps_demand[:, r].tolist()
        needed = [(w * worker[j] + p * ps[j], x) for x, (j, w, p) in configuration_of.items()]
        formula.at_most(f"rule 3: capacity of {resource}", needed, int(instance.capacity[r]))
    waiting = instance.waiting.tolist()
    savings = [(int(instance.cost[j, w - 1, p - 1]) - waiting[j], x) for x, (j, w, p) in configuration_of.items()]
    formula.optimise(savings, offset=sum(waiting))
    return [formula]


TRANSLATION = Translation("workers.instance", {"total_jct": (total_jct, "")})
PRICES = Statement("workers.instance", prices, (listed,))
