"""The linear relaxation of total_jct solved by HiGHS: its prices give a bound that is evaluated in integers.

Without it: 3 instead of 4 of 6 hard `six-replicas` proved, and 3 instead of 4 of 5 `eight-replicas`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._relaxation import SCALE, Columns, LinearBound, LinearProgram, windows_of
from mlsched.solvers.backends.highs import run_lp

#: Largest LP that is built.
MOST_COLUMNS = 150_000
#: Deterministic time that is charged for an iteration of the simplex method, per column of the LP.
ITERATION = 2e-8

#: HiGHS has one thread scheduler per process, which cannot be reset while another thread solves.
_ALONE = threading.Lock()


def relax(
    layout: Layout, shared: Sequence[Pool], upper: int, seconds: float | None, threads: int = 1
) -> tuple[LinearBound | None, float]:
    """Return the relaxation's bound on plans of total_jct <= `upper`, and the deterministic time to charge for it.

    The bound is None if the LP is too large, the time is over, or such a plan does not exist.
    """
    windows = windows_of(layout, upper)
    columns = None if windows is None else Columns(windows)
    if columns is None or columns.count > MOST_COLUMNS:
        return None, 0.0
    program = LinearProgram(layout, shared, columns)
    with _ALONE:
        prices, iterations = _solve_prices(program, seconds, threads)
    work = ITERATION * iterations * columns.count
    return (None if prices is None else LinearBound(columns, upper, *program.bound(prices))), work


def _solve_prices(program: LinearProgram, seconds: float | None, threads: int) -> tuple[IntArray | None, int]:
    """Return prices >= 0 of the rows in multiples of 1/SCALE (None if the limit came first), and simplex iterations."""
    import highspy

    highs = highspy.Highs()
    # Without this reset, a second number of threads in one process ends in kNotset, without any solution.
    highspy.Highs.resetGlobalScheduler(True)
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", threads)
    if seconds is not None:
        highs.setOptionValue("time_limit", max(0.01, seconds))
    lp = highspy.HighsLp()
    matrix, count = program.matrix, len(program.cost)
    lp.num_row_, lp.num_col_ = len(program.upper), count
    lp.col_cost_ = program.cost.astype(np.float64)
    lp.col_lower_, lp.col_upper_ = np.zeros(count), np.ones(count)
    lp.row_lower_, lp.row_upper_ = np.full(lp.num_row_, -np.inf), program.upper.astype(np.float64)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    highs.passModel(lp)
    run_lp(highs)
    iterations = max(0, highs.getInfo().simplex_iteration_count)
    # Infeasible would mean that all plans are worse than `upper`, which a plan attains; it does not give prices as
    # proof.
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None, iterations
    prices = np.maximum(-np.asarray(highs.getSolution().row_dual, dtype=np.float64), 0)
    return np.rint(prices * SCALE).astype(np.int64), iterations
