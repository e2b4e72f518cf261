"""A time-indexed linear relaxation of total_jct over an aggregate of all nodes, without placement and delays.

Y[v, t] in [0, 1]: run v has started by time t; 0 before its head, 1 from its latest start on. Y rises in t; v has not
started by t unless its predecessors had by t minus their duration; the runs under way at t fit into all nodes
together. A job's completion is the first time at which all its runs have ended: T_J minus the times from then on. It
has only mandatory iterations, so the bound is valid for every number of iterations. (Christofides, Alvarez-Valdes,
Tamarit 1987 for the disaggregated precedence rows.)

The bound is not a solver's objective value but the Lagrangian value of its prices, rounded to multiples of 2^-20 and
evaluated in integers. So it is valid despite float errors. Reduced costs then narrow the windows of the starts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import Pool

#: Prices are multiples of 1/SCALE.
SCALE = 2**20

Run = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Relaxed:
    """Windows of the starts, and of the jobs' completions, in plans of total_jct at most a value."""

    earliest: dict[Run, int] = dataclasses.field(default_factory=dict)
    latest: dict[Run, int] = dataclasses.field(default_factory=dict)
    completion: dict[int, tuple[int, int]] = dataclasses.field(default_factory=dict)


class Columns:
    """The variables: one block of consecutive times per run, and one per job for "complete by t"."""

    def __init__(self, windows: dict[Any, tuple[int, int]]) -> None:
        self.windows = windows  # low, high: Y is 0 before low, 1 from high on
        self.offset: dict[Any, int] = {}
        self.count = 0
        for key, (low, high) in windows.items():
            self.offset[key] = self.count
            self.count += max(0, high - low)

    def at(self, key: Any, times: IntArray) -> tuple[IntArray, IntArray]:
        """Return (column or -1, constant) of Y[key, t] for each t."""
        low, high = self.windows[key]
        inside = (times >= low) & (times < high)
        return np.where(inside, self.offset[key] + times - low, -1), (times >= high).astype(np.int64)


class Rows:
    """Rows `sum <= upper` collected as arrays."""

    def __init__(self) -> None:
        self.row: list[IntArray] = []
        self.column: list[IntArray] = []
        self.value: list[IntArray] = []
        self.upper: list[IntArray] = []
        self.count = 0

    def below(self, one: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]) -> None:
        """Add Y of `one` <= Y of `other`, time by time; redundant rows are left out."""
        (a, ca), (b, cb) = one, other
        survivors = ((a >= 0) | (ca > 0)) & (cb == 0)
        a, ca, b = a[survivors], ca[survivors], b[survivors]
        rows = self.count + np.arange(len(a))
        for column, sign in ((a, 1), (b, -1)):
            use = column >= 0
            self._add_entries(rows[use], column[use], np.full(int(use.sum()), sign, dtype=np.int64))
        self.upper.append(-ca)
        self.count += len(a)

    def _add_entries(self, row: IntArray, column: IntArray, value: IntArray) -> None:
        self.row.append(row)
        self.column.append(column)
        self.value.append(value)

    def matrix(self, columns: int) -> tuple[Any, IntArray]:
        """Return (matrix, upper) of the rows."""
        from scipy.sparse import csr_matrix

        parts = [np.concatenate(x) if x else np.zeros(0, dtype=np.int64) for x in (self.value, self.row, self.column)]
        matrix = csr_matrix((parts[0], (parts[1], parts[2])), shape=(self.count, columns), dtype=np.int64)
        return matrix, np.concatenate(self.upper) if self.upper else np.zeros(0, dtype=np.int64)

    def share(self, times: int, entries: list[tuple[IntArray, IntArray, int]], room: IntArray) -> None:
        """Add one row per time: sum of value * column <= room; entries are (times, columns, value)."""
        for at, column, value in entries:
            self._add_entries(self.count + at, column, np.full(len(at), value, dtype=np.int64))
        self.upper.append(room)
        self.count += times


def windows_of(layout: Layout, upper: int) -> dict[Any, tuple[int, int]] | None:
    """Return windows of mandatory runs' starts and of completions for total_jct <= upper; None if infeasible."""
    earliest = [layout.earliest_completion(j) for j in range(layout.jobs)]
    until = layout.latest_completions(upper)
    if any(low > high for low, high in zip(earliest, until, strict=True)):
        return None
    windows: dict[Any, tuple[int, int]] = {}
    for j, i, k in layout.runs():
        if i < layout.mandatory[j]:
            last = until[j] - layout.tail[k][i] - layout.duration[k]
            if layout.is_fixed(k, i):
                last = layout.head[k][i]
            windows[k, i] = layout.head[k][i], last
    for j in range(layout.jobs):
        windows[j] = earliest[j], until[j]
    return windows


