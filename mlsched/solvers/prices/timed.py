"""Claims about times, proved by prices of ticks: from a linear relaxation over a grid of ticks.

If prices change only at the ticks of a grid, an event is cheapest at the start or the end of its window or where the
grid, moved by one of its shifts, has a tick. So these starts are enough, and the relaxation over them is exact for such
prices, even over a long horizon. Its columns are the shares of an event that have started by a tick, so that its rows
are sparse. The grid is refined while there is time, and the bound of a coarse grid is already a certificate.

A makespan is not a sum. A bound on it is proved by prices for which the cheapest starts cost more than the total
supply. They come from the relaxation that stretches all rooms by the least factor that makes the plan fit. Windows end
earlier for a smaller bound, also for total_jct, so the largest provable bound is searched.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import SCALE, Price
from mlsched.certificates.prices.timed import END, Timed
from mlsched.core.deadline import MOMENT, Deadline, OutOfTime
from mlsched.core.errors import TooLarge
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.formulation import NO_LIMITS
from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run_lp

#: Intervals of the first grid, the refinement factor of the next grid, and the nonzeros of the largest relaxation.
FIRST, FINER, MOST_NONZEROS = 16, 4, 4_000_000
#: Prices of a relaxation with stretched rooms are multiplied by this, so that their rounding does not matter.
STRETCHED = 2**24


class Relaxation:
    """The linear relaxation of a claim over starts at the ticks of a grid; `stretched` minimises the growth of rooms.

    Raises TooLarge beyond MOST_NONZEROS, OutOfTime if the deadline passes while it is built.
    """

    def __init__(self, claim: Timed, grid: IntArray, stretched: bool, deadline: Deadline) -> None:
        self.grid, less = grid, dominated(claim)
        #: The ticks at which each group's rows begin and end: the grid, or the ticks of its sum.
        self._ticks = {group: grid for group in claim.capacity.room if group not in less}
        rooms = [np.zeros(0), *(claim.capacity.room[group] * np.diff(grid).astype(np.float64) for group in self._ticks)]
        for row, most in claim.capacity.items():
            group, start, end = row.split(" ")
            self._ticks[group] = np.array([int(start), int(end)])
            rooms.append(np.array([float(most)]))
        firsts = itertools.accumulate((len(ticks) - 1 for ticks in self._ticks.values()), initial=0)
        self._first = dict(zip(self._ticks, firsts, strict=False))
        self._upper = np.concatenate(rooms)
        self._rows, room = len(self._upper), self._upper.copy()
        self._entries: list[tuple[Any, Any, Any]] = []  # row, column, value
        self._nonzeros = 0
        costs, columns, rising = [np.zeros(0)], 0, [np.zeros(0, dtype=np.int64)]
        for event in deadline.over(claim.events):
            cost = self._add_event(event, columns)
            costs.append(cost)
            rising.append(columns + np.arange(max(0, len(cost) - 1)))
            columns += len(cost)
            if self._nonzeros + 2 * columns > MOST_NONZEROS:
                raise TooLarge(f"the relaxation has more than {MOST_NONZEROS} nonzeros")
        self.cost = np.concatenate(costs)
        earlier = np.concatenate(rising)  # starts by a tick also count for the next one
        order = self._rows + np.arange(len(earlier))
        self._entries += [(order, earlier, np.ones(len(order))), (order, earlier + 1, -np.ones(len(order)))]
        self._upper = np.concatenate([self._upper, np.zeros(len(order))])
        if stretched:
            sums = len(claim.capacity)  # are the last rows; a limit of one may be 0 or less
            room[len(room) - sums :] = np.maximum(room[len(room) - sums :], 1.0)
            last_prices = np.flatnonzero(room)
            self._entries.append((last_prices, np.full(len(last_prices), columns), -room[last_prices]))
            self.cost = np.append(np.zeros(columns), 1.0)
        self.stretched = stretched

    def _add_event(self, event: Any, columns: int) -> Any:
        """Add an event to the rows; return the costs of its columns, which are numbered from `columns`."""
        terms = [(self._first[g], self._ticks[g], s, w) for g, s, w in event.terms if g in self._first]
        ends = [event.low, event.high, *([event.due, event.due + 1] if event.gain else [])]
        turns = [self.grid - shift for shift in {shift for _, ticks, shift, _ in terms if ticks is self.grid}]
        turns += [ticks - shift for _, ticks, shift, _ in terms if ticks is not self.grid]
        at = np.unique(np.concatenate([np.array(ends), *turns]))
        at = at[(at >= event.low) & (at <= event.high)]
        if not len(at):
            return np.zeros(0)
        for first, ticks, shift, weight in terms:
            target = np.clip(at + shift, ticks[0], ticks[-1])
            moved_ticks = np.diff(target)
            usage = np.flatnonzero(moved_ticks)
            cell = np.searchsorted(ticks, target[usage], side="right") - 1
            self._entries.append((first + cell, columns + usage, -float(weight) * moved_ticks[usage]))
            self._nonzeros += len(usage)
            rows = slice(first, first + len(ticks) - 1)
            self._upper[rows] -= weight * np.clip(target[-1] - ticks[:-1], 0, np.diff(ticks))
        return -np.diff(event.rate * at.astype(np.float64) - event.gain * (at <= event.due))

    def prices(self, deadline: Deadline) -> Price:
        """Return the rounded prices of the claim's rows at the end of the relaxation, or at the deadline."""
        from scipy.sparse import csr_matrix

        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        matrix = csr_matrix((value, (row, column)), shape=(len(self._upper), len(self.cost)))
        groups_kept = np.flatnonzero(np.diff(matrix.indptr))
        highspy, highs = import_highspy(), new_highs(NO_LIMITS)
        lp, matrix = highspy.HighsLp(), matrix[groups_kept]
        lp.num_row_, lp.num_col_ = matrix.shape
        if not lp.num_row_ or not lp.num_col_:
            return {}
        lower, upper = np.zeros(lp.num_col_), np.ones(lp.num_col_)
        if self.stretched:
            lower[-1], upper[-1] = -1.0, highspy.kHighsInf
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = self.cost, lower, upper
        lp.row_lower_, lp.row_upper_ = np.full(lp.num_row_, -highspy.kHighsInf), self._upper[groups_kept]
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
        lp.a_matrix_.value_ = matrix.data
        if (remaining := deadline.remaining(MOMENT)) is not None:
            highs.setOptionValue("time_limit", remaining)
        check(highs.passModel(lp), "passModel")
        run_lp(highs)
        dual = np.zeros(len(self._upper))
        if len(grid_found := highs.getSolution().row_dual) == lp.num_row_:
            dual[groups_kept] = np.maximum(0.0, -np.asarray(grid_found))
        return self._named_prices(dual[: self._rows] * (STRETCHED if self.stretched else 1.0))

    def _named_prices(self, dual: FloatArray) -> Price:
        """Return prices in the checker's form: a row per period of constant price."""
        relaxation: Price = {}
        for group, first in self._first.items():
            ticks = self._ticks[group].tolist()
            cells = len(ticks) - 1
            prices = [round(p * SCALE) for p in dual[first : first + cells].tolist()]
            changes = [0, *(k for k in range(1, cells) if prices[k] != prices[k - 1]), cells]
            for k, end in zip(changes, changes[1:], strict=False):
                if prices[k]:
                    relaxation[f"{group} {ticks[k]} {ticks[end]}"] = prices[k]
        return relaxation


