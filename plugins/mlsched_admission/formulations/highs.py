"""Admission as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has)."""

from __future__ import annotations

import math
from typing import Any

from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.registry import model_builder
from mlsched_admission.formulations._model import OBJECTIVES, Model
from mlsched_admission.formulations._program import Sum
from mlsched_admission.instances import Instance


@model_builder("highs", problem="admission", backend="highs", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """The integer program of starts, places, evictions and moves; equal nodes are one.

    Rows are divided by the greatest common divisor of their coefficients: amounts in bytes are then small numbers.
    """
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    made, mip = Model(instance), pyo.ConcreteModel()
    sums = made.sums(objectives)
    numbers = range(len(made.program.low))

    def ends(_: Any, v: int) -> tuple[int, int]:
        return made.program.low[v], made.program.high[v]

    mip.v = pyo.Var(numbers, domain=pyo.Integers, bounds=ends)
    variables = [mip.v[v] for v in numbers]

    def expressed(of: Sum) -> Any:
        chosen = [variables[v] for v in of.terms]
        return LinearExpression(constant=of.constant, linear_coefs=list(of.terms.values()), linear_vars=chosen)

    mip.rows = pyo.ConstraintList()
    for row, most in made.program.rows:
        divisor = math.gcd(*row.terms.values())
        divided = Sum({v: c // divisor for v, c in row.terms.items()})
        mip.rows.add(expressed(divided) <= most // divisor)

    return made.formulation(mip, variables, sums, expressed)
