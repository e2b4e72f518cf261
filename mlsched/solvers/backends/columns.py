"""Columns and prices: the linear relaxation of a choice of one option in every block, by HiGHS.

    min  sum cost x    sum over the columns of a block = its count    sum use x <= capacity of each row    x >= 0

Nothing here knows a problem. Whoever asks adds columns as prices make them worth while: `solve` gives the price of a
unit of each row and the price of each block, and a column is worth adding when cost + price * use is below its block's.
Every row can be overdrawn, and every block left out, at a cost beyond all others: so there always is a solution, and
prices, whatever columns are there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.deadline import MOMENT, Deadline, OutOfTime
from mlsched.core.errors import BackendError
from mlsched.core.formulation import NO_LIMITS
from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run_lp

#: Of a column: its block (-1: none), its cost, and the rows it uses with the amounts.
Column = tuple[int, float, Sequence[int], Sequence[float]]


@dataclasses.dataclass
class Relaxed:
    """A solution of the relaxation: its value, how often each column is taken, prices of rows and of blocks."""

    value: float
    taken: Any
    price: Any
    of_block: Any


class Relaxation:
    """The linear program over the columns added so far; columns can be ruled out and allowed again."""

    def __init__(self, counts: Sequence[int], capacity: Sequence[float], beyond: float) -> None:
        self.blocks, self.rows, self.columns = len(counts), len(capacity), 0
        self._highs = new_highs(NO_LIMITS)
        self._highs.setOptionValue("presolve", "off")  # it would throw the basis of the solve before away
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
        """Add columns; they are numbered on."""
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

    def allow(self, columns: Any, allowed: Any) -> None:
        """Rule columns out, or allow them again."""
        count = len(columns)
        if count:
            upper = np.where(allowed, import_highspy().kHighsInf, 0.0)
            index = np.asarray(columns, dtype=np.int32) + self._spare
            check(self._highs.changeColsBounds(count, index, np.zeros(count), upper), "changeColsBounds")

    def solve(self, deadline: Deadline) -> Relaxed:
        """The optimum over the allowed columns. Raises OutOfTime at the deadline."""
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
            highs.clearSolver()  # a warm start may go wrong: once more without
        solution = highs.getSolution()
        dual = np.asarray(solution.row_dual)
        return Relaxed(
            highs.getInfo().objective_function_value,
            np.asarray(solution.col_value)[self._spare :],
            np.maximum(0.0, -dual[self.blocks :]),
            dual[: self.blocks],
        )


__all__ = ["Column", "OutOfTime", "Relaxation", "Relaxed"]
