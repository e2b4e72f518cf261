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
import threading
import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._packing import Packing

#: Prices are multiples of 1/SCALE.
SCALE = 2**20
#: Largest LP that is set up.
MOST_COLUMNS = 150_000

#: Rounds in which violated pools are added, and pools a round.
MOST_ROUNDS, MOST_POOLS = 6, 4

Run = tuple[int, int]

#: HiGHS has one scheduler of threads a process, which cannot be set up anew while another thread solves.
_ALONE = threading.Lock()


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

    def take(self, columns: int) -> tuple[Any, IntArray]:
        """(matrix, upper) of the rows so far, which are then forgotten."""
        from scipy.sparse import csr_matrix

        parts = [np.concatenate(x) if x else np.zeros(0, dtype=np.int64) for x in (self.value, self.row, self.column)]
        matrix = csr_matrix((parts[0], (parts[1], parts[2])), shape=(self.count, columns), dtype=np.int64)
        upper = np.concatenate(self.upper) if self.upper else np.zeros(0, dtype=np.int64)
        self.__init__()  # type: ignore[misc]
        return matrix, upper

    def share(self, times: int, entries: list[tuple[IntArray, IntArray, int]], room: IntArray) -> None:
        """One row a time: sum of value * column <= room; entries are (times, columns, value)."""
        for at, column, value in entries:
            self._put(self.count + at, column, np.full(len(at), value, dtype=np.int64))
        self.upper.append(room)
        self.count += times


def relax(layout: Layout, shared: list[Pool], upper: int, seconds: float | None, threads: int = 1) -> Relaxed | None:
    """The bound and windows for plans of total_jct <= `upper`; None when the LP is too large or the time is up.

    Pools that the solution violates (`_packing`) are added to `shared` and to the LP, round by round.
    """
    until = None if seconds is None else time.perf_counter() + seconds
    windows = _windows(layout, upper, range(layout.jobs))
    if windows is None:
        return Relaxed(upper + 1, {}, {}, {})
    columns = _Columns(windows)
    if columns.count > MOST_COLUMNS:
        return None
    with _ALONE:
        return _rounds(layout, shared, upper, columns, until, threads)


