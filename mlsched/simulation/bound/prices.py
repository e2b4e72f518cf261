"""A bound that knows how fast each piece can be: prices for holding a resource at each time.

The relaxation. Piece i has release a, length p, weight w and demand d (a number for each resource). It runs at a rate
x_i(t) between 0 and 1 from its release on, in all for p ticks; together the pieces hold at most the capacity C at any
time. Least is the sum of w x (M - a), M being the mean busy time: of (w / p) x the integral of (t - a) x_i(t). Every
schedule is such a rate, 1 where the piece runs and 0 elsewhere.

What proves. Let prices q(t) >= 0 be given, for every resource and time, and a number u >= 0 for each piece. For every
piece and time

    f(t) = (w / p) x (u - (t - a)) - d . q(t)

says what a tick of running is worth. A piece that runs for p ticks pays (w / p) x integral of (t - a) x_i, and adding
and subtracting gives w u - integral of f x_i - integral of d . q x_i. As x_i is at most 1, the first integral is at
most that of f where f is positive, after the release. Summed over the pieces, the last one is at most that of C . q,
since together they hold at most C. So

    sum of w x (M - a)  >=  sum of (w u - integral of max(f, 0))  -  integral of C . q

whatever q and u are: bad ones only prove less. q = 0 with u = p proves w p / 2 for each piece, all of them alone.
At the best q and u both sides are equal (duality of linear programs).

How they are found. The right side is concave in (q, u), and its slope is what one expects: w - (w / p) x the ticks in
which f is positive, and what is then held less C. A quasi-Newton method (L-BFGS-B) climbs from q = 0 for a fixed number
of steps, with prices that are linear between the ends of equal intervals of time. max(f, 0) is positive between a and
a + u alone, so that a step costs the pieces and the intervals of their stays.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.simulation.bound.pieces import Floats, Pieces

#: Intervals of time, and steps in which prices are improved. On Philly (400 GPUs) 256 intervals with 80 steps prove
#: .3 % more in twice the time.
INTERVALS, STEPS = 128, 45


def priced(pieces: Pieces, end: float) -> float:
    """At least so large is the sum of weight x (mean busy time - release) in every schedule.

    end: some time from which on prices are 0; best the end of the last piece.
    """
    kept = np.flatnonzero((pieces.length > 0) & (pieces.weight > 0))
    return Prices(pieces, kept, end).climb() if kept.size else 0.0


class Prices:
    """The right side of the module's inequality for prices on intervals of time; after the last they are 0."""

    def __init__(self, pieces: Pieces, kept: IntArray, end: float) -> None:
        self.release = pieces.release[kept].astype(np.float64)
        self.length = pieces.length[kept].astype(np.float64)
        self.weight = pieces.weight[kept]
        self.demand, self.capacity = pieces.demand[kept].astype(np.float64), pieces.capacity.astype(np.float64)
        start = float(self.release.min())
        self.step = max(end - start, 1.0) / INTERVALS
        self.ends = start + self.step * np.arange(INTERVALS + 1)  # the first begin, then the end of each interval
        self._first = np.minimum((self.release - start) / self.step, INTERVALS).astype(np.int64)
        self._whole = np.full(INTERVALS + 1, self.step)
        self._whole[[0, -1]] /= 2

    def climb(self) -> float:
        """The largest value on the way up from prices of 0."""
        from scipy.optimize import minimize

        # Units in which the second derivatives are about 1: p / w for u, and for a price the sum of d^2 p / w over the
        # pieces that decide in its interval.
        slack = self.length / self.weight
        of_u = np.sqrt(slack)
        of_prices = 1 / np.sqrt(np.maximum((self.demand**2 * slack[:, None]).sum(axis=0) / INTERVALS, 1e-300))
        count, shape, best = len(slack), (len(self.ends), len(self.capacity)), [0.0]

        def cost(x: Floats) -> tuple[float, Floats]:
            u, prices = x[:count] * of_u, x[count:].reshape(shape) * of_prices
            value, error, by_u, by_prices = self.value(u, prices)
            best[0] = max(best[0], value - error)
            return -value, -np.concatenate([by_u * of_u, (by_prices * of_prices).ravel()])

        begin = np.concatenate([self.length / of_u, np.zeros(shape[0] * shape[1])])
        above = [(0.0, None)] * len(begin)
        minimize(cost, begin, jac=True, method="L-BFGS-B", bounds=above, options={"maxiter": STEPS})
        return best[0]

    def value(self, u: Floats, prices: Floats) -> tuple[float, float, Floats, Floats]:
        """The right side; a margin above its rounding error; and its slopes in u and in the prices."""
        last = len(self.ends) - 1  # number of the interval without end, in which prices are 0
        final = np.minimum((self.release + u - self.ends[0]) / self.step, last).astype(np.int64)
        stays = np.maximum(final - self._first, 0) + 1
        piece = np.repeat(np.arange(len(u)), stays)
        interval = np.arange(len(piece)) - np.repeat(np.cumsum(stays) - stays - self._first, stays)
        begin, worth = self.ends[interval], self.weight / self.length
        gone, slope = np.repeat(self.release + u, stays), np.repeat(worth, stays)
        low = np.maximum(begin, np.repeat(self.release, stays))
        high = np.where(interval < last, np.minimum(begin + self.step, gone), gone)
        high = np.maximum(high, low)
        at_low, at_high = (low - begin) / self.step, (high - begin) / self.step
        f_low, f_high = slope * (gone - low), slope * (gone - high)
        none = np.zeros((1, prices.shape[1]))
        left = np.vstack([prices[:-1], none])
        rise = np.vstack([np.diff(prices, axis=0), none])
        held = [np.repeat(column, stays) for column in self.demand.T]
        for r in range(prices.shape[1]):
            f_low -= held[r] * (left[interval, r] + rise[interval, r] * at_low)
            f_high -= held[r] * (left[interval, r] + rise[interval, r] * at_high)
        # f is linear in between: where it is positive, for how long, and its integral there.
        positive = np.maximum(f_low, 0) + np.maximum(f_high, 0)
        active = (high - low) * positive / np.maximum(np.abs(f_low) + np.abs(f_high), 1e-300)
        gained = np.bincount(piece, active * positive / 2, minlength=len(u))
        ran = np.bincount(piece, active, minlength=len(u))
        paid = float((self._whole @ prices) @ self.capacity)
        total = float((self.weight * u).sum())
        value = total - float(gained.sum()) - paid
        error = 1e-11 * (total + float(gained.sum()) + paid) + 1e-14 * float((worth * u * u).sum())
        since = np.where(f_low > 0, at_low, at_high - active / self.step)
        until = since + active / self.step
        of_right = np.where(interval < last, self.step * (until**2 - since**2) / 2, 0)
        of_left = np.where(interval < last, active - of_right, 0)
        by_prices = -self._whole[:, None] * self.capacity
        for r in range(prices.shape[1]):
            by_prices[:, r] += np.bincount(interval, held[r] * of_left, minlength=last + 1)
            by_prices[1:, r] += np.bincount(interval, held[r] * of_right, minlength=last + 1)[:last]
        return value, error, self.weight - worth * ran, by_prices
