"""An integer linear program as arrays: the input of HiGHS, and conversions between CP-SAT's and Pyomo's models."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlsched.core.aliases import BackendModel, Constraint, Data, Expression, Variable
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.core.formulation import Term
from mlsched.solvers.front.linear import Linear, signs_of

#: A coefficient within this distance of an integer counts as that integer.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Program:
    """Rows row_lower <= A x <= row_upper, with A in compressed columns: starts, indices, values.

    lower, upper: bounds of the columns. integer: which columns are integer. objectives: to be minimised.
    position(variable): the column of a variable of the caller's model. columns_of, row_names: for a Pyomo model, its
    variables, and the names of its constraints.
    """

    starts: Any
    indices: Any
    values: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    objectives: tuple[Linear, ...]
    position: Callable[[Variable], int]
    columns_of: Sequence[Variable] = ()
    row_names: Sequence[str] = ()

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 over all arrays and objectives."""
        digest = hashlib.sha256()
        for part in (self.starts, self.indices, self.values, self.row_lower, self.row_upper, self.lower, self.upper):
            digest.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        digest.update(self.integer.tobytes())
        digest.update("\n".join(o.text() for o in self.objectives).encode())
        return digest.hexdigest()

    def columns(self) -> IntArray:
        """Return the column of every non-zero."""
        return np.repeat(np.arange(len(self.lower)), np.diff(self.starts))

    def activity(self, x: FloatArray) -> FloatArray:
        """Compute A x."""
        total = np.zeros(len(self.row_lower))
        np.add.at(total, self.indices, self.values * x[self.columns()])
        return total


def from_pyomo(model: BackendModel, objectives: Sequence[Expression], senses: Sequence[str]) -> Program:
    """Return the program of a linear Pyomo model without an objective, with objectives over its integer variables."""
    import pyomo.environ as pyo

    from mlsched.solvers.backends.pyomo_matrix import compile_model

    if any(True for _ in model.component_data_objects(pyo.Objective, active=True)):
        raise InvalidInput("the model already has an objective; give it as one of the objectives and deactivate it")
    signs = signs_of(senses, len(objectives))
    # In Pyomo a fixed variable is a constant; its column keeps that value. Pyomo refuses nonlinear expressions.
    try:
        matrix = compile_model(model)
    except Exception as error:
        raise InvalidInput(f"the Pyomo model cannot be compiled as a linear program: {error}") from None
    integer = np.array([v.is_integer() for v in matrix.columns], dtype=bool)
    built = [
        _linear_row(matrix, e, sign, k, integer) for k, (e, sign) in enumerate(zip(objectives, signs, strict=True))
    ]
    low = np.array([_finite_end(v, v.lb, -np.inf) for v in matrix.columns], dtype=np.float64)
    high = np.array([_finite_end(v, v.ub, np.inf) for v in matrix.columns], dtype=np.float64)
    low, high = np.where(integer, np.ceil(low - ROUNDING), low), np.where(integer, np.floor(high + ROUNDING), high)
    return Program(
        matrix.starts,
        matrix.indices,
        matrix.values,
        matrix.row_lower,
        matrix.row_upper,
        low,
        high,
        integer,
        tuple(built),
        lambda variable: matrix.position[id(variable)],
        matrix.columns,
        matrix.row_names,
    )


def _finite_end(variable: Any, bound: int, missing: float) -> float:
    if variable.fixed:
        return float(variable.value)
    return missing if bound is None else float(bound)


def _linear_row(matrix: Any, expression: Any, sign: int, number: int, integer: BoolArray) -> Linear:
    """Return objective `number`, times `sign`, over the columns of `matrix`.

    Raises:
        InvalidInput: It is not linear, or not over the model's integer variables with integer coefficients.
    """
    from pyomo.repn import generate_standard_repn

    try:
        flat = generate_standard_repn(getattr(expression, "expr", expression))
        linear = flat.is_linear()
    except Exception as error:
        raise InvalidInput(f"objective {number}: is not a Pyomo expression: {error}") from None
    if not linear:
        raise InvalidInput(f"objective {number}: is not linear; replace products by variables and rows")
    unknown = [v.name for v in flat.linear_vars if id(v) not in matrix.position]
    if unknown:
        raise InvalidInput(f"objective {number}: names {unknown[0]}, a variable of another model")
    index = [matrix.position[id(v)] for v in flat.linear_vars]
    for variable, i in zip(flat.linear_vars, index, strict=True):
        if not integer[i]:
            raise InvalidInput(f"objective {number}: {variable.name} is continuous; only integer variables may appear")
    whole = [_integer_coefficients(c, number) for c in flat.linear_coefs]
    return Linear.of(index, whole, _integer_coefficients(flat.constant, number), sign)


def _integer_coefficients(number: float, objective: int) -> int:
    value = float(number)
    if not abs(value - round(value)) <= ROUNDING:
        raise InvalidInput(
            f"objective {objective}: has the coefficient {value}, expected integers; scale it to integers"
        )
    return round(value)


