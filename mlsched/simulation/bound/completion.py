"""Lower bound on completion times by resource prices over time; it respects the speed of each piece.

Proof. Piece i has release a, weight w and demand d (one number per resource); together the pieces use at most the
capacity C at any time. Let any prices q(t) >= 0 be given, for every resource and time. In every schedule the sum over
the pieces of d . (integral of q over the ticks in which it runs) is at most C . (integral of q), since this is true at
each time. So the sum of w (E - a), E being the end of a piece, is at least

    sum over the pieces of [w (E - a) + d . (integral of q over the ticks in which it runs)]  -  C . (integral of q)

and each piece's bracket is at least the cost of its cheapest execution under the prices. That execution has pauses at
any time (`cheapest.py`) or, for runs without pauses, starts at the best time (`uninterrupted.py`). The pieces are then
independent, and the bound is valid for all prices: bad ones only give a weaker bound. With nodes of several types, each
type's resources have prices of their own, and a piece chooses among types as well (`typed.py`).

Search of prices. The right side is concave in q; its slope is the use of the cheapest executions less the capacity. A
quasi-Newton method (L-BFGS-B) climbs until it stalls at a jump of the slope; steps of Adam (Kingma and Ba, ICLR 2015)
then continue from its best prices. Intervals are integer ticks. Fine intervals are preceded by coarse ones: the prices
of each level are the start of the next, with four times the number of intervals.
"""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched.simulation.bound import cheapest, typed, uninterrupted
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.bound.prices import Prices, Ways
from mlsched.simulation.bound.typed import TypedWays

#: Adam: first step as a share of the median price, and decay rates of slopes and of their squares.
PACE, SLOPES, SQUARES = 0.05, 0.9, 0.99
#: Intervals of the first level, and the factor from each level to the next.
COARSE, FINER = 128, 4


@dataclasses.dataclass(frozen=True)
class Effort:
    """Effort of the price search.

    Attributes:
        levels: Levels of intervals, the first of about 128, each next of four times the number.
        climbs, steps: Steps of L-BFGS and of Adam on each level.
        gain: The next level is left out if the last one gained a smaller share than this.
        work: Limit of the examined entries of tables (with pauses, about 12 ns each) or starts (without
            pauses, about 70 ns), after which the best prices so far are taken. If jobs queue for most of a log, most
            intervals are relevant for each job.
    """

    levels: int
    climbs: int
    steps: int
    work: int
    gain: float = 0.0


#: Effort of a run's own bound; on Philly with 400 GPUs it takes 12 CPU s with pauses, 4 without.
OF_RUNS = {True: Effort(1, 60, 20, 600_000_000), False: Effort(3, 40, 10, 100_000_000)}
#: Effort of a reference's bound; further levels are skipped after finer levels that added less than .05 %.
OF_REFERENCES = {
    True: Effort(3, 60, 20, 3_000_000_000, gain=0.0005),
    False: Effort(5, 50, 20, 1_000_000_000, gain=0.0005),
}


def by_completion(pieces: Pieces, end: float, *, pausing: bool = True) -> float:
    """Return a lower bound on the sum of weight x (end - release) in every schedule.

    Args:
        pieces: Pieces of work.
        end: Time from which prices are 0; best the end of the last piece.
        pausing: Include schedules with interruptions; otherwise the bound is for uninterrupted pieces only.
    """
    climb = climbed(pieces, end, pausing=pausing, effort=OF_RUNS[pausing])
    if climb is not None:
        return climb.best
    return float(pieces.weight[pieces.length > 0] @ pieces.length[pieces.length > 0])


def climbed(pieces: Pieces, end: float, *, pausing: bool, effort: Effort) -> Climb | None:
    """Return the best prices and their bound; None if pieces never compete."""
    kept_rows = np.flatnonzero((pieces.length > 0) & (pieces.weight > 0))
    if not pieces.demand[kept_rows].any():
        return None
    release, length = pieces.release[kept_rows].astype(np.float64), pieces.length[kept_rows].astype(np.float64)
    ways: Ways | TypedWays = Ways(
        release, length, pieces.weight[kept_rows], pieces.demand[kept_rows].astype(np.float64)
    )
    capacity = pieces.capacity.astype(np.float64)
    if (kinds := pieces.kinds) is not None:
        demand = kinds.demand[:, kept_rows].astype(np.float64)
        ways = TypedWays(release, pieces.weight[kept_rows], kinds.ticks[:, kept_rows], demand)
        capacity = kinds.capacity.astype(np.float64)
    step, count, levels = grid(float(release.min()), end, effort.levels)
    nothing = Prices(float(release.min()), step, np.zeros((count, len(capacity))))
    climb = Climb(ways, capacity, nothing, levels, pausing)
    climb.go(effort)
    return climb