def precedence(layout: Layout, columns: Columns, rows: Rows) -> None:
    """Add precedence rows: Y rises in time, runs follow predecessors, and jobs are complete after their last runs."""
    for key, (low, high) in columns.windows.items():
        times = np.arange(low, high - 1)
        rows.below(columns.at(key, times), columns.at(key, times + 1))
    for j, i, k in layout.runs():
        if (k, i) not in columns.windows:
            continue
        low, high = columns.windows[k, i]
        times = np.arange(low, high)
        for u, source, _ in layout.sources(k, i):
            if source >= layout.finished[j]:
                before = columns.at((u, source), times - layout.duration[u])
                rows.below(columns.at((k, i), times), before)
    for j in range(layout.jobs):
        if layout.mandatory[j] > layout.finished[j]:
            times = np.arange(*columns.windows[j])
            for k in layout.sinks(j, layout.mandatory[j] - 1):
                end_literals = columns.at((k, layout.mandatory[j] - 1), times - layout.duration[k])
                rows.below(columns.at(j, times), end_literals)


def capacity_rows(layout: Layout, columns: Columns, rows: Rows, pool: Pool) -> None:
    """Add the capacity of a pool at every time t: sum over runs v of q_v (Y[v, t] - Y[v, t - p_v]) <= capacity.

    Y[v, t] is 1 if v has started by t; q_v and p_v are its demand and duration.
    """
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
            use = column >= 0
            entries.append((times[use] - first, column[use], sign * q))
            room -= sign * q * constant
    rows.share(end - first, entries, room)


class LinearProgram:
    """min cost . y subject to matrix y <= upper, 0 <= y <= 1; total_jct is that plus a constant."""

    def __init__(self, layout: Layout, shared: Sequence[Pool], columns: Columns) -> None:
        rows = Rows()
        precedence(layout, columns, rows)
        for pool in shared:
            capacity_rows(layout, columns, rows, pool)
        self.matrix, self.upper = rows.matrix(columns.count)
        self.cost = np.zeros(columns.count, dtype=np.int64)
        for j in range(layout.jobs):
            low, high = columns.windows[j]
            self.cost[columns.offset[j] : columns.offset[j] + high - low] = -1
        self._constant = sum(columns.windows[j][1] for j in range(layout.jobs)) - sum(layout.arrival)

    def bound(self, prices: IntArray) -> tuple[int, IntArray]:
        """Return the bound of prices on total_jct, and the reduced costs, both in multiples of 1/SCALE.

        min c.y over 0 <= y <= 1, A y <= b is at least -p.b + sum_i min(0, c_i + (A'p)_i) for every p >= 0.
        """
        reduced = SCALE * self.cost + self.matrix.T @ prices
        total = SCALE * self._constant - int(prices @ self.upper) + int(np.minimum(reduced, 0).sum())
        return total, reduced


class LinearBound:
    """The bound from prices for plans of total_jct at most `upper`, for which the columns were built.

    `total` and the `reduced` costs are in multiples of 1/SCALE. In a plan of total_jct at most v, the reduced costs
    of its columns sum up to at most v minus the bound. So prices narrow the windows for every smaller value, most for
    values near the bound.
    """

    def __init__(self, columns: Columns, upper: int, total: int, reduced: IntArray) -> None:
        self._columns, self._upper, self._total, self._reduced = columns, upper, total, reduced
        #: Lower bound on total_jct for plans of total_jct at most `upper`.
        self.bound = -(-total // SCALE)

    def windows(self, value: int) -> Relaxed | None:
        """Return the windows of plans of total_jct at most `value`; None if it is above `upper`."""
        if value > self._upper:
            return None
        earliest: dict[Run, int] = {}
        latest: dict[Run, int] = {}
        completion: dict[int, tuple[int, int]] = {}
        spare = SCALE * value - self._total
        for key, (low, high) in self._columns.windows.items():
            offset = self._columns.offset[key]
            costs = self._reduced[offset : offset + max(0, high - low)]
            never = np.flatnonzero(costs > spare)  # Y[key, t] = 1 is too expensive: starts after t
            always = np.flatnonzero(-costs > spare)  # Y[key, t] = 0 is too expensive: starts by t
            first = low + int(never[-1]) + 1 if never.size else low
            last = low + int(always[0]) if always.size else high
            if isinstance(key, tuple):
                earliest[key], latest[key] = first, last
            else:
                completion[key] = first, last
        return Relaxed(earliest, latest, completion)
