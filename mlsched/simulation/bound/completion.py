"""A bound by completion times that knows how fast each piece can be: prices for holding a resource at each time.

What proves. Piece i has release a, weight w and demand d (a number for each resource); together the pieces hold at most
the capacity C at any time. Let any prices q(t) >= 0 be given, for every resource and time. In every schedule the sum
over the pieces of d . (integral of q over the ticks in which it runs) is at most C . (integral of q), since this holds
at each time. So the sum of w (E - a), E being when a piece ends, is at least

    sum over the pieces of [w (E - a) + d . (integral of q over the ticks in which it runs)]  -  C . (integral of q)

and each piece's bracket is at least the cost of its cheapest way through the prices (`cheapest.py`). The pieces do not
meet any more, and whatever the prices are, this holds: bad ones only prove less.

How prices are found. The right side is concave in q; its slope is what the cheapest ways hold less what there is. A
quasi-Newton method (L-BFGS-B) climbs until it stalls where the slope jumps; steps of Adam (Kingma and Ba, ICLR 2015)
then go on from its best prices.
"""

from __future__ import annotations

import contextlib

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.simulation.bound.cheapest import Prices, Ways
from mlsched.simulation.bound.pieces import Floats, Pieces

#: Intervals of time, and steps of either method. On Philly (400 GPUs) 512 intervals prove .5 % more in ten times the
#: time.
INTERVALS, CLIMBS, STEPS = 128, 60, 20
#: Work (entries of tables, about 12 ns each) after which the best until then is taken: where jobs queue for most of a
#: log, each is concerned with most intervals. Philly whole takes a third of it at 400 GPUs.
MOST_WORK = 600_000_000
#: Adam: share of the median price that is its first step, and what it remembers of slopes and of their squares.
PACE, SLOPES, SQUARES = 0.05, 0.9, 0.99


def by_completion(pieces: Pieces, end: float) -> float:
    """At least so large is the sum of weight x (end - release) in every schedule.

    end: some time from which on prices are 0; best the end of the last piece.
    """
    kept = np.flatnonzero((pieces.length > 0) & (pieces.weight > 0))
    if not pieces.demand[kept].any():  # nobody is in another's way
        return float(pieces.weight[kept] @ pieces.length[kept])
    return Climb(pieces, kept, end).best


class _Enough(Exception):
    """The work that there may be is done."""


class Climb:
    """The right side of the module's inequality, and the best that was found on the way up from prices of 0."""

    def __init__(self, pieces: Pieces, kept: IntArray, end: float) -> None:
        release, length = pieces.release[kept].astype(np.float64), pieces.length[kept].astype(np.float64)
        self.ways = Ways(release, length, pieces.weight[kept], pieces.demand[kept].astype(np.float64))
        self.capacity = pieces.capacity.astype(np.float64)
        self.start = float(release.min())
        self.step = max(end - self.start, 1.0) / INTERVALS
        self.best, self.prices = 0.0, np.zeros((INTERVALS, len(self.capacity)))
        self.work = 0
        with contextlib.suppress(_Enough):
            self._quasi_newton()
            self._adam()

    def value(self, prices: Floats) -> tuple[float, Floats]:
        """The right side, less a margin above its rounding error, and its slope."""
        cost, held, work = self.ways.cheapest(Prices(self.start, self.step, prices))
        self.work += work
        paid = self.step * float((prices @ self.capacity).sum())
        value = float(cost.sum()) * (1 - 1e-12) - paid * (1 + 1e-12)
        if value > self.best:
            self.best, self.prices = value, prices.copy()
        return value, held - self.step * self.capacity

    def _go_on(self) -> None:
        if self.work > MOST_WORK:
            raise _Enough

    def _quasi_newton(self) -> None:
        from scipy.optimize import minimize

        # Units in which prices are about 1: what all pieces' weights come to, for each unit of a resource.
        unit = 0.2 * self.ways.weight.sum() / np.maximum(self.capacity, 1)
        shape, whole = self.prices.shape, max(1.0, float(self.ways.weight @ self.ways.length))

        def cost(x: Floats) -> tuple[float, Floats]:
            self._go_on()
            value, slope = self.value(x.reshape(shape) * unit)
            return -value / whole, -(slope * unit).ravel() / whole

        limits = {"maxiter": CLIMBS, "maxfun": CLIMBS + 8}
        above = [(0.0, None)] * self.prices.size
        minimize(cost, self.prices.ravel(), jac=True, method="L-BFGS-B", bounds=above, options=limits)

    def _adam(self) -> None:
        prices = self.prices.copy()
        if not (prices > 0).any():
            return
        pace = PACE * float(np.median(prices[prices > 0]))
        slopes, squares = np.zeros_like(prices), np.zeros_like(prices)
        for step in range(1, STEPS + 1):
            self._go_on()
            _, slope = self.value(prices)
            slopes = SLOPES * slopes + (1 - SLOPES) * slope
            squares = SQUARES * squares + (1 - SQUARES) * slope**2
            move = slopes / (1 - SLOPES**step) / np.maximum(np.sqrt(squares / (1 - SQUARES**step)), 1e-300)
            prices = np.maximum(prices + pace * (1 - step / (STEPS + 1)) * move, 0)
        self.value(prices)
