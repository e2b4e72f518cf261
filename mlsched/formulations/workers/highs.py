"""Workers as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has): multiple-choice knapsack."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from mlsched.core.aliases import Variable
from mlsched.core.formulation import Formulation, Term
from mlsched.formulations.workers.columns import Columns
from mlsched.instances.workers import Plan


def model(choice: Columns) -> Formulation:
    """Return the model with one binary per column."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    mip = pyo.ConcreteModel()
    keys = list(zip(choice.job.tolist(), choice.workers.tolist(), choice.ps.tolist(), strict=True))
    mip.allot = pyo.Var(keys, domain=pyo.Binary)
    x = [mip.allot[key] for key in keys]
    first = choice.first.tolist()

    def weighted(coefficients: list[int], variables: list[Any]) -> Any:
        return LinearExpression(constant=0, linear_coefs=coefficients, linear_vars=variables)

    mip.once, mip.capacity = pyo.Constraint(pyo.Any), pyo.Constraint(pyo.Any)
    for j, (a, b) in enumerate(itertools.pairwise(first)):
        mip.once[j] = weighted([1] * (b - a), x[a:b]) == 1
    limits = zip(choice.resource.tolist(), choice.use.T.tolist(), choice.capacity.tolist(), strict=True)
    for r, use, capacity in limits if x else ():
        mip.capacity[r] = weighted(use, x) <= capacity

    def decode(value_of: Callable[[Variable], int]) -> Plan:
        return choice.plan([c for c, v in enumerate(x) if value_of(v)])

    def encode(plan: Plan) -> list[tuple[Variable, int]]:
        picks = set(choice.chosen(plan).tolist())
        return [(v, int(c in picks)) for c, v in enumerate(x)]

    cost = weighted(choice.cost.tolist(), x) if x else 0
    return Formulation(mip, {"total_jct": (Term(1, cost),)}, decode, encode)
