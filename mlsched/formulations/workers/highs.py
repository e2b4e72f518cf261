"""Workers as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has): multiple-choice knapsack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlsched.core.formulation import Formulation, Term
from mlsched.formulations.workers.columns import Columns
from mlsched.instances.workers import Plan


def model(choice: Columns) -> Formulation:
    """One binary a column."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    mip = pyo.ConcreteModel()
    mip.x = pyo.Var(range(len(choice.job)), domain=pyo.Binary)
    x = [mip.x[c] for c in range(len(choice.job))]
    first = choice.first.tolist()

    def weighted(coefficients: list[int], variables: list[Any]) -> Any:
        return LinearExpression(constant=0, linear_coefs=coefficients, linear_vars=variables)

    mip.once = pyo.ConstraintList()
    for a, b in zip(first[:-1], first[1:], strict=True):
        mip.once.add(weighted([1] * (b - a), x[a:b]) == 1)
    mip.capacity = pyo.ConstraintList()
    for use, capacity in zip(choice.use.T.tolist(), choice.capacity.tolist(), strict=True):
        mip.capacity.add(weighted(use, x) <= capacity)

    def decode(value_of: Callable[[Any], int]) -> Plan:
        return choice.plan([c for c, v in enumerate(x) if value_of(v)])

    def encode(plan: Plan) -> list[tuple[Any, int]]:
        taken = set(choice.chosen(plan).tolist())
        return [(v, int(c in taken)) for c, v in enumerate(x)]

    cost = weighted(choice.cost.tolist(), x) if x else 0
    return Formulation(mip, {"total_jct": (Term(1, cost),)}, decode, encode)
