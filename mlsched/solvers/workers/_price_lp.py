"""Good prices, as the duals of a linear program.

On a grid of cells, z_jk is the share of job j's schedules in which it finishes in cell k; in these schedules, s_jk is
the time that it spends in cell k, and x_jkgc the time in configuration c during cell g <= k:

    min   sum (t_k - r_j) z_jk + s_jk
    s.t.  sum_k z_jk = 1;   sum_g,c speed_c x_jkgc >= work_j z_jk;   s_jk <= length_k z_jk
          sum_c x_jkgc <= length_g z_jk  (g < k);   sum_c x_jkkc <= s_jk
          sum_j,k,c use_c x_jkgc <= length_g                    (each cell and resource: its dual is -price)

Jobs finish within their windows. The program begins with the fastest configuration for each number of workers; others
enter by their reduced cost. The prices need not be exact, since `Pricing.bound` proves a bound from any prices.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.fields import FloatArray
from mlsched.solvers.backends.highs import run_lp
from mlsched.solvers.workers._fluid import Fluid, new_highs
from mlsched.solvers.workers._prices import Prices

#: Columns beyond which the program is not built: HiGHS would take tens of seconds.
MOST_COLUMNS = 40_000
#: Rounds in which configurations enter, and the reduced cost (below minus ENTERS) that they need.
ROUNDS, ENTERS = 25, 1e-5
#: HiGHS' simplex_strategy: new columns keep the basis primal feasible.
PRIMAL = 4


@dataclasses.dataclass
class _Matrix:
    """A matrix in compressed columns, to which columns are appended."""

    cost: list[FloatArray] = dataclasses.field(default_factory=list)
    counts: list[np.ndarray] = dataclasses.field(default_factory=list)
    index: list[np.ndarray] = dataclasses.field(default_factory=list)
    value: list[FloatArray] = dataclasses.field(default_factory=list)

    def add(self, cost: FloatArray, index: np.ndarray, value: FloatArray) -> None:
        """Add columns with the same number of entries: index and value are columns x entries."""
        self.cost.append(cost)
        self.counts.append(np.full(len(cost), index.shape[1]))
        self.index.append(index.ravel())
        self.value.append(value.ravel())


def grid(events: FloatArray, arrivals: FloatArray, longest: float) -> FloatArray:
    """Return the borders of cells: all events and arrivals, cells of at most `longest` between, and 4 cells after."""
    borders = np.unique(np.round(np.concatenate([[0.0], events, arrivals]), 9))
    parts = [
        begin + (end - begin) / count * np.arange(count)
        for begin, end in zip(borders[:-1], borders[1:], strict=True)
        for count in [max(1, math.ceil((end - begin) / longest))]
    ]
    return np.concatenate([*parts, borders[-1] + longest * np.arange(5.0)])


def improved(
    fluid: Fluid, times: FloatArray, windows: list[tuple[float, float]], seconds: float | None
) -> Prices | None:
    """Return prices on the grid `times` from the program above; None if it is too large or not solved in time."""
    import highspy

    cells, resources = len(times) - 1, fluid.resources
    begin, end = times[:-1], times[1:]
    chosen_columns = []
    for j in range(fluid.jobs):
        earliest, latest = windows[j]
        start = int(np.searchsorted(times, float(fluid.arrival[j]) - 1e-9))
        able = (end >= earliest) & (begin <= latest) & (np.arange(cells) >= start)
        able &= end - fluid.arrival[j] >= fluid.work[j] * (1 - 1e-9)
        chosen_columns.append((start, np.flatnonzero(able).tolist()))
    size = sum(len(fluid.of(j).base) * (k - start + 1) for j, (start, ks) in enumerate(chosen_columns) for k in ks)
    if size > MOST_COLUMNS or not all(ks for _, ks in chosen_columns):
        return None
    program = _Program(fluid, times, chosen_columns)
    highs = new_highs()
    highs.setOptionValue("presolve", "on")
    highs.passModel(program.lp())
    deadline = Deadline(seconds)
    for _ in range(ROUNDS):
        if (unused := deadline.remaining(MOMENT)) is not None:
            # HiGHS counts its run time from the first solve of an instance on.
            highs.setOptionValue("time_limit", highs.getRunTime() + unused)
        run_lp(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        duals = np.array(highs.getSolution().row_dual)
        new = program.entering(duals)
        if new is None:
            break
        count, index, value = new
        width = index.shape[1]
        highs.addCols(
            count,
            np.zeros(count),
            np.zeros(count),
            np.full(count, np.inf),
            index.size,
            (width * np.arange(count)).astype(np.int32),
            index.ravel().astype(np.int32),
            value.ravel(),
        )
        highs.setOptionValue("presolve", "off")
        highs.setOptionValue("simplex_strategy", PRIMAL)
    price = np.maximum(-duals[: cells * resources].reshape(cells, resources), 0.0)
    return Prices(times, price)


class _Program:
    """The program's rows and columns, and its configurations."""

    def __init__(self, fluid: Fluid, times: FloatArray, chosen: list[tuple[int, list[int]]]) -> None:
        self.fluid, self.matrix = fluid, _Matrix()
        resources, length = fluid.resources, np.diff(times)
        self.capacity = len(length) * resources
        self.lower = [np.full(self.capacity, -np.inf), np.ones(fluid.jobs)]
        self.upper = [np.repeat(length, resources), np.ones(fluid.jobs)]
        self.rows = self.capacity + fluid.jobs
        #: For every job and cell of its finish: job, row of its work, row of its time in the first cell, the cells.
        self.blocks: list[tuple[int, int, int, np.ndarray]] = []
        for j, (start, ks) in enumerate(chosen):
            for k in ks:
                inside = np.arange(start, k + 1)
                work, last, first, count = self.rows, self.rows + 1, self.rows + 2, len(inside)
                self.lower.append(np.concatenate([[0.0, -np.inf], np.full(count, -np.inf)]))
                self.upper.append(np.concatenate([[np.inf, 0.0], np.zeros(count)]))
                self.rows += 2 + count
                z_rows = np.concatenate([[self.capacity + j, work, last], first + np.arange(count - 1)])
                z_values = np.concatenate([[1.0, -fluid.work[j], -length[k]], -length[start:k]])
                self.matrix.add(np.array([times[k] - fluid.arrival[j]]), z_rows[None, :], z_values[None, :])
                self.matrix.add(np.ones(1), np.array([[last, first + count - 1]]), np.array([[1.0, -1.0]]))
                self.blocks.append((j, work, first, inside))
                base = fluid.of(j).base
                g = np.repeat(np.arange(count), len(base))
                index, value = self._columns_of_block(self.blocks[-1], g, np.tile(base, count))
                self.matrix.add(np.zeros(len(g)), index, value)

    def _columns_of_block(
        self, block: tuple[int, int, int, np.ndarray], g: np.ndarray, configuration: np.ndarray
    ) -> tuple[np.ndarray, FloatArray]:
        """Return rows and coefficients of configurations in the block's g-th cells."""
        job, work, first, inside = block
        kind, resources = self.fluid.of(job), self.fluid.resources
        at = (inside[g] * resources)[:, None] + np.arange(resources)
        index = np.concatenate([at, np.full((len(g), 1), work), (first + g)[:, None]], axis=1)
        value = np.concatenate(
            [kind.use[configuration], kind.speed[configuration][:, None], np.ones((len(g), 1))], axis=1
        )
        return index, value

    def entering(self, duals: FloatArray) -> tuple[int, np.ndarray, FloatArray] | None:
        """Return the configuration of most negative reduced cost per block and cell; None if all are non-negative."""
        price = duals[: self.capacity].reshape(-1, self.fluid.resources)
        priced = [price @ kind.use.T for kind in self.fluid.kinds]
        columns = []
        for block in self.blocks:
            job, work, first, inside = block
            gain = duals[work] * self.fluid.of(job).speed + priced[self.fluid.kind[job]][inside]
            gain += duals[first : first + len(inside)][:, None]
            best = gain.argmax(axis=1)
            g = np.flatnonzero(gain[np.arange(len(inside)), best] > ENTERS)
            if len(g):
                columns.append(self._columns_of_block(block, g, best[g]))
        if not columns:
            return None
        index = np.concatenate([f[0] for f in columns])
        return len(index), index, np.concatenate([f[1] for f in columns])

    def lp(self) -> object:
        """Return the program in the form of HiGHS."""
        return _highs_program(self.matrix, np.concatenate(self.lower), np.concatenate(self.upper))


def _highs_program(matrix: _Matrix, lower: FloatArray, upper: FloatArray) -> object:
    import highspy

    cost = np.concatenate(matrix.cost)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(lower)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.zeros(len(cost)), np.full(len(cost), np.inf)
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.concatenate(matrix.counts))]).astype(np.int32)
    lp.a_matrix_.index_ = np.concatenate(matrix.index).astype(np.int32)
    lp.a_matrix_.value_ = np.concatenate(matrix.value)
    return lp
