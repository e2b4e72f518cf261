"""A round as a Pyomo MIP, solved by HiGHS (or by any other Pyomo solver)."""

from __future__ import annotations

from mlsched.core.aliases import Expression
from mlsched.core.deadline import Deadline
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.models import FAST, Size, index_of
from mlsched.core.registry import model_builder
from mlsched_rounds.formulations._model import Model, Sum
from mlsched_rounds.formulations.tables import OBJECTIVES
from mlsched_rounds.instances import Instance


@model_builder("highs", problem="rounds", backend="highs", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Build a program with one binary per job and configuration; the worst job by levels, without a big M."""
    return model(instance, objectives, deadline=Deadline(limits.seconds))


def model(
    instance: Instance, objectives: tuple[str, ...], size: Size = FAST, deadline: Deadline | None = None
) -> Formulation:
    """Build the program of `_model`'s docstring, with its variables and rows in the groups named there."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    deadline = deadline or Deadline()
    output, mip = Model(instance, objectives, deadline), pyo.ConcreteModel()
    size.check(len(output.names))
    for group in dict.fromkeys(["run", *(group for group, _ in output.names)]):
        setattr(mip, group, pyo.Var([index for other, index in output.names if other == group], domain=pyo.Binary))
    variables = [getattr(mip, group)[index] for group, index in output.names]

    def weighted(terms: Sum) -> Expression:
        return LinearExpression(linear_coefs=list(terms.values()), linear_vars=[variables[v] for v in terms])

    for group in dict.fromkeys(row.group for row in output.rows):
        setattr(mip, group, pyo.Constraint(pyo.Any))
    for row in deadline.over(output.rows):
        getattr(mip, row.group)[index_of(row.key)] = (None, weighted(row.terms), row.limit)

    return output.formulation(mip, variables, weighted)