def from_cp_sat(model: BackendModel, objectives: Sequence[Linear]) -> Program:
    """Return the program of a CP-SAT model of linear rows and clauses; other constraints are refused.

    A literal of index i >= 0 is x_i; a literal of index -i - 1 is 1 - x_i.
    """
    proto = model.proto
    count = len(proto.variables)
    domains = [list(v.domain) for v in proto.variables]
    if any(len(d) != 2 for d in domains):
        raise InvalidInput("a variable's domain has holes; a linear program cannot express them")
    rows: list[tuple[dict[int, int], float, float]] = []
    for constraint in proto.constraints:
        rows += _rows_of_constraint(constraint)
    entries = sorted((j, r, c) for r, (terms, _, _) in enumerate(rows) for j, c in terms.items() if c)
    column = np.array([e[0] for e in entries], dtype=np.int64)
    return Program(
        np.searchsorted(column, np.arange(count + 1)).astype(np.int32),
        np.array([e[1] for e in entries], dtype=np.int32),
        np.array([e[2] for e in entries], dtype=np.float64),
        np.array([r[1] for r in rows], dtype=np.float64),
        np.array([r[2] for r in rows], dtype=np.float64),
        np.array([d[0] for d in domains], dtype=np.float64),
        np.array([d[1] for d in domains], dtype=np.float64),
        np.ones(count, dtype=bool),
        tuple(objectives),
        lambda variable: int(variable.index),
    )


#: CP-SAT's code for "unbounded".
_ENDLESS = 2**62


def _rows_of_constraint(constraint: Constraint) -> list[tuple[dict[int, int], float, float]]:
    enforced = list(constraint.enforcement_literal)
    if constraint.has_linear() and not enforced:
        row = constraint.linear
        ends = list(row.domain)
        if len(ends) == 2:
            terms: dict[int, int] = {}
            for j, c in zip(row.vars, row.coeffs, strict=True):
                terms[j] = terms.get(j, 0) + c
            low = -np.inf if ends[0] <= -_ENDLESS else float(ends[0])
            return [(terms, low, np.inf if ends[1] >= _ENDLESS else float(ends[1]))]
    if constraint.has_bool_or():
        clause = list(constraint.bool_or.literals) + [-e - 1 for e in enforced]
        return [_cardinality_row(clause, 1, np.inf)]
    if constraint.has_bool_and() and enforced:
        negated = [-e - 1 for e in enforced]
        return [_cardinality_row([literal, *negated], 1, np.inf) for literal in constraint.bool_and.literals]
    if constraint.has_at_most_one() and not enforced:
        return [_cardinality_row(list(constraint.at_most_one.literals), -np.inf, 1)]
    if constraint.has_exactly_one() and not enforced:
        return [_cardinality_row(list(constraint.exactly_one.literals), 1, 1)]
    raise InvalidInput("the CP-SAT model has a constraint other than linear rows and clauses; verify with 'cp-sat'")


def _cardinality_row(literals: list[int], low: float, high: float) -> tuple[dict[int, int], float, float]:
    """Return low <= number of true literals <= high as a row."""
    terms: dict[int, int] = {}
    shift = 0
    for literal in literals:
        j, sign = (literal, 1) if literal >= 0 else (-literal - 1, -1)
        terms[j] = terms.get(j, 0) + sign
        shift += literal < 0
    return terms, low - shift, high - shift


def translated(model: BackendModel, values: Mapping[str, Any]) -> tuple[Any, Data, dict[str, tuple[Term, ...]]]:
    """Translate a Pyomo model without its objectives to (CpModel, its variables by name, expressions by name).

    values: name -> linear expression. Rows have the names of the constraints.
    """
    import pyomo.environ as pyo

    goals = list(model.component_data_objects(pyo.Objective, active=True))
    for goal in goals:
        goal.deactivate()
    try:
        program = from_pyomo(model, list(values.values()), ["min"] * len(values))
    finally:
        for goal in goals:
            goal.activate()
    built, expressions, _ = to_cp_sat(program)
    names = [v.name for v in program.columns_of]
    for variable, name in zip(built.proto.variables, names, strict=True):
        variable.name = name
    for row, name in zip(built.proto.constraints, program.row_names, strict=True):
        row.name = name
    variables = {name: built.get_int_var_from_proto_index(i) for i, name in enumerate(names)}
    return built, variables, {n: (Term(1, e),) for n, e in zip(values, expressions, strict=True)}


def to_cp_sat(program: Program) -> tuple[BackendModel, list[Variable], list[str]]:
    """Return (model, objectives, senses) of CP-SAT; variables must be integer and bounded, coefficients integer."""
    from ortools.sat.python import cp_model

    if not program.integer.all() or not np.isfinite(program.lower).all() or not np.isfinite(program.upper).all():
        raise InvalidInput("cp-sat needs bounded integer variables only; verify with 'scip'")
    if np.any(program.values != np.rint(program.values)):
        raise InvalidInput("cp-sat needs integer coefficients in all rows; verify with 'scip'")
    model = cp_model.CpModel()
    x = [model.new_int_var(int(a), int(b), "") for a, b in zip(program.lower, program.upper, strict=True)]
    column, order = program.columns(), np.argsort(program.indices, kind="stable")
    ends = np.searchsorted(program.indices[order], np.arange(len(program.row_lower) + 1))
    for r, (low, high) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        selection = order[ends[r] : ends[r + 1]]
        terms = [x[j] for j in column[selection]]
        row = cp_model.LinearExpr.weighted_sum(terms, [int(v) for v in program.values[selection]]) if terms else 0
        a = cp_model.INT_MIN if low == -np.inf else int(np.ceil(low - ROUNDING))
        b = cp_model.INT_MAX if high == np.inf else int(np.floor(high + ROUNDING))
        model.add_linear_expression_in_domain(row, cp_model.Domain(a, b))
    built = []
    for objective in program.objectives:
        terms = [x[j] for j in objective.index]
        built.append(sum(int(c) * v for c, v in zip(objective.coefficient, terms, strict=True)) + objective.constant)
    return model, built, ["min"] * len(built)
