"""A time-indexed linear relaxation of total_jct over an aggregate of all nodes, without placement and delays.

Y[v, t] in [0, 1]: run v has started by time t; 0 before its head, 1 from its latest start on. Y rises in t; v has not
started by t unless its predecessors had by t minus their duration; the runs under way at t fit into all nodes together.
A job's completion is the first time at which all its runs have ended: T_J less the times from then on. Mandatory
iterations only, so the bound holds for every number of iterations. (Christofides, Alvarez-Valdes, Tamarit 1987 for the
disaggregated precedence rows.)

The bound is not HiGHS' objective value but the Lagrangian value of its prices, rounded to multiples of 2^-20 and
evaluated in integers: valid whatever the floats did. Reduced costs then narrow the windows of the starts.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._layout import Layout

#: Prices are multiples of 1/SCALE.
SCALE = 2**20
#: Largest LP that is set up.
MOST_COLUMNS = 150_000

Run = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Relaxed:
    """A bound on total_jct for plans of at most the upper value given, and windows of their starts."""

    bound: int
    earliest: dict[Run, int]
    latest: dict[Run, int]
    completion: dict[int, tuple[int, int]]


class _Columns:
    """The variables: one block of consecutive times a run, and one a job for "complete by t"."""

    def __init__(self, windows: dict[Any, tuple[int, int]]) -> None:
        self.windows = windows  # low, high: Y is 0 before low, 1 from high on
        self.offset: dict[Any, int] = {}
        self.count = 0
        for key, (low, high) in windows.items():
            self.offset[key] = self.count
            self.count += max(0, high - low)

    def at(self, key: Any, times: IntArray) -> tuple[IntArray, IntArray]:
        """(column or -1, constant) of Y[key, t] for each t."""
        low, high = self.windows[key]
        inside = (times >= low) & (times < high)
        return np.where(inside, self.offset[key] + times - low, -1), (times >= high).astype(np.int64)


class _Rows:
    """Rows `sum <= upper` collected as arrays."""

    def __init__(self) -> None:
        self.row: list[IntArray] = []
        self.column: list[IntArray] = []
        self.value: list[IntArray] = []
        self.upper: list[IntArray] = []
        self.count = 0

    def below(self, one: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]) -> None:
        """Y of `one` <= Y of `other`, time by time; rows that always hold are left out."""
        (a, ca), (b, cb) = one, other
        kept = ((a >= 0) | (ca > 0)) & (cb == 0)
        a, ca, b = a[kept], ca[kept], b[kept]
        rows = self.count + np.arange(len(a))
        for column, sign in ((a, 1), (b, -1)):
            used = column >= 0
            self._put(rows[used], column[used], np.full(int(used.sum()), sign, dtype=np.int64))
        self.upper.append(-ca)
        self.count += len(a)

    def _put(self, row: IntArray, column: IntArray, value: IntArray) -> None:
        self.row.append(row)
        self.column.append(column)
        self.value.append(value)

    def share(self, times: int, entries: list[tuple[IntArray, IntArray, int]], room: IntArray) -> None:
        """One row a time: sum of value * column <= room; entries are (times, columns, value)."""
        for at, column, value in entries:
            self._put(self.count + at, column, np.full(len(at), value, dtype=np.int64))
        self.upper.append(room)
        self.count += times


def relax(
    layout: Layout, shared: list[Pool], upper: int, seconds: float | None, threads: int = 1
) -> Relaxed | None:
    """The bound and windows for plans of total_jct <= `upper`; None when the LP is too large or the time is up."""
    windows = _windows(layout, upper)
    if windows is None:
        return Relaxed(upper + 1, {}, {}, {})
    columns = _Columns(windows)
    if columns.count > MOST_COLUMNS:
        return None
    rows = _Rows()
    _precedence(layout, columns, rows)
    for pool in shared:
        _capacity(layout, columns, rows, pool)
    cost = np.zeros(columns.count, dtype=np.int64)
    constant = -sum(layout.arrival)
    for j in range(layout.jobs):
        low, high = windows[j]
        cost[columns.offset[j] : columns.offset[j] + high - low] = -1
        constant += high
    matrix = _matrix(rows, columns.count)
    most = np.concatenate(rows.upper) if rows.upper else np.zeros(0, dtype=np.int64)
    prices = _prices(matrix, cost, most, seconds, threads)
    if prices is None:
        return None
    # min c.y over 0 <= y <= 1, A y <= b is at least -p.b + sum_i min(0, c_i + (A'p)_i) for every p >= 0.
    reduced = SCALE * cost + matrix.T @ prices
    total = SCALE * constant - int(prices @ most) + int(np.minimum(reduced, 0).sum())
    return _narrowed(layout, columns, -(-total // SCALE), reduced, SCALE * upper - total)


def _windows(layout: Layout, upper: int) -> dict[Any, tuple[int, int]] | None:
    """Starts of mandatory runs and completions of jobs for plans of total_jct <= upper; None: there are none."""
    least = [layout.least_completion(j) for j in range(layout.jobs)]
    spare = upper + sum(layout.arrival) - sum(least)
    if spare < 0:
        return None
    windows: dict[Any, tuple[int, int]] = {}
    for j, i, k in layout.runs():
        if i < layout.least[j]:
            last = least[j] + spare - layout.tail[k][i] - layout.duration[k]
            if layout.is_fixed(k, i):
                last = layout.head[k][i]
            windows[k, i] = layout.head[k][i], last
    for j in range(layout.jobs):
        windows[j] = least[j], least[j] + spare
    return windows


def _precedence(layout: Layout, columns: _Columns, rows: _Rows) -> None:
    for key, (low, high) in columns.windows.items():
        times = np.arange(low, high - 1)
        rows.below(columns.at(key, times), columns.at(key, times + 1))
    for j, i, k in layout.runs():
        if i >= layout.least[j]:
            continue
        low, high = columns.windows[k, i]
        times = np.arange(low, high)
        for u, source, _ in layout.sources(k, i):
            if source >= layout.first[j]:
                before = columns.at((u, source), times - layout.duration[u])
                rows.below(columns.at((k, i), times), before)
    for j in range(layout.jobs):
        if layout.least[j] > layout.first[j]:
            times = np.arange(*columns.windows[j])
            for k in layout.sinks(j, layout.least[j] - 1):
                ended = columns.at((k, layout.least[j] - 1), times - layout.duration[k])
                rows.below(columns.at(j, times), ended)


def _capacity(layout: Layout, columns: _Columns, rows: _Rows, pool: Pool) -> None:
    """sum_v q_v (Y[v, t] - Y[v, t - p_v]) <= capacity at every time."""
    runs = [(k, i) for j, i, k in layout.runs() if i < layout.least[j] and k in pool.demand]
    if not runs or sum(q for q in pool.demand.values()) <= pool.capacity:
        return
    first = min(columns.windows[run][0] for run in runs)
    end = max(columns.windows[run][1] + layout.duration[run[0]] for run in runs)
    room = np.full(end - first, pool.capacity, dtype=np.int64)
    entries = []
    times = np.arange(first, end)
    for run in runs:
        q = pool.demand[run[0]]
        for shift, sign in ((0, 1), (layout.duration[run[0]], -1)):
            column, constant = columns.at(run, times - shift)
            used = column >= 0
            entries.append((times[used] - first, column[used], sign * q))
            room -= sign * q * constant
    rows.share(end - first, entries, room)


def _matrix(rows: _Rows, columns: int) -> Any:
    from scipy.sparse import csc_matrix

    parts = [np.concatenate(x) if x else np.zeros(0, dtype=np.int64) for x in (rows.value, rows.row, rows.column)]
    return csc_matrix((parts[0], (parts[1], parts[2])), shape=(rows.count, columns), dtype=np.int64)


def _prices(matrix: Any, cost: IntArray, upper: IntArray, seconds: float | None, threads: int) -> IntArray | None:
    """Prices >= 0 of the rows in multiples of 1/SCALE; None when the limit struck first."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = cost.astype(np.float64)
    lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), np.ones(len(cost))
    lp.row_lower_, lp.row_upper_ = np.full(len(upper), -np.inf), upper.astype(np.float64)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    highs = highspy.Highs()
    # Without this reset a second thread count in one process ends in kNotset, without any solution.
    highspy.Highs.resetGlobalScheduler(True)
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", threads)
    if seconds is not None:
        highs.setOptionValue("time_limit", max(0.01, seconds))
    highs.passModel(lp)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        # No prices to check: left to exact arithmetic, which can use any.
        return np.zeros(len(upper), dtype=np.int64)
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    found = -np.asarray(highs.getSolution().row_dual, dtype=np.float64)
    return np.rint(np.maximum(found, 0) * SCALE).astype(np.int64)


def _narrowed(layout: Layout, columns: _Columns, bound: int, reduced: IntArray, spare: int) -> Relaxed:
    """Windows by reduced cost: a plan in which a column sits at its dearer end costs `reduced` more than the bound."""
    earliest, latest = {}, {}
    completion = {}
    for key, (low, high) in columns.windows.items():
        costs = reduced[columns.offset[key] : columns.offset[key] + max(0, high - low)]
        never = np.flatnonzero(costs > spare)  # Y[key, t] = 1 is too dear: starts after t
        always = np.flatnonzero(-costs > spare)  # Y[key, t] = 0 is too dear: starts by t
        first = low + int(never[-1]) + 1 if never.size else low
        last = low + int(always[0]) if always.size else high
        if isinstance(key, tuple):
            earliest[key], latest[key] = first, last
        else:
            completion[key] = first, last
    return Relaxed(bound, earliest, latest, completion)
