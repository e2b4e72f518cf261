"""Cheapest execution of a piece under prices over time, with pauses at any time.

Prices q(t) >= 0, one number per resource, are constant on equal intervals of time, and 0 after the last. A piece of
release a, length p, weight w and demand d that ends at E pays w for every tick from a to E, and d . q(t) for every tick
t in which it runs. For a given E, it is best to run in the p cheapest ticks of [a, E). The remaining choice is the best
E.

The search begins at E = a + p, without any pause; its cost bounds the gain of waiting. From there E moves interval by
interval. Within an interval of price c, a later end costs w + c per tick and saves the dearest tick so far: it pays as
long as that tick costs more than w + c. So in each interval the ticks dearer than w + c are replaced by its own, the
dearest first, until one of the two is used up.

All of this is exact if the numbers are integers. Pieces with about the same number of relevant intervals are processed
together: rows of a table whose columns are the intervals, sorted by the piece's payment there.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.bound.prices import Prices, Ways

#: Largest number of entries of a table.
MOST_ENTRIES = 2**20
#: The time of a small table is in its calls, not its entries. So pieces with up to NARROW relevant intervals share one,
#: and several ends of the same pieces are examined together, up to MOST_TOGETHER entries.
NARROW, MOST_TOGETHER = 16, 2**15


def cheapest(ways: Ways, prices: Prices) -> tuple[FloatArray, FloatArray, int]:
    """Compute the cheapest execution of each piece.

    Returns:
        The cost of each piece; the joint use of all (demand x ticks), shape (intervals, resources); and the effort, in
            examined table entries.
    """
    count = len(prices.values)
    rate = prices.rate
    soonest = ways.release + ways.length
    at_once = prices.paid(ways.demand, ways.release, soonest)
    # After the end of the prices, a piece only waits for its own ticks.
    latest = np.clip(soonest + at_once / ways.weight, soonest, np.maximum(prices.end + ways.length, soonest))
    first, first_end, last = (
        ((time - prices.start) // prices.step).astype(np.int64) for time in (ways.release, soonest, latest)
    )
    cost, use, work = np.empty(len(soonest)), np.zeros((count + 1, ways.demand.shape[1])), 0
    for group in groups(last - first + 1):
        number = first[group][:, None] + np.arange(int((last - first)[group].max()) + 1)
        pays = rate[np.minimum(number, count)] @ ways.demand[group][:, :, None]
        table = _Table(ways, group, prices, number, pays[:, :, 0])
        cost[group], ran = table.least(first_end[group] - first[group], last[group] - first[group])
        work += table.work
        for r in range(use.shape[1]):
            amount = (ran * ways.demand[group, r][:, None]).ravel()
            use[:, r] += np.bincount(np.minimum(number, count).ravel(), amount, minlength=count + 1)
    return cost, use[:-1], work


def groups(widths: IntArray) -> list[IntArray]:
    """Return groups of pieces of about equal width, such that tables stay below the size limit."""
    size = np.ceil(np.log2(np.maximum(widths, NARROW))).astype(np.int64)
    parts_found: list[IntArray] = []
    for one in np.unique(size):
        members = np.flatnonzero(size == one)
        parts = len(members) * int(widths[members].max()) // MOST_ENTRIES + 1
        parts_found += [part for part in np.array_split(members, parts) if part.size]
    return parts_found


class _Table:
    """Some pieces (rows) and their relevant intervals (columns): the ticks there, and the payment of each piece."""

    def __init__(self, ways: Ways, group: IntArray, prices: Prices, number: IntArray, pays: FloatArray) -> None:
        self.release, self.length, self.weight = ways.release[group], ways.length[group], ways.weight[group]
        self.begin = np.maximum(prices.start + number * prices.step, self.release[:, None])
        self.end = prices.start + (number + 1) * prices.step
        self.work = 0
        self.pays, self.order = pays, np.argsort(pays, axis=1, kind="stable")
        self.sorted = np.take_along_axis(pays, self.order, axis=1)

    def least(self, reached: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of each row, and the ticks in which it then runs, by interval.

        Args:
            reached: Column of the end without any pause.
            last: Column of the last end that may be better.
        """
        best, ran = np.full(len(reached), np.inf), np.zeros_like(self.pays)
        at_once, least = self.release + self.length, self._least_payment(last)
        going, after, many = np.arange(len(reached)), 0, 1
        while going.size:
            # The next ends of each remaining row: the fewer the rows, the more ends together.
            rows, column = np.repeat(going, many), (reached[going][:, None] + np.arange(after, after + many)).ravel()
            inside = column <= last[rows]
            rows, column = rows[inside], column[inside]
            end = np.where(column > reached[rows], self.begin[rows, column], at_once[rows])
            # An end there pays at least this for the wait and the ticks. If that is no better already, all later ends
            # are worse.
            hopeful = self.weight[rows] * (end - self.release[rows]) + least[rows] < best[rows]
            rows, column, end = rows[hopeful], column[hopeful], end[hopeful]
            self.work += rows.size * self.pays.shape[1]
            cost, ticks = self._ending_in(rows, column, end)
            first = np.flatnonzero(np.diff(rows, prepend=-1))
            chosen_ticks = np.lexsort((cost, rows))[first]
            chosen_ticks = chosen_ticks[cost[chosen_ticks] < best[rows[chosen_ticks]]]
            best[rows[chosen_ticks]], ran[rows[chosen_ticks]] = cost[chosen_ticks], ticks[chosen_ticks]
            going = rows[first][np.diff(first, append=len(rows)) == many]
            after += many
            many = max(1, min(2 * many, MOST_TOGETHER // max(1, going.size * self.pays.shape[1])))
        return best, ran

    def _least_payment(self, last: IntArray) -> FloatArray:
        """Return a lower limit of each row's payment for its ticks, for all ends up to the end of a column."""
        there = np.maximum(self.end - self.begin, 0) * (np.arange(self.pays.shape[1]) <= last[:, None])
        there = np.take_along_axis(there, self.order, axis=1)
        chosen_ticks = np.clip(self.length[:, None] - (np.cumsum(there, axis=1) - there), 0, there)
        least: FloatArray = (chosen_ticks * self.sorted).sum(axis=1) * (1 - 1e-9)
        return least

    def _ending_in(self, rows: IntArray, column: IntArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of rows that end in a column, at `end` or later, and the ticks in which they run."""
        order, pays, weight = self.order[rows], self.sorted[rows], self.weight[rows]
        there = np.maximum(np.minimum(self.end[rows], end[:, None]) - self.begin[rows], 0)
        there = np.take_along_axis(there, order, axis=1)
        before = np.cumsum(there, axis=1) - there
        chosen_ticks = np.clip(self.length[rows][:, None] - before, 0, there)
        worth = (weight + self.pays[rows, column])[:, None]
        dear = chosen_ticks * (pays > worth)
        dearer = dear.sum(axis=1, keepdims=True) - np.cumsum(dear, axis=1)
        remains = (self.end[rows, column] - end)[:, None]
        exchanged = np.clip(remains - dearer, 0, dear)
        cost = (
            weight * (end - self.release[rows])
            + (chosen_ticks * pays).sum(axis=1)
            - (exchanged * (pays - worth)).sum(axis=1)
        )
        ticks = np.zeros_like(pays)
        np.put_along_axis(ticks, order, chosen_ticks - exchanged, axis=1)
        ticks[np.arange(len(rows)), column] += exchanged.sum(axis=1)
        return cost, ticks
