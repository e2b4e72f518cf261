"""A linear Pyomo model as the matrices that HiGHS takes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput, SolverError
from mlsched.solvers.backends.canary.models import Feature, features_of

#: Largest coefficient of a row: beyond it, HiGHS' feasibility tolerance (1e-9) is no longer small against one unit.
LARGEST = 1e8


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Rows `row_lower <= A x <= row_upper` in compressed columns; `columns` are the Pyomo variables of x."""

    columns: list[Any]
    starts: Any
    indices: Any
    values: Any
    row_lower: Any
    row_upper: Any
    position: dict[int, int]

    def costs(self, expression: Any) -> tuple[Any, float]:
        """Dense cost vector and constant of a linear expression."""
        from pyomo.repn import generate_standard_repn

        linear = generate_standard_repn(expression)
        if not linear.is_linear():
            raise SolverError("highs: an objective is not linear")
        cost = np.zeros(len(self.columns))
        for variable, weight in zip(linear.linear_vars, linear.linear_coefs, strict=True):
            cost[self.position[id(variable)]] += weight
        return cost, float(linear.constant)

    def features(self) -> frozenset[Feature]:
        """What there is in the model that a solver may be wrong about."""
        return features_of(*bounds_of(self.columns), [*self.values, *self.row_lower, *self.row_upper])


def compile_model(model: Any) -> Matrix:
    """Every variable of the model is a column, whether or not a constraint mentions it."""
    import pyomo.environ as pyo
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    columns = list(model.component_data_objects(pyo.Var, active=True))
    position = {id(v): i for i, v in enumerate(columns)}
    form = LinearStandardFormCompiler().write(model, mixed_form=True)
    if form.A.nnz and abs(form.A.data).max() > LARGEST:
        raise InvalidInput(
            f"highs: a coefficient of {abs(form.A.data).max():.3g} is beyond {LARGEST:.0e}, where floats no longer "
            "separate units; use coarser units (GiB for bytes) or cp-sat, which is exact"
        )
    order = np.array([position[id(v)] for v in form.columns], dtype=np.int64)
    matrix = form.A.tocoo()
    kind = np.array([row.bound_type for row in form.rows], dtype=np.int64)
    rhs = np.asarray(form.rhs, dtype=np.float64)
    shuffled = np.lexsort((matrix.row, order[matrix.col])) if matrix.nnz else np.zeros(0, dtype=np.int64)
    column = order[matrix.col][shuffled] if matrix.nnz else shuffled
    starts = np.searchsorted(column, np.arange(len(columns) + 1)).astype(np.int32)
    # bound_type: 0 equality, 1 upper bound, -1 lower bound.
    return Matrix(
        columns,
        starts,
        matrix.row[shuffled].astype(np.int32),
        matrix.data[shuffled].astype(np.float64),
        np.where(kind == 1, -np.inf, rhs),
        np.where(kind == -1, np.inf, rhs),
        position,
    )


def bounds_of(columns: list[Any]) -> tuple[Any, Any, Any]:
    """Lower and upper bounds of Pyomo variables (infinite where they have none), and which are integer."""
    low = np.array([-np.inf if v.lb is None else v.lb for v in columns], dtype=np.float64)
    high = np.array([np.inf if v.ub is None else v.ub for v in columns], dtype=np.float64)
    return low, high, np.array([v.is_integer() for v in columns], dtype=bool)