def dominated(claim: Timed) -> set[str]:
    """Return groups that another group implies: every event uses at most the same share of the room."""
    last_prices = [group for group, room in claim.capacity.room.items() if room]
    place = {group: k for k, group in enumerate(last_prices)}
    parts = np.zeros((len(last_prices), len(claim.events)))
    for b, event in enumerate(claim.events):
        for group, _, amount in event.terms:
            if amount > 0 and group in place:
                parts[place[group], b] = amount / claim.capacity.room[group]
    less = set[str]()
    for k, group in enumerate(last_prices):
        for other in range(len(last_prices)):
            if other != k and last_prices[other] not in less and (parts[k] <= parts[other]).all():
                less.add(group)
                break
    return less


class Search:
    """The best proven bound so far, and its prices."""

    def __init__(self, claim_of: Callable[[int], Timed], value: int, sign: int | None, deadline: Deadline) -> None:
        self._claim_of, self.value, self._deadline = claim_of, value, deadline
        self.sign, self.threshold = sign or 1, sign is None
        self.bound, self.price = 0, Price()
        if not self.threshold:
            claim = claim_of(value)
            self.bound = self.sign * min(claim.target, _round_up(core.bound(claim, {}, {})[1]))

    def attempt(self, bound: int, cells: int) -> bool:
        """Try to prove a bound by prices on a grid; return whether the grid has all ticks or cannot be refined."""
        claim = self._claim_of(bound)
        grid, whole = grid_of(claim, cells)
        price, start_time = Price(), time.perf_counter()
        if len(grid) > 1 and not self._keep_proof(claim, bound, {}):
            # The bound of the prices takes about the same time again.
            deadline = self._deadline.earlier(2 * (time.perf_counter() - start_time))
            try:
                price = Relaxation(claim, grid, self.threshold, deadline).prices(deadline)
            except TooLarge:
                return True
        self._keep_proof(claim, bound, price)
        return whole

    def _keep_proof(self, claim: Timed, bound: int, price: Price) -> bool:
        """Return whether prices prove this bound; keep the best proof so far."""
        proven_bound = core.bound(claim, price, {})[1]
        finished = proven_bound > SCALE * (claim.target - 1)
        if not finished:
            bound = 0 if self.threshold else self.sign * _round_up(proven_bound)
        if self.sign * bound > self.sign * self.bound:
            self.bound, self.price = bound, price
        return finished

    def narrow(self, cells: int) -> None:
        """Search the largest bound below the value that is provable with its own ends of windows.

        A larger bound has weaker windows, so most often the next bound decides: the steps grow until one fails.
        """
        high, step, failed = self.value - 1, 1, False
        while self.bound < high and not self._deadline.passed():
            attempts = min(self.bound + step, high) if not failed else (self.bound + high + 1) // 2
            self.attempt(attempts, cells)
            if self.bound < attempts:
                high, failed = attempts - 1, True
            step *= 2


