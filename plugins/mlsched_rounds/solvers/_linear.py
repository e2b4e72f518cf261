"""A linear or integer program, row by row, for HiGHS."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import BackendModel
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.formulation import NO_LIMITS, Limits
from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run

#: Tolerance of HiGHS in rows and reduced costs; its default is 1e-7.
FEASIBLE = 1e-9
#: Choice among many optima of a linear program: a vertex, or a point in the middle of them.
Optimum = Literal["vertex", "interior"]


@dataclasses.dataclass(frozen=True)
class Solved:
    """An optimum: the value, the columns' values, and the rows' prices (0 for an integer program)."""

    value: float
    x: FloatArray
    prices: FloatArray


class Program:
    """min or max cost . x + offset over rows low <= a . x <= high and columns low <= x <= high."""

    def __init__(self) -> None:
        self.cost: list[FloatArray] = []
        self.column_low: list[FloatArray] = []
        self.column_high: list[FloatArray] = []
        self.whole: list[npt.NDArray[np.bool_]] = []
        self.row_low: list[FloatArray] = []
        self.row_high: list[FloatArray] = []
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.columns, self.rows = 0, 0

    def add_columns(
        self, cost: Any, low: float | FloatArray = 0.0, high: float | FloatArray = np.inf, *, whole: bool = False
    ) -> IntArray:
        """Add columns of these costs and return their numbers."""
        cost = np.asarray(cost, dtype=np.float64).ravel()
        self.cost.append(cost)
        self.column_low.append(np.broadcast_to(np.asarray(low, dtype=np.float64), cost.shape))
        self.column_high.append(np.broadcast_to(np.asarray(high, dtype=np.float64), cost.shape))
        self.whole.append(np.full(cost.shape, whole))
        self.columns += len(cost)
        return np.arange(self.columns - len(cost), self.columns)

    def add_rows(self, low: Any, high: Any, count: int | None = None) -> IntArray:
        """Add empty rows between these limits, given as arrays or `count` times a number, and return their numbers."""
        inputs = np.broadcast_shapes(np.shape(low), np.shape(high)) if count is None else (count,)
        self.row_low.append(np.broadcast_to(np.asarray(low, dtype=np.float64), inputs))
        self.row_high.append(np.broadcast_to(np.asarray(high, dtype=np.float64), inputs))
        self.rows += inputs[0]
        return np.arange(self.rows - inputs[0], self.rows)

    def put(self, rows: IntArray, columns: Any, values: Any) -> None:
        """Set entries of the matrix; the arrays must broadcast to one shape. Entries of 0 are left out."""
        i, j, v = np.broadcast_arrays(rows, columns, np.asarray(values, dtype=np.float64))
        keep = v != 0
        self.entries.append((i[keep], j[keep], v[keep]))

    def _lp(self, highspy: BackendModel, maximise: bool) -> BackendModel:
        from scipy.sparse import csc_matrix

        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.columns, self.rows
        lp.col_cost_ = np.concatenate(self.cost)
        lp.col_lower_, lp.col_upper_ = np.concatenate(self.column_low), np.concatenate(self.column_high)
        lp.row_lower_ = np.concatenate([np.zeros(0), *self.row_low])
        lp.row_upper_ = np.concatenate([np.zeros(0), *self.row_high])
        rows, columns, values = (np.concatenate([part[k] for part in self.entries]) for k in range(3))
        matrix = csc_matrix((values, (rows, columns)), shape=(self.rows, self.columns))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        whole = np.concatenate(self.whole)
        if whole.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[w] for w in whole.tolist()]
        if maximise:
            lp.sense_ = highspy.ObjSense.kMaximize
        return lp

    def solve(
        self,
        *,
        maximise: bool = False,
        optimum: Optimum = "vertex",
        deadline: Deadline | None = None,
        gap: float = 0.0,
        limits: Limits = NO_LIMITS,
    ) -> Solved | None:
        """Return the optimum, or None if the program is infeasible.

        Args:
            maximise: Maximise instead of minimise.
            optimum: See `Optimum`.
            deadline: Time limit.
            gap: Relative gap of integer programs.
            limits: Further limits of HiGHS.

        Raises:
            OutOfTime: The deadline passed.
            BackendError: HiGHS proved neither.
        """
        try:
            return self.started(maximise=maximise, optimum=optimum, gap=gap, limits=limits).solve(deadline)
        except Infeasible:
            return None

    def started(
        self, *, maximise: bool = False, optimum: Optimum = "vertex", gap: float = 0.0, limits: Limits = NO_LIMITS
    ) -> Solver:
        """Pass the program to HiGHS, to be solved, changed and solved again; arguments as in `solve`."""
        highspy, highs = import_highspy(), new_highs(limits)
        highs.setOptionValue("mip_rel_gap", gap)
        highs.setOptionValue("mip_abs_gap", FEASIBLE)  # objectives are real
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(option, FEASIBLE)
        if optimum == "interior":
            highs.setOptionValue("solver", "ipm")
            highs.setOptionValue("run_crossover", "off")
        check(highs.passModel(self._lp(highspy, maximise)), "passModel")
        return Solver(highs, self.rows)


class Infeasible(Exception):
    """Error: the rows of a program contradict each other."""


class Solver:
    """A program inside HiGHS. After changes, solves start from the last basis."""

    def __init__(self, highs: Any, rows: int) -> None:
        self._highs, self._rows = highs, rows

    def solve(self, deadline: Deadline | None = None) -> Solved:
        """Return the optimum. Raises Infeasible, OutOfTime at the deadline, BackendError if HiGHS fails to prove it."""
        highs, status = self._highs, import_highspy().HighsModelStatus
        if deadline is not None and (remaining := deadline.remaining()) is not None:
            highs.setOptionValue("time_limit", highs.getRunTime() + max(0.001, remaining))
        run(highs)
        if highs.getModelStatus() == status.kUnknown:
            # The interior point method did not get close enough: use a vertex.
            highs.setOptionValue("run_crossover", "on")
            run(highs)
        ends = highs.getModelStatus()
        if ends in (status.kInfeasible, status.kUnboundedOrInfeasible):
            raise Infeasible
        if ends == status.kTimeLimit:
            raise OutOfTime("highs: the time is over")
        if ends != status.kOptimal:
            raise BackendError(f"highs ended with {ends.name}: neither a proof nor a limit")
        solution = highs.getSolution()
        prices = np.asarray(solution.row_dual) if solution.dual_valid else np.zeros(self._rows)
        return Solved(highs.getInfo().objective_function_value, np.asarray(solution.col_value), prices)

    def change_entry(self, row: int, column: int, value: float) -> None:
        """Change an entry of the matrix."""
        check(self._highs.changeCoeff(row, column, value), "changeCoeff")

    def change_low(self, row: int, low: float) -> None:
        """Change the lower limit of a row without an upper limit."""
        check(self._highs.changeRowBounds(row, low, np.inf), "changeRowBounds")