def grid(start: float, end: float, levels: int) -> tuple[float, int, int]:
    """Return the ticks per interval of the first level, its number of intervals, and the number of levels.

    The last level has integer ticks. There are fewer levels if the last ones would be shorter than a tick.
    """
    span = max(end - start, 1.0)
    while levels > 1 and span < COARSE * FINER ** (levels - 1):
        levels -= 1
    finest = max(1, -int(-span // (COARSE * FINER ** (levels - 1))))
    step = float(finest * FINER ** (levels - 1))
    return step, int(-(-span // step)), levels


class _Enough(Exception):
    """The effort limit is reached."""


class Climb:
    """Right side of the module's inequality, and the best value found when climbing from prices of 0, level by level.

    Attributes:
        best: Bound by `prices`.
        reached: Number of intervals and bound after each level.
    """

    def __init__(
        self, ways: Ways | TypedWays, capacity: FloatArray, prices: Prices, levels: int, pausing: bool
    ) -> None:
        self.ways, self.capacity, self.prices, self.pausing = ways, capacity, prices, pausing
        self._levels = levels
        self.best, self.work, self._most = 0.0, 0, 0
        self.reached: list[tuple[int, float]] = []

    def go(self, effort: Effort) -> None:
        """Climb, level by level."""
        self._most = effort.work
        self.best = self.value(self.prices)[0]
        with contextlib.suppress(_Enough):
            for number in range(self._levels):
                before = self.best
                if number:
                    self.prices = self.prices.finer(FINER)
                try:
                    self._quasi_newton(effort.climbs)
                    self._climb_by_adam(effort.steps)
                finally:
                    self.reached.append((len(self.prices.values), self.best))
                if number and self.best - before < effort.gain * self.best:
                    return

    def value(self, prices: Prices) -> tuple[float, FloatArray]:
        """Return the right side, less a margin above its rounding error, and its slope."""
        if isinstance(self.ways, TypedWays):
            cost, use, work = typed.cheapest(self.ways, prices, self.pausing)
        elif self.pausing:
            cost, use, work = cheapest.cheapest(self.ways, prices)
        else:
            cost, _, use, work = uninterrupted.cheapest(self.ways, prices)
        self.work += work
        paid = prices.step * float((prices.values @ self.capacity).sum())
        value = float(cost.sum()) * (1 - 1e-12) - paid * (1 + 1e-12)
        if value > self.best:
            self.best, self.prices = value, prices
        return value, use - prices.step * self.capacity

    def _continue_climb(self) -> None:
        if self.work > self._most:
            raise _Enough

    def _quasi_newton(self, climbs: int) -> None:
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits

        # Units in which prices are about 1: the sum of all pieces' weights, per unit of a resource.
        unit = 0.2 * self.ways.weight.sum() / np.maximum(self.capacity, 1)
        shape, whole = self.prices.values.shape, max(1.0, float(self.ways.weight @ self.ways.length))
        base = self.prices

        def cost(x: FloatArray) -> tuple[float, FloatArray]:
            self._continue_climb()
            value, slope = self.value(dataclasses.replace(base, values=x.reshape(shape) * unit))
            return -value / whole, -(slope * unit).ravel() / whole

        limits = {"maxiter": climbs, "maxfun": climbs + 8}
        above = [(0.0, None)] * base.values.size
        # L-BFGS-B factorises matrices of some tens of rows. SciPy's own OpenBLAS distributes them to all cores, whose
        # threads then wait busily for each other and for the next call.
        with threadpool_limits(limits=1, user_api="blas"):
            minimize(cost, (base.values / unit).ravel(), jac=True, method="L-BFGS-B", bounds=above, options=limits)

    def _climb_by_adam(self, steps: int) -> None:
        base, prices = self.prices, self.prices.values.copy()
        if not (prices > 0).any():
            return
        pace = PACE * float(np.median(prices[prices > 0]))
        slopes, squares = np.zeros_like(prices), np.zeros_like(prices)
        for step in range(1, steps + 1):
            self._continue_climb()
            _, slope = self.value(dataclasses.replace(base, values=prices))
            slopes = SLOPES * slopes + (1 - SLOPES) * slope
            squares = SQUARES * squares + (1 - SQUARES) * slope**2
            move = slopes / (1 - SLOPES**step) / np.maximum(np.sqrt(squares / (1 - SQUARES**step)), 1e-300)
            prices = np.maximum(prices + pace * (1 - step / (steps + 1)) * move, 0)
        self.value(dataclasses.replace(base, values=prices))
