"""Admission as a Pyomo MIP, solved by HiGHS (or by any other Pyomo solver)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from mlsched.core.aliases import Expression
from mlsched.core.formulation import NO_LIMITS, Formulation, Limits
from mlsched.core.models import FAST, Size, index_of
from mlsched.core.registry import model_builder
from mlsched_admission.formulations._model import Model
from mlsched_admission.formulations._objectives import OBJECTIVES, sums_of_objectives
from mlsched_admission.formulations._plans import formulation_of
from mlsched_admission.formulations._program import Sum
from mlsched_admission.instances import Instance


@model_builder("highs", problem="admission", backend="highs", objectives=tuple(OBJECTIVES))
def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Build the integer program of starts, places, evictions and moves; equal nodes are one.

    Rows are divided by the greatest common divisor of their coefficients: amounts in bytes are then small numbers.
    """
    return _write_in_pyomo(Model(instance), objectives, FAST)


def model(instance: Instance, objectives: tuple[str, ...], size: Size) -> Formulation:
    """Return the program of `_model`'s docstring, for users."""
    return _write_in_pyomo(Model(instance, complete=size.complete), objectives, size)


def _write_in_pyomo(integer_program: Model, objectives: tuple[str, ...], size: Size) -> Formulation:
    """Write a program in Pyomo, its variables and rows in their groups."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    mip, program = pyo.ConcreteModel(), integer_program.program
    sums = sums_of_objectives(integer_program, objectives)
    size.check(len(program.names))
    ends = dict(zip(program.names, zip(program.low, program.high, strict=True), strict=True))
    for group in dict.fromkeys(group for group, _ in program.names):
        own = {index: both for (other, index), both in ends.items() if other == group}
        bounds = functools.partial(_variable_bounds, own)
        setattr(mip, group, pyo.Var(list(own), domain=pyo.Integers, bounds=bounds))
    variables = [getattr(mip, group)[index] for group, index in program.names]

    def expressed(of: Sum) -> Expression:
        summands = [variables[v] for v in of.terms]
        return LinearExpression(constant=of.constant, linear_coefs=list(of.terms.values()), linear_vars=summands)

    for group in dict.fromkeys(row.name[0] for row in program.rows):
        setattr(mip, group, pyo.Constraint(pyo.Any))
    for row in program.rows:
        divisor = math.gcd(*row.left.terms.values())
        divided = Sum({v: c // divisor for v, c in row.left.terms.items()})
        group, index = row.name
        getattr(mip, group)[index_of(index)] = expressed(divided) <= row.most // divisor

    return formulation_of(integer_program, mip, variables, sums, expressed)


def _variable_bounds(own: Mapping[tuple[Any, ...], tuple[int, int]], _: object, *index: Any) -> tuple[int, int]:
    """Return the bounds of a variable by its index."""
    return own[index]
