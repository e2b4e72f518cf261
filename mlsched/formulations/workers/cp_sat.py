"""Workers for CP-SAT: one column per job, within the capacities (multiple-choice knapsack)."""

from __future__ import annotations

from collections.abc import Callable

from mlsched.core.aliases import Variable
from mlsched.core.formulation import Formulation, Term
from mlsched.formulations.workers.columns import Columns
from mlsched.instances.workers import Plan


def model(choice: Columns) -> Formulation:
    """Return the model with one binary per column."""
    from ortools.sat.python import cp_model

    cp = cp_model.CpModel()
    x = [cp.new_bool_var(f"job_{j}_{w}x{p}") for j, w, p in zip(choice.job, choice.workers, choice.ps, strict=True)]
    first = choice.first.tolist()
    for a, b in zip(first[:-1], first[1:], strict=True):
        cp.add_exactly_one(x[a:b])
    for use, capacity in zip(choice.use.T.tolist(), choice.capacity.tolist(), strict=True):
        cp.add(cp_model.LinearExpr.weighted_sum(x, use) <= capacity)

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        return choice.plan([c for c, v in enumerate(x) if value_of(v)])

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        picks = set(choice.chosen(plan).tolist())
        return [(v, int(c in picks)) for c, v in enumerate(x)]

    cost = cp_model.LinearExpr.weighted_sum(x, choice.cost.tolist())
    return Formulation(cp, {"total_jct": (Term(1, cost),)}, decode, encode)
