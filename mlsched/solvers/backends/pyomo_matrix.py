"""Conversion of a linear Pyomo model to the matrices that HiGHS reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mlsched.core.aliases import BackendModel, Constraint, Variable
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import BoolArray, FloatArray
from mlsched.solvers.backends.known_bugs.models import Feature, features_of

#: Largest coefficient of a row: beyond it, HiGHS' feasibility tolerance (1e-9) is too large compared with one unit.
LARGEST = 1e8


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Rows `row_lower <= A x <= row_upper` in compressed columns; `columns` are the Pyomo variables of x.

    constraints: the Pyomo constraint of each row.
    """

    columns: list[Any]
    starts: Any
    indices: Any
    values: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    position: dict[int, int]
    constraints: Sequence[Constraint] = ()

    @property
    def row_names(self) -> list[str]:
        """Return the name of each row's constraint."""
        return [constraint.name for constraint in self.constraints]

    def costs(self, expression: Any) -> tuple[FloatArray, float]:
        """Return the dense cost vector and the constant of a linear expression."""
        from pyomo.repn import generate_standard_repn

        linear = generate_standard_repn(expression)
        if not linear.is_linear():
            raise BackendError("highs: an objective is not linear")
        cost = np.zeros(len(self.columns))
        for variable, weight in zip(linear.linear_vars, linear.linear_coefs, strict=True):
            cost[self.position[id(variable)]] += weight
        return cost, float(linear.constant)

    def features(self) -> frozenset[Feature]:
        """Return the features of the model about which a solver may be wrong."""
        return features_of(*bounds_of(self.columns), [*self.values, *self.row_lower, *self.row_upper])


def compile_model(model: BackendModel) -> Matrix:
    """Return the matrix of a model: a column per variable, even if unused, and a row per constraint.

    Pyomo's own compiler (`LinearStandardFormCompiler`) imports scipy.stats before its first model, which takes more CPU
    time than most models. On small models it is also several times slower.
    """
    import pyomo.environ as pyo

    _refuse_unknown(model)
    columns = list(model.component_data_objects(pyo.Var, active=True))
    position = {id(v): i for i, v in enumerate(columns)}
    rows = [_row_of_constraint(row) for row in model.component_data_objects(pyo.Constraint, active=True)]
    rows = [row for row in rows if row.says_something]
    counts = [len(row.variables) for row in rows]
    places = map(position.__getitem__, map(id, chain.from_iterable(row.variables for row in rows)))
    column = np.fromiter(places, dtype=np.int64, count=sum(counts))
    coefficients = chain.from_iterable(row.coefficients for row in rows)
    values = np.fromiter(coefficients, dtype=np.float64, count=sum(counts))
    if len(values) and (largest := abs(values).max()) > LARGEST:
        raise InvalidInput(
            f"highs: a coefficient of {largest:.3g} is beyond {LARGEST:.0e}, so floats cannot separate units; "
            "use coarser units (GiB for bytes) or cp-sat, which is exact"
        )
    by_column = np.argsort(column, kind="stable")
    return Matrix(
        columns,
        np.searchsorted(column[by_column], np.arange(len(columns) + 1)).astype(np.int32),
        np.repeat(np.arange(len(rows)), counts)[by_column].astype(np.int32),
        values[by_column],
        np.array([row.lower for row in rows], dtype=np.float64),
        np.array([row.upper for row in rows], dtype=np.float64),
        position,
        [row.constraint for row in rows],
    )


class _Row(NamedTuple):
    """lower <= coefficients * variables <= upper, for a Pyomo constraint."""

    coefficients: Sequence[float]
    variables: Sequence[Variable]
    lower: float
    upper: float
    constraint: Constraint

    @property
    def says_something(self) -> bool:
        """Return False if all values satisfy the row."""
        unbounded = self.lower == -np.inf and self.upper == np.inf
        return not unbounded and (len(self.variables) > 0 or not self.lower <= 0 <= self.upper)


def _row_of_constraint(constraint: Constraint) -> _Row:
    """Return the row of a linear Pyomo constraint; fixed variables move to its bounds."""
    import pyomo.environ as pyo
    from pyomo.repn import generate_standard_repn

    low, body, high = constraint.to_bounded_expression()
    linear = generate_standard_repn(body, quadratic=False)
    if linear.nonlinear_expr is not None:
        raise InvalidInput(f"constraint {constraint.name} is not linear")
    lower = -np.inf if low is None else float(pyo.value(low)) - linear.constant
    upper = np.inf if high is None else float(pyo.value(high)) - linear.constant
    return _Row(linear.linear_coefs, linear.linear_vars, lower, upper, constraint)


def _refuse_unknown(model: BackendModel) -> None:
    """Refuse restrictions other than rows, such as special ordered sets, which a matrix would ignore."""
    import pyomo.environ as pyo
    from pyomo.repn.util import categorize_valid_components

    known_types = {
        pyo.Block,
        pyo.Constraint,
        pyo.Expression,
        pyo.Objective,
        pyo.Param,
        pyo.RangeSet,
        pyo.Set,
        pyo.Suffix,
    }
    _, unknown = categorize_valid_components(model, active=True, valid={*known_types, pyo.Var})
    if unknown:
        names = ", ".join(sorted({kind.__name__ for kind in unknown}))
        raise InvalidInput(f"the Pyomo model has active components other than linear rows: {names}")


def bounds_of(columns: list[Any]) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return lower and upper bounds of Pyomo variables (infinite if missing), and which variables are integer."""
    low = np.array([-np.inf if v.lb is None else v.lb for v in columns], dtype=np.float64)
    high = np.array([np.inf if v.ub is None else v.ub for v in columns], dtype=np.float64)
    return low, high, np.array([v.is_integer() for v in columns], dtype=bool)
