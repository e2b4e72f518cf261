"""The linear relaxation of total_jct solved by HiGHS, with pools that its solution violates added round by round."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._relaxation import (
    SCALE,
    Columns,
    LinearBound,
    Rows,
    capacity_rows,
    precedence,
    windows_of,
)
from mlsched.solvers.taskgraph.bounds.packing import Packing

#: Largest LP that is set up.
MOST_COLUMNS = 150_000

#: Rounds in which violated pools are added, and pools a round.
MOST_ROUNDS, MOST_POOLS = 6, 4

#: Deterministic time that is booked for an iteration of the simplex method, a column of the LP.
ITERATION = 2e-8

#: HiGHS has one scheduler of threads a process, which cannot be set up anew while another thread solves.
_ALONE = threading.Lock()


def relax(
    layout: Layout, shared: list[Pool], upper: int, seconds: float | None, threads: int = 1
) -> tuple[LinearBound | None, float]:
    """What the relaxation proves of plans of total_jct <= `upper`, and the deterministic time that is booked for it.

    Nothing (None) where the LP is too large, the time is up, or no plan can be so good. Pools that the solution violates
    (`packing`) are added to `shared` and to the LP, round by round.
    """
    until = None if seconds is None else time.perf_counter() + seconds
    windows = windows_of(layout, upper)
    columns = None if windows is None else Columns(windows)
    if columns is None or columns.count > MOST_COLUMNS:
        return None, 0.0
    with _ALONE:
        return _rounds(layout, shared, LinearBound(columns, upper), until, threads)


def _rounds(
    layout: Layout, shared: list[Pool], found: LinearBound, until: float | None, threads: int
) -> tuple[LinearBound | None, float]:
    """The LP, with violated pools added until there are none or the bound does not rise."""
    rows, columns = Rows(), found.columns
    program, constant = _program(layout, shared, columns, threads)
    constant -= sum(layout.arrival)
    packing = Packing(layout)
    before: int | None = None
    for _ in range(MOST_ROUNDS):
        solved = program.solve(None if until is None else until - time.perf_counter())
        if solved is None:
            break
        prices, solution = solved
        found.add(*program.bound(prices, constant))
        gained = before is None or found.bound > before
        before = found.bound
        pools = _violated(layout, columns, packing, solution) if packing.usable and gained else []
        if not pools or before >= found.upper:
            break
        for pool in pools:
            shared.append(pool)
            capacity_rows(layout, columns, rows, pool)
        program.add(rows.take(columns.count))
    work = ITERATION * program.iterations * columns.count
    return (None if before is None else found), work


def _program(layout: Layout, shared: Sequence[Pool], columns: Columns, threads: int) -> tuple[_Program, int]:
    """The LP, and a constant to add to its objective for the sum of their completions."""
    rows = Rows()
    precedence(layout, columns, rows)
    for pool in shared:
        capacity_rows(layout, columns, rows, pool)
    cost = np.zeros(columns.count, dtype=np.int64)
    for j in range(layout.jobs):
        low, high = columns.windows[j]
        cost[columns.offset[j] : columns.offset[j] + high - low] = -1
    program = _Program(cost, threads)
    program.add(rows.take(columns.count))
    return program, sum(columns.windows[j][1] for j in range(layout.jobs))


def _violated(layout: Layout, columns: Columns, packing: Packing, solution: Any) -> list[Pool]:
    """Pools that an LP solution violates at some time, at most MOST_POOLS."""
    end = max(high for _, high in columns.windows.values())
    times = np.arange(min(low for low, _ in columns.windows.values()), end)
    active = np.zeros((len(packing.tasks), len(times)))
    number = {k: n for n, k in enumerate(packing.tasks)}
    padded = np.append(solution, 0.0)  # column -1: the constant decides
    for (k, i), column in ((key, key) for key in columns.windows if isinstance(key, tuple)):
        if k in number:
            at, constant = columns.at(column, times)
            ended, over = columns.at((k, i), times - layout.duration[k])
            active[number[k]] += padded[at] + constant - padded[ended] - over
    found: list[Pool] = []
    known: set[tuple[tuple[int, int], ...]] = set()
    busiest = np.argsort(-active.sum(axis=0), kind="stable")
    for t in busiest[: 8 * MOST_POOLS].tolist():
        level = active[:, t]
        loads = [sum(q * level[number[k]] for k, q in pool.demand.items()) / pool.capacity for pool in found]
        if any(load > 1 + 1e-3 for load in loads):
            continue  # a pool found just now cuts this time off as well
        pool = packing.violated(level)
        if pool is not None and (key := tuple(sorted(pool.demand.items()))) not in known:
            known.add(key)
            found.append(pool)
            if len(found) == MOST_POOLS:
                break
    return found


class _Program:
    """The LP inside HiGHS; rows are added between solves."""

    def __init__(self, cost: IntArray, threads: int) -> None:
        import highspy

        self.highs = highspy.Highs()
        # Without this reset a second thread count in one process ends in kNotset, without any solution.
        highspy.Highs.resetGlobalScheduler(True)
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", threads)
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = 0, len(cost)
        lp.col_cost_ = cost.astype(np.float64)
        lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), np.ones(len(cost))
        lp.a_matrix_.start_ = np.zeros(len(cost) + 1, dtype=np.int32)
        self.highs.passModel(lp)
        self.cost, self.iterations = cost, 0
        self.blocks: list[Any] = []
        self.uppers: list[IntArray] = []

    def add(self, block: tuple[Any, IntArray]) -> None:
        """Rows `matrix y <= upper`."""
        matrix, upper = block
        self.blocks.append(matrix)
        self.uppers.append(upper)
        self.highs.addRows(
            len(upper),
            np.full(len(upper), -np.inf),
            upper.astype(np.float64),
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )

    def matrix(self) -> Any:
        from scipy.sparse import vstack

        return vstack(self.blocks, format="csr")

    def upper(self) -> IntArray:
        return np.concatenate(self.uppers)

    def bound(self, prices: IntArray, constant: int) -> tuple[int, IntArray]:
        """What prices prove of the objective plus a constant, and the reduced costs, both in multiples of 1/SCALE.

        min c.y over 0 <= y <= 1, A y <= b is at least -p.b + sum_i min(0, c_i + (A'p)_i) for every p >= 0.
        """
        reduced = SCALE * self.cost + self.matrix().T @ prices
        total = SCALE * constant - int(prices @ self.upper()) + int(np.minimum(reduced, 0).sum())
        return total, reduced

    def solve(self, seconds: float | None) -> tuple[IntArray, Any] | None:
        """(prices >= 0 of the rows in multiples of 1/SCALE, column values); None when the limit struck first."""
        import highspy

        if seconds is not None:
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(0.01, seconds))
        self.highs.run()
        # Infeasible means that no plan is as good as `upper`, which some plan attains; there are no prices to show it.
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        self.iterations += max(0, self.highs.getInfo().simplex_iteration_count)
        solution = self.highs.getSolution()
        prices = np.maximum(-np.asarray(solution.row_dual, dtype=np.float64), 0)
        return np.rint(prices * SCALE).astype(np.int64), np.asarray(solution.col_value)
