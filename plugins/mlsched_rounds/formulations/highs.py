"""A round as a Pyomo MIP, solved by HiGHS (or by any Pyomo solver a user has)."""

from __future__ import annotations

from typing import Any

from mlsched.core.deadline import Deadline
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.registry import model_builder
from mlsched_rounds.formulations._model import Model, Sum
from mlsched_rounds.formulations.tables import OBJECTIVES
from mlsched_rounds.instances import Instance


@model_builder("highs", problem="rounds", backend="highs", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """A binary per job and configuration; the worst job by levels, without a big M."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    deadline = Deadline(limits.seconds)
    made, mip = Model(instance, objectives, deadline), pyo.ConcreteModel()
    mip.v = pyo.Var(range(made.variables), domain=pyo.Binary)
    mip.row = pyo.ConstraintList()

    def weighted(terms: Sum) -> Any:
        return LinearExpression(linear_coefs=list(terms.values()), linear_vars=[mip.v[v] for v in terms])

    for terms, limit in deadline.over(made.rows):
        mip.row.add((None, weighted(terms), limit))

    return made.formulation(mip, mip.v, weighted)
