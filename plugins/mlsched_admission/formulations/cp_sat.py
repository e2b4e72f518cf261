"""Admission as a CP-SAT model."""

from __future__ import annotations

from mlsched.core.aliases import Expression
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.registry import model_builder
from mlsched_admission.formulations._model import Model
from mlsched_admission.formulations._objectives import OBJECTIVES, sums_of_objectives
from mlsched_admission.formulations._plans import formulation_of
from mlsched_admission.formulations._program import Sum
from mlsched_admission.instances import Instance

#: All rows go into the linear relaxation, as in some of CP-SAT's searches with several threads. With the default of a
#: single thread, 4,000 nodes and 1,000 units were not solved in 14 CPU seconds; so it takes 0.2.
PARAMETERS = {"linearization_level": 2}


@model_builder("cp-sat", problem="admission", backend="cp-sat", objectives=tuple(OBJECTIVES))
def build(
    instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS, merge: bool = True
) -> Formulation:
    """Build the integer program of starts, places, evictions and moves; equal nodes are one (merge)."""
    from ortools.sat.python import cp_model

    program = Model(instance, merge=merge)
    sums = sums_of_objectives(program, objectives)
    cp = cp_model.CpModel()
    ends = zip(program.program.low, program.program.high, strict=True)
    variables = [cp.new_int_var(low, high, f"v{v}") for v, (low, high) in enumerate(ends)]

    def expressed(of: Sum) -> Expression:
        summands = [variables[v] for v in of.terms]
        return cp_model.LinearExpr.weighted_sum(summands, list(of.terms.values())) + of.constant

    for row in program.program.rows:
        cp.add(expressed(row.left) <= row.most)

    return formulation_of(program, cp, variables, sums, expressed, PARAMETERS)
