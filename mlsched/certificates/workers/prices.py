"""The workers problem as blocks, written from the statement alone (`instances/workers/judge.py`).

A block per job; an option per number of workers and PSs with which it can train, and one to wait. A row per resource.
Needs Python alone.
"""

from typing import Any

from mlsched.certificates.prices.core import Spend
from mlsched.certificates.prices.listed import Listed

#: An entry of `cost` that stands for "cannot train" (2^53).
CANNOT = 9007199254740992


def total_jct(instance: dict[str, Any], bound: int, spend: Spend) -> list[Listed]:
    """No plan has a smaller sum of cost and waiting terms than `bound`."""
    rows = {str(r): capacity for r, capacity in enumerate(instance["capacity"])}  # rule 3
    jobs = []
    for j, table in enumerate(instance["cost"]):
        demand = list(zip(rows, instance["worker_demand"][j], instance["ps_demand"][j], strict=True))
        options = [(instance["waiting"][j], dict[str, int]())]
        for w, costs in enumerate(table, 1):  # rule 1: one of each, or neither
            for p, cost in enumerate(costs, 1):
                if cost != CANNOT:  # rule 2
                    spend(8 * (1 + len(rows)))
                    options.append((cost, {r: w * worker + p * ps for r, worker, ps in demand}))
        jobs.append(options)
    return [Listed(bound, rows, jobs)]


CLAIMS = {"total_jct": total_jct}
SIGN = {"total_jct": 1}
