"""A round for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlsched.core.deadline import Deadline
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Term
from mlsched.core.registry import model_builder
from mlsched.formulations.rounds._model import Model, Sum
from mlsched.formulations.rounds.tables import OBJECTIVES
from mlsched.instances.rounds import Instance, Plan


@model_builder("cp-sat", problem="rounds", solver="cp-sat", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """A Boolean per job and configuration; the worst job by levels, without a big M."""
    from ortools.sat.python import cp_model

    deadline = Deadline(limits.seconds)
    made, cp = Model(instance, objectives, deadline), cp_model.CpModel()
    variables = [cp.new_bool_var("") for _ in range(made.variables)]

    def weighted(terms: Sum) -> Any:
        return cp_model.LinearExpr.weighted_sum([variables[v] for v in terms], list(terms.values()))

    for terms, limit in deadline.over(made.rows):
        cp.add(weighted(terms) <= limit)

    def decode(value_of: Callable[[Any], int]) -> Plan:
        return made.plan([v for v in made.x.values() if value_of(variables[v])])

    def encode(plan: Plan) -> list[tuple[Any, int]]:
        return [(variables[v], value) for v, value in made.values(plan)]

    return Formulation(
        cp,
        {name: (Term(1, weighted(found.terms)),) for name, found in made.objectives.items()},
        decode,
        encode,
        {name: found.constant for name, found in made.objectives.items()},
    )