def least_of(
    layout: Layout, shared: Sequence[Pool], upper: int, jobs: Collection[int], seconds: float | None, threads: int = 1
) -> int | None:
    """A bound of the sum of the completions (absolute) of some jobs in plans of total_jct <= `upper`, as if there were
    no others; None as for `relax`, where as many LPs as there are jobs count together."""
    windows = _windows(layout, upper, jobs)
    if windows is None:
        return upper + sum(layout.arrival) + 1
    columns = _Columns(windows)
    if columns.count * layout.jobs > MOST_COLUMNS:
        return None
    with _ALONE:
        program, constant = _program(layout, shared, columns, jobs, threads)
        solved = program.solve(seconds)
    return None if solved is None else -(-program.bound(solved[0], constant)[0] // SCALE)


def _rounds(
    layout: Layout, shared: list[Pool], upper: int, columns: _Columns, until: float | None, threads: int
) -> Relaxed | None:
    """The LP, with violated pools added until there are none or it is over."""
    rows = _Rows()
    program, constant = _program(layout, shared, columns, range(layout.jobs), threads)
    constant -= sum(layout.arrival)
    packing = Packing(layout)
    best: Relaxed | None = None
    for _ in range(MOST_ROUNDS):
        solved = program.solve(None if until is None else until - time.perf_counter())
        if solved is None:
            break
        prices, solution = solved
        total, reduced = program.bound(prices, constant)
        bound = -(-total // SCALE)
        gained = best is None or bound > best.bound
        best = _narrowed(columns, bound, reduced, SCALE * upper - total, best)
        found = _violated(layout, columns, packing, solution) if packing.usable and gained and bound < upper else []
        if not found:
            break
        for pool in found:
            shared.append(pool)
            _capacity(layout, columns, rows, pool)
        program.add(rows.take(columns.count))
    return best


def _program(
    layout: Layout, shared: Sequence[Pool], columns: _Columns, jobs: Collection[int], threads: int
) -> tuple[_Program, int]:
    """The LP of some jobs, and a constant to add to its objective for the sum of their completions."""
    rows = _Rows()
    _precedence(layout, columns, rows)
    for pool in shared:
        _capacity(layout, columns, rows, pool)
    cost = np.zeros(columns.count, dtype=np.int64)
    for j in jobs:
        low, high = columns.windows[j]
        cost[columns.offset[j] : columns.offset[j] + high - low] = -1
    program = _Program(cost, threads)
    program.add(rows.take(columns.count))
    return program, sum(columns.windows[j][1] for j in jobs)


def _violated(layout: Layout, columns: _Columns, packing: Packing, solution: Any) -> list[Pool]:
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


def _windows(layout: Layout, upper: int, jobs: Collection[int]) -> dict[Any, tuple[int, int]] | None:
    """Starts of mandatory runs and completions of some jobs for plans of total_jct <= upper; None: there are none."""
    least = [layout.least_completion(j) for j in range(layout.jobs)]
    until = layout.latest_completions(upper)
    if any(low > high for low, high in zip(least, until, strict=True)):
        return None
    windows: dict[Any, tuple[int, int]] = {}
    for j, i, k in layout.runs():
        if j in jobs and i < layout.least[j]:
            last = until[j] - layout.tail[k][i] - layout.duration[k]
            if layout.is_fixed(k, i):
                last = layout.head[k][i]
            windows[k, i] = layout.head[k][i], last
    for j in jobs:
        windows[j] = least[j], until[j]
    return windows


def _precedence(layout: Layout, columns: _Columns, rows: _Rows) -> None:
    for key, (low, high) in columns.windows.items():
        times = np.arange(low, high - 1)
        rows.below(columns.at(key, times), columns.at(key, times + 1))
    for j, i, k in layout.runs():
        if (k, i) not in columns.windows:
            continue
        low, high = columns.windows[k, i]
        times = np.arange(low, high)
        for u, source, _ in layout.sources(k, i):
            if source >= layout.first[j]:
                before = columns.at((u, source), times - layout.duration[u])
                rows.below(columns.at((k, i), times), before)
    for j in range(layout.jobs):
        if j in columns.windows and layout.least[j] > layout.first[j]:
            times = np.arange(*columns.windows[j])
            for k in layout.sinks(j, layout.least[j] - 1):
                ended = columns.at((k, layout.least[j] - 1), times - layout.duration[k])
                rows.below(columns.at(j, times), ended)


def _capacity(layout: Layout, columns: _Columns, rows: _Rows, pool: Pool) -> None:
    """sum_v q_v (Y[v, t] - Y[v, t - p_v]) <= capacity at every time."""
    runs = [(k, i) for _, i, k in layout.runs() if (k, i) in columns.windows and k in pool.demand]
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
        self.cost = cost
        self.blocks: list[Any] = []
        self.uppers: list[IntArray] = []

    def add(self, block: tuple[Any, IntArray]) -> None:
        """Rows `matrix y <= upper`."""
        matrix, upper = block
        self.blocks.append(matrix)
        self.uppers.append(upper)
        self.highs.addRows(
            len(upper), np.full(len(upper), -np.inf), upper.astype(np.float64), matrix.nnz,
            matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64),
        )  # fmt: skip

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
        solution = self.highs.getSolution()
        prices = np.maximum(-np.asarray(solution.row_dual, dtype=np.float64), 0)
        return np.rint(prices * SCALE).astype(np.int64), np.asarray(solution.col_value)


def _narrowed(columns: _Columns, bound: int, reduced: IntArray, spare: int, known: Relaxed | None) -> Relaxed:
    """Windows by reduced cost: a plan in which a column sits at its dearer end costs `reduced` more than the bound."""
    earliest: dict[Run, int] = {}
    latest: dict[Run, int] = {}
    completion: dict[int, tuple[int, int]] = {}
    for key, (low, high) in columns.windows.items():
        costs = reduced[columns.offset[key] : columns.offset[key] + max(0, high - low)]
        never = np.flatnonzero(costs > spare)  # Y[key, t] = 1 is too dear: starts after t
        always = np.flatnonzero(-costs > spare)  # Y[key, t] = 0 is too dear: starts by t
        first = low + int(never[-1]) + 1 if never.size else low
        last = low + int(always[0]) if always.size else high
        if isinstance(key, tuple):
            earliest[key] = first if known is None else max(first, known.earliest[key])
            latest[key] = last if known is None else min(last, known.latest[key])
        else:
            before = (first, last) if known is None else known.completion[key]
            completion[key] = max(first, before[0]), min(last, before[1])
    return Relaxed(bound if known is None else max(bound, known.bound), earliest, latest, completion)
