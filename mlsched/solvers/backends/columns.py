"""Column generation: the linear relaxation of a choice of one option per block, solved by HiGHS.

    min  sum cost x    sum over the columns of a block = its count    sum use x <= capacity of each row    x >= 0

This module is independent of the problem. Callers add columns whose reduced cost is negative: `solve` returns the
price per unit of each row and the price of each block, and a column is added if cost + price * use is below the price
of its block. Every row can be exceeded, and every block omitted, at a cost above all others. So a solution with prices
always exists, whatever the columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mlsched.core.deadline import MOMENT, Deadline, OutOfTime
from mlsched.core.errors import BackendError
from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.core.formulation import NO_LIMITS
from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run_lp

#: A column: its block (-1 if it is free), its cost, and the rows that it uses with the amounts.
Column = tuple[int, float, Sequence[int], Sequence[float]]


@dataclasses.dataclass
class Relaxed:
    """A solution of the relaxation: its value, the amount of each column, prices of rows and of blocks."""

    value: float
    taken: FloatArray
    price: FloatArray
    of_block: FloatArray


class Relaxation:
    """The linear program over the columns added so far; columns can be ruled out and allowed again."""

    def __init__(self, counts: Sequence[int], capacity: Sequence[float], beyond: float) -> None:
        self.blocks, self.rows, self.columns = len(counts), len(capacity), 0
        self._highs = new_highs(NO_LIMITS)
        self._highs.setOptionValue("presolve", "off")  # presolve would discard the basis of the previous solve
        highspy, infinite = import_highspy(), import_highspy().kHighsInf
        lp = highspy.HighsLp()
        rows = self.blocks + self.rows
        lp.num_col_, lp.num_row_ = rows, rows
        lp.col_cost_ = np.full(rows, beyond)
        lp.col_lower_, lp.col_upper_ = np.zeros(rows), np.full(rows, infinite)
        lower = np.concatenate([np.array(counts, dtype=np.float64), np.full(self.rows, -infinite)])
        lp.row_lower_ = lower
        lp.row_upper_ = np.concatenate([lower[: self.blocks], np.array(capacity, dtype=np.float64)])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = np.arange(rows + 1), np.arange(rows)
        lp.a_matrix_.value_ = np.concatenate([np.ones(self.blocks), -np.ones(self.rows)])
        check(self._highs.passModel(lp), "passModel")
        self._spare = rows

    def add(self, columns: Sequence[Column]) -> None:
        """Add columns; numbering continues from the existing columns."""
        if not columns:
            return
        index: list[int] = []
        value: list[float] = []
        start = []
        for block, _, rows, amounts in columns:
            start.append(len(index))
            if block >= 0:
                index.append(block)
                value.append(1.0)
            index += [self.blocks + r for r in rows]
            value += amounts
        count = len(columns)
        cost = np.array([c[1] for c in columns], dtype=np.float64)
        check(
            self._highs.addCols(
                count,
                cost,
                np.zeros(count),
                np.full(count, import_highspy().kHighsInf),
                len(index),
                np.array(start, dtype=np.int32),
                np.array(index, dtype=np.int32),
                np.array(value, dtype=np.float64),
            ),
            "addCols",
        )
        self.columns += count

    def allow(self, columns: IntArray, allowed: BoolArray) -> None:
        """Allow columns, or rule them out."""
        count = len(columns)
        if count:
            upper = np.where(allowed, import_highspy().kHighsInf, 0.0)
            index = np.asarray(columns, dtype=np.int32) + self._spare
            check(self._highs.changeColsBounds(count, index, np.zeros(count), upper), "changeColsBounds")

    def solve(self, deadline: Deadline) -> Relaxed:
        """Return the optimum over the allowed columns. Raises OutOfTime at the deadline."""
        highs, status = self._highs, import_highspy().HighsModelStatus
        for again in (False, True):
            if (remaining := deadline.remaining(MOMENT)) is not None:
                highs.setOptionValue("time_limit", highs.getRunTime() + remaining)
            run_lp(highs)
            if highs.getModelStatus() == status.kOptimal:
                break
            deadline.check()
            if again:
                raise BackendError(f"highs ended a linear program with {highs.getModelStatus().name}")
            highs.clearSolver()  # a warm start may fail: solve once without it
        solution = highs.getSolution()
        dual = np.asarray(solution.row_dual)
        return Relaxed(
            highs.getInfo().objective_function_value,
            np.asarray(solution.col_value)[self._spare :],
            np.maximum(0.0, -dual[self.blocks :]),
            dual[: self.blocks],
        )


__all__ = ["Column", "OutOfTime", "Relaxation", "Relaxed"]
