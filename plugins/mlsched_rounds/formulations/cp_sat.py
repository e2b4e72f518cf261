"""A round as a CP-SAT model."""

from __future__ import annotations

from mlsched.core.aliases import Expression
from mlsched.core.deadline import Deadline
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.registry import model_builder
from mlsched_rounds.formulations._model import Model, Sum
from mlsched_rounds.formulations.tables import OBJECTIVES
from mlsched_rounds.instances import Instance


@model_builder("cp-sat", problem="rounds", backend="cp-sat", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Build a model with one Boolean per job and configuration; the worst job by levels, without a big M."""
    from ortools.sat.python import cp_model

    deadline = Deadline(limits.seconds)
    output, cp = Model(instance, objectives, deadline), cp_model.CpModel()
    variables = [cp.new_bool_var("") for _ in output.names]

    def weighted(terms: Sum) -> Expression:
        return cp_model.LinearExpr.weighted_sum([variables[v] for v in terms], list(terms.values()))

    for row in deadline.over(output.rows):
        cp.add(weighted(row.terms) <= row.limit)

    return output.formulation(cp, variables, weighted)