def grid_of(claim: Timed, cells: int) -> tuple[IntArray, bool]:
    """Return about `cells` equal intervals over the relevant ticks, and whether each is one tick."""
    first = min((event.low for event in claim.events), default=0)
    last = [event.high for event in claim.events if event.high < END // 2]
    last += [event.due + 1 for event in claim.events if event.gain and event.due < END // 2]
    last += [
        1 - shift
        for event in claim.events
        for group, shift, _ in event.terms
        if group not in claim.capacity.room and -END // 2 < shift < 0
    ]
    ticks = max(last, default=first) - first
    if ticks < 1:
        return np.zeros(0, dtype=np.int64), True
    steps = np.arange(min(cells, ticks) + 1, dtype=object) * ticks // min(cells, ticks)
    return first + steps.astype(np.int64), cells >= ticks


def _round_up(scaled: int) -> int:
    return -(-scaled // SCALE)


def trees(
    claim_of: Callable[[int], Timed],
    value: int,
    sign: int | None,
    deadline: Deadline,
    said: Callable[[int, int], None] = lambda bound, cells: None,
) -> tuple[list[list[Any]], int]:
    """Return a tree of one leaf that proves a bound on all plans, and the bound: `value` if possible.

    Args:
        claim_of: Returns the claim of a bound.
        value: Value to prove optimal.
        sign: See `Statement.module`.
        deadline: End of the search.
        said: Called with the bound so far and the size of the grid.
    """
    search, cells, whole = Search(claim_of, value, sign, deadline), FIRST, False
    while not whole and search.bound != value and not deadline.passed():
        said(search.bound, cells)
        try:
            whole = search.attempt(value, cells)
            if search.sign > 0 and (search.threshold or whole):
                search.narrow(cells)
        except OutOfTime:  # keep the proof so far
            break
        cells *= FINER
    return [[[search.price]]], search.bound
