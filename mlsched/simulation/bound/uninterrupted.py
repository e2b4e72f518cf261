"""Cheapest execution of a piece under prices over time, without a pause: its best start.

A piece of release a, length p, weight w and demand d that starts at S pays w (S + p - a), and d . (prices) from S to S
+ p. This cost is piecewise linear in S. Its minimum is at S = a, or at a start S or end S + p on an end of an interval.
Its payment at S = a bounds the gain of waiting: the wait is at most that payment / w.

p is a number of intervals and a rest, the same for every S: so the costs of all S on the grid are read off the prices'
sums by number, without a search. All of this is exact if the numbers are integers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.bound.prices import Prices, Ways

#: Starts that are examined together.
MOST_STARTS = 2**20


def cheapest(ways: Ways, prices: Prices) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Compute the best uninterrupted execution of each piece.

    Returns:
        The cost of each piece; its start; the joint use of all (demand x ticks), shape (intervals, resources); and the
            effort, in examined starts.
    """
    cost, start = ways.weight * ways.length, ways.release.copy()
    columns = np.flatnonzero(prices.values.any(axis=0))
    at_once = prices.paid(ways.demand, ways.release, ways.release + ways.length)
    cost += at_once
    waits = at_once / ways.weight
    concerned = np.flatnonzero(waits > 0)
    work = len(cost)
    whole, rest = np.divmod(ways.length, prices.step)
    shift = (whole.astype(np.int64), rest)
    for ends in (False, True):  # S on the grid, then S + p
        # First and last end of an interval to examine: after the release, and while waiting may pay.
        soonest = ways.release + ends * ways.length
        low = np.maximum(np.floor((soonest - prices.start) / prices.step), -1).astype(np.int64) + 1
        high = np.floor((np.minimum(soonest + waits, prices.end + ends * ways.length) - prices.start) / prices.step)
        high = np.minimum(high, len(prices.values)).astype(np.int64)
        for among, number in _candidate_starts(concerned, low, high):
            work += len(number)
            _accept_better(ways, prices, columns, shift, ends, among, number, cost, start)
    return cost, start, held(ways, start, prices), work


def _candidate_starts(concerned: IntArray, low: IntArray, high: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield candidates in portions: the piece of each, and the number of the interval end at which it starts or ends.

    Args:
        concerned: Pieces.
        low, high: First and last number of an interval end that each piece may use.

    The candidates of a piece follow each other.
    """
    many = np.maximum(high[concerned] - low[concerned] + 1, 0)
    concerned, many = concerned[many > 0], many[many > 0]
    portion = (np.cumsum(many) - 1) // MOST_STARTS  # pieces are not split
    for one in np.unique(portion):
        pieces, count = concerned[portion == one], many[portion == one]
        among = np.repeat(pieces, count)
        # The ends of a piece have consecutive numbers, from `low` on.
        yield among, np.arange(len(among)) - np.repeat(np.cumsum(count) - count - low[pieces], count)


def _accept_better(
    ways: Ways,
    prices: Prices,
    columns: IntArray,
    shift: tuple[IntArray, FloatArray],
    ends: bool,
    among: IntArray,
    number: IntArray,
    cost: FloatArray,
    start: FloatArray,
) -> None:
    """Accept the starts that cost less than the best so far.

    Args:
        ways: Pieces.
        prices: Prices over time.
        columns: Resources with a price.
        shift: Complete intervals and rest of each piece's length.
        ends: The candidates are ends of pieces, not starts.
        among: Piece of each candidate.
        number: Interval end of each candidate.
        cost, start: Best cost and start of each piece, updated in place.
    """
    whole, rest = shift[0][among], shift[1][among]
    last = len(prices.values)
    if ends:
        other = number - whole - (rest > 0)
        inside = np.where(rest > 0, prices.step - rest, 0.0)
        sign = -1.0
    else:
        other, inside, sign = number + whole, rest, 1.0
    other = np.minimum(other, last)
    begin = prices.start + number * prices.step - ends * ways.length[among]
    total = ways.weight[among] * (begin + ways.length[among] - ways.release[among])
    for r in columns.tolist():
        until, rate = prices.until[:, r], prices.rate[:, r]
        total += sign * ways.demand[among, r] * (until[other] + rate[other] * inside - until[number])
    first = np.flatnonzero(np.r_[True, among[1:] != among[:-1]])
    least = np.minimum.reduceat(total, first)
    piece = among[first]
    better = least < cost[piece]
    if better.any():
        at = np.flatnonzero(total == np.repeat(least, np.diff(np.r_[first, len(among)])))
        where = at[np.searchsorted(at, first)]
        cost[piece[better]], start[piece[better]] = least[better], begin[where[better]]


def held(ways: Ways, start: FloatArray, prices: Prices) -> FloatArray:
    """Return the use (demand x ticks) of pieces with these starts in each interval, shape (intervals, resources)."""
    count = len(prices.values)
    use = np.empty((count, ways.demand.shape[1]))
    (first, after), (last, behind) = prices.place(start), prices.place(start + ways.length)
    for r, demand in enumerate(ways.demand.T):
        # The use before each interval's end grows by the demand for every tick since the start, until the end.
        slope = np.bincount(first, demand, count + 1) - np.bincount(last, demand, count + 1)
        unused = np.bincount(first, demand * after, count + 1) - np.bincount(last, demand * behind, count + 1)
        use[:, r] = (np.cumsum(slope) * prices.step - unused)[:count]
    return use
