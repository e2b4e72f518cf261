"""Cheapest execution of a piece under prices over time, with a choice among node types of different speeds.

Kind m of a piece is its form on type m: it takes p_m ticks there, and pays d_m . q(t) for each. Every resource of every
type has a price of its own. Without pauses the cheapest execution is the minimum over the kinds (`uninterrupted`).

With pauses a piece may change type at any time. In a tick of interval t it does 1 / p_m of its work for the price c_mt,
or idles for free. The cheapest cost of work in an interval is the lower convex hull of these points. It starts at the
least price per work; if more work has to be done in the same ticks, it moves from one type to a faster one. If the end
is in interval k, a tick of that also costs the piece's weight, so that the points of k are (1 / p_m, c_mk + w). So the
least cost of an end in k is w x (begin of k - release) and the cheapest steps of all hulls that do the work together: a
knapsack filled in order of price. With one kind it is the result of `cheapest`.

Costs are lowered by more than their rounding error (`MARGIN`), so that bounds derived from them are valid.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.bound import uninterrupted
from mlsched.simulation.bound.cheapest import groups
from mlsched.simulation.bound.prices import Prices, Ways

#: Share by which each cost is lowered.
MARGIN = 1e-10
#: Time per table entry, relative to an entry of `cheapest`, which is the unit of effort.
DEARER = 5


@dataclasses.dataclass(frozen=True)
class TypedWays:
    """Pieces to be priced on several types of nodes.

    Attributes:
        release: Earliest start of each piece.
        weight: Weight of each piece, above 0.
        ticks: Length of each piece per kind, shape (kinds, pieces); inf: the piece is never of that kind.
        demand: Demand per kind, shape (kinds, pieces, resources).
    """

    release: FloatArray
    weight: FloatArray
    ticks: FloatArray
    demand: FloatArray

    @property
    def length(self) -> FloatArray:
        """Return the fewest ticks of each piece, shape (pieces,)."""
        return np.asarray(self.ticks.min(axis=0))


def cheapest(ways: TypedWays, prices: Prices, pausing: bool) -> tuple[FloatArray, FloatArray, int]:
    """Compute the cheapest execution of each piece, on its best type of nodes; with `pausing`, it may be interrupted.

    Returns:
        The cost of each piece; the joint use of all (demand x ticks), shape (intervals, resources); and the effort.
    """
    return _with_pauses(ways, prices) if pausing else _without_pauses(ways, prices)


def _without_pauses(ways: TypedWays, prices: Prices) -> tuple[FloatArray, FloatArray, int]:
    cost, kind, work = np.full(len(ways.release), np.inf), np.zeros(len(ways.release), dtype=np.int64), 0
    start = ways.release.copy()
    for m in range(len(ways.ticks)):
        rows = np.flatnonzero(np.isfinite(ways.ticks[m]))
        if not rows.size:
            continue
        costs, begin, _, effort = uninterrupted.cheapest(_ways_of_kind(ways, m, rows), prices)
        work += effort
        less = costs < cost[rows]
        cost[rows[less]], start[rows[less]], kind[rows[less]] = costs[less], begin[less], m
    use = np.zeros_like(prices.values)
    for m in range(len(ways.ticks)):
        rows = np.flatnonzero((kind == m) & np.isfinite(cost))
        if rows.size:
            use += uninterrupted.held(_ways_of_kind(ways, m, rows), start[rows], prices)
    return cost * (1 - MARGIN), use, work


def _ways_of_kind(ways: TypedWays, kind: int, rows: IntArray) -> Ways:
    """Return some pieces as pieces of one kind; completions are integer ticks after integer starts."""
    whole = np.ceil(ways.ticks[kind, rows] * (1 - 1e-12))
    return Ways(ways.release[rows], whole, ways.weight[rows], ways.demand[kind, rows])


def _with_pauses(ways: TypedWays, prices: Prices) -> tuple[FloatArray, FloatArray, int]:
    count = len(prices.values)
    at_once = np.full(len(ways.release), np.inf)
    for ticks, demand in zip(ways.ticks, ways.demand, strict=True):
        able = np.isfinite(ticks)
        until = ways.release + np.where(able, ticks, 0)
        paid = prices.paid(demand, ways.release, until) + ways.weight * (until - ways.release)
        at_once = np.where(able, np.minimum(at_once, paid), at_once)
    # A piece that waits longer than this pays more for the wait than its total without waiting.
    latest = np.minimum(ways.release + at_once / ways.weight * (1 + 1e-9) + 1e-9, prices.end)
    first, last = (((time - prices.start) // prices.step).astype(np.int64) for time in (ways.release, latest))
    first, last = np.minimum(first, count), np.minimum(last, count)
    cost, use, work = np.empty(len(first)), np.zeros((count + 1, ways.demand.shape[2])), 0
    for group in groups((last - first + 1) * len(ways.ticks)):
        table = _Table(ways, group, prices, first[group])
        cost[group] = table.least(last[group] - first[group])
        work += table.work
        for m, ticks in enumerate(table.ticks_on()):
            number = np.minimum(table.number, count)
            for r in np.flatnonzero(ways.demand[m][group].any(axis=0)).tolist():
                amount = (ticks * ways.demand[m, group, r][:, None]).ravel()
                use[:, r] += np.bincount(number.ravel(), amount, minlength=count + 1)
    return cost * (1 - MARGIN), use[:-1], work


class _Steps(NamedTuple):
    """Steps of the lower hull of each row and column, in order, shape (rows, columns, kinds).

    Each step has its additional work per tick, its cost per unit of that work, and the kinds before (-1: none) and
    after; unused steps have 0 work.
    """

    gain: FloatArray
    price: FloatArray
    before: IntArray
    after: IntArray


def _lower_hull(speed: FloatArray, pays: FloatArray) -> _Steps:
    """Compute the steps of the lower hulls.

    Args:
        speed: Speed of each row per kind, shape (rows, kinds); 0 for missing kinds.
        pays: Payment per tick, shape (rows, columns, kinds).
    """
    shape = pays.shape
    gain, price = np.zeros(shape), np.zeros(shape)
    before, after = np.full(shape, -1), np.full(shape, -1)
    v, c, kind = np.zeros(shape[:2]), np.zeros(shape[:2]), np.full(shape[:2], -1)
    for step in range(shape[2]):
        more = speed[:, None, :] - v[:, :, None]
        slope = np.where(more > 0, (pays - c[:, :, None]) / np.where(more > 0, more, 1), np.inf)
        least = slope.min(axis=2)
        # Among equally cheap kinds, the fastest, so that the next step costs more.
        best_kind = np.where(slope <= least[:, :, None], more, -1.0).argmax(axis=2)
        there = np.isfinite(least)
        pick = (*np.ogrid[: shape[0], : shape[1]], best_kind)
        gain[:, :, step] = np.where(there, more[pick], 0)
        price[:, :, step] = np.where(there, least, 0)
        before[:, :, step], after[:, :, step] = kind, np.where(there, best_kind, -1)
        v = np.where(there, np.take_along_axis(speed, best_kind, axis=1), v)
        c, kind = np.where(there, pays[pick], c), np.where(there, best_kind, kind)
    return _Steps(gain, price, before, after)


class _Table:
    """Some pieces (rows), their relevant intervals (columns), and the steps of every interval's hull."""

    def __init__(self, ways: TypedWays, group: IntArray, prices: Prices, first: IntArray) -> None:
        self._ways, self._group, self._prices, self._first = ways, group, prices, first
        self.number = np.zeros((len(group), 0), dtype=np.int64)
        self.work = 0

    def least(self, last: IntArray) -> FloatArray:
        """Return the least cost of each row; `last` is the column of the last end that may be better."""
        ways, prices, group = self._ways, self._prices, self._group
        count, kinds = len(prices.values), len(ways.ticks)
        release, weight = ways.release[group], ways.weight[group]
        self.number = number = self._first[:, None] + np.arange(int(last.max()) + 1)
        begin = np.maximum(prices.start + number * prices.step, release[:, None])
        there = np.where(number < count, prices.start + (number + 1) * prices.step - begin, 0.0)
        pays = np.stack([prices.rate[np.minimum(number, count)] @ d[:, :, None] for d in ways.demand[:, group]], axis=3)
        pays = pays[:, :, 0, :]
        speed = np.where(np.isfinite(ways.ticks[:, group]), 1 / ways.ticks[:, group], 0.0).T
        self._plain, self._ending = _lower_hull(speed, pays), _lower_hull(speed, pays + weight[:, None, None])
        amount = (self._plain.gain * there[:, :, None]).reshape(len(group), -1)
        price = self._plain.price.reshape(len(group), -1)
        self._order = np.argsort(np.where(amount > 0, price, np.inf), axis=1, kind="stable")
        amount, price = (np.take_along_axis(table, self._order, axis=1) for table in (amount, price))
        column = self._order // kinds
        best = np.full(len(group), np.inf)
        self._end = np.zeros(len(group), dtype=np.int64)
        self._done = np.zeros_like(amount)
        self._last = np.zeros((len(group), kinds))
        for end in range(int(last.max()) + 1):
            rows = np.flatnonzero((end <= last) & (weight * (begin[:, end] - release) < best))
            if not rows.size:
                continue
            self.work += DEARER * rows.size * amount.shape[1]
            ticks = np.where(number[rows, end] < count, there[rows, end], 1e300)
            able = amount[rows] * (column[rows] < end)
            cost, step_work, end_work = self._fill_knapsack(rows, end, able, price[rows], ticks)
            cost += weight[rows] * (begin[rows, end] - release[rows])
            less = cost < best[rows]
            better = rows[less]
            best[better], self._end[better] = cost[less], end
            self._done[better], self._last[better] = step_work[less], end_work[less]
        return best

    def _fill_knapsack(
        self, rows: IntArray, end: int, able: FloatArray, price: FloatArray, ticks: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the least cost of the total work (1) by steps of the intervals up to column `end`.

        It is inf if that is impossible.

        Args:
            rows: Rows of the table.
            end: Column of the end.
            able: Work of each earlier step, in order of price.
            price: Price of each earlier step.
            ticks: Ticks of the last interval.
        """
        gain, own = self._ending.gain[rows, end], self._ending.price[rows, end]
        most = np.minimum(gain * ticks[:, None], 1.0)
        end_work, before = np.zeros_like(most), np.zeros(len(rows))
        for step in range(most.shape[1]):
            cheaper = (able * (price < own[:, step, None])).sum(axis=1)
            end_work[:, step] = np.clip(1 - cheaper - before, 0, most[:, step])
            before += most[:, step]
        rest = 1 - end_work.sum(axis=1)
        start = np.cumsum(able, axis=1) - able
        effort = np.clip(rest[:, None] - start, 0, able)
        cost = (effort * price).sum(axis=1) + (end_work * own).sum(axis=1)
        return np.where(effort.sum(axis=1) + end_work.sum(axis=1) < 1 - 1e-9, np.inf, cost), effort, end_work

    def ticks_on(self) -> list[FloatArray]:
        """Return for each kind its ticks on the rows' cheapest executions, shape (rows, columns)."""
        kinds, rows = len(self._ways.ticks), np.arange(len(self._group))
        work_left = np.zeros_like(self._done)
        np.put_along_axis(work_left, self._order, self._done, axis=1)
        work = work_left.reshape(self._plain.gain.shape).copy()
        per_kind = [np.zeros(work.shape[:2]) for _ in range(kinds)]
        own, at = self._ending, (rows, self._end)
        last = _Steps(own.gain[at], own.price[at], own.before[at], own.after[at])
        for m in range(kinds):
            per_kind[m] += _step_ticks(self._plain, work, m).sum(axis=2)
            per_kind[m][rows, self._end] += _step_ticks(last, self._last, m).sum(axis=1)
        return per_kind


def _step_ticks(steps: _Steps, work: FloatArray, kind: int) -> FloatArray:
    """Return the change of ticks on a kind by each step: above 0 if the step begins this kind, below 0 at its end."""
    ticks = np.where(steps.gain > 0, work / np.where(steps.gain > 0, steps.gain, 1), 0.0)
    return np.asarray(ticks * (steps.after == kind) - ticks * (steps.before == kind))
