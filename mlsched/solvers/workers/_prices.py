"""A lower bound on the fluid optimum from prices: every job decides for itself, at a price of each resource over time.

Relaxing the capacities with prices lambda_r(t) >= 0 gives a valid lower bound, for any prices:

    sum over jobs of  min over C and mixtures x on [r_j, C] of  (C - r_j + integral of lambda(t) . use of x)
    - integral of sum_r lambda_r(t)                               (capacities are 1 in scaled units).

With prices that are constant on the cells of a grid, the minimum of a job is exact. Let v(mu, t) = max(0, max_c
(mu speed_c - lambda(t) . use_c)) be the gain of an instant at the value mu of a unit of work. By LP duality in x, and
since the right-hand side is linear in C inside a cell and concave in mu,

    min over C in cell k = max over mu of min over both ends C of the cell of  C - r_j + mu work_j - integral of v(mu).

Any set of values mu gives a lower bound; with a fixed list of them, all of it is array operations. In the endless
last cell only values with v(mu) <= 1 count, for which its beginning is the best completion.

The same tables bound the cost H_s of a job's remaining work at time s, as a function of the residual work w <= work_j:
for every slope a

    H_s(w) >= a w + min over cells k of max over mu <= a of (min over both ends of (...) + (mu - a) work_j)

(a is the saving per unit less of residual work, a - mu the multiplier of w <= work_j). One running maximum over mu
serves all slopes.

This is the Lagrangian bound, as by column generation, of a formulation whose variables are complete schedules of a job.
With good prices it is within a percent of the optimum; bounds by each job's own time are up to 34 % off.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray
from mlsched.solvers.workers._fluid import Fluid
from mlsched.solvers.workers._tails import Tail, tail

#: Number of tried values mu of a unit of work, from LEAST_VALUE to the number of jobs plus 8.
VALUES, LEAST_VALUE = 240, 0.1


@dataclasses.dataclass(frozen=True)
class Prices:
    """Prices on a grid. times: the G + 1 borders of its cells, from 0 on. price: cells x resources.

    After the last border all prices are 0: others would make the integral in the bound infinite.
    """

    times: FloatArray
    price: FloatArray

    @property
    def lengths(self) -> FloatArray:
        """Return the lengths of the G finite cells."""
        return np.diff(self.times)

    def cell(self, time: float) -> int:
        """Return the index of the border at `time`, which must be a border."""
        return int(np.searchsorted(self.times, time - 1e-9))


@dataclasses.dataclass(frozen=True)
class Bound:
    """A lower bound on the flow time of all jobs. cost[j]: of job j finishing in each cell from `first[j]` on."""

    value: float
    first: list[int]
    cost: list[FloatArray]

    def windows(self, prices: Prices, limit: float) -> list[tuple[float, float]]:
        """Return the earliest and latest finish of each job in any schedule of flow time < `limit`."""
        windows = []
        for first, cost in zip(self.first, self.cost, strict=True):
            able = np.flatnonzero(cost - cost.min() < limit - self.value)
            if not len(able):
                able = np.array([int(cost.argmin())])
            last = first + int(able[-1]) + 1
            end = float(prices.times[last]) if last < len(prices.times) else math.inf
            windows.append((float(prices.times[first + int(able[0])]), end))
        return windows


class Pricing:
    """The bounds that `prices` prove, for completions within `windows` if these are given."""

    def __init__(self, fluid: Fluid, prices: Prices, windows: list[tuple[float, float]] | None = None) -> None:
        self.fluid, self.prices = fluid, prices
        self.values = np.geomspace(LEAST_VALUE, fluid.jobs + 8.0, VALUES)
        self.earned = [self._gains_of_values(k) for k in range(len(fluid.kinds))]
        self.windows = windows or [(0.0, math.inf)] * fluid.jobs
        # Integral of the prices, summed over the resources, from the begin of each cell on.
        self.paid = np.concatenate([(prices.price.sum(axis=1) * prices.lengths)[::-1].cumsum()[::-1], [0.0]])

    def _gains_of_values(self, kind: int) -> FloatArray:
        """Return v(mu, cell): values x cells."""
        of, prices = self.fluid.kinds[kind], self.prices
        cost = np.concatenate([prices.price, np.zeros((1, self.fluid.resources))]) @ of.use.T
        earned = np.zeros((len(self.values), len(prices.times)))
        # Many cells share the same prices, and prices of idle cells are 0.
        rows, back = np.unique(cost, axis=0, return_inverse=True)
        for i, row in enumerate(rows):
            best = (self.values[:, None] * of.speed - row).max(axis=1)
            earned[:, back == i] = np.maximum(best, 0.0)[:, None]
        return earned

    def _costs_of_cells(self, job: int, start: int) -> FloatArray:
        """Return the cost of finishing in each cell from `start` on, values x cells; -inf without a bound."""
        prices, work = self.prices, float(self.fluid.work[job])
        earned = self.earned[self.fluid.kind[job]]
        ends = np.zeros((len(self.values), len(prices.times) - start))
        np.cumsum(earned[:, start:-1] * prices.lengths[start:], axis=1, out=ends[:, 1:])
        ends = prices.times[start:] - prices.times[start] - ends
        cells = np.empty_like(ends)
        np.minimum(ends[:, :-1], ends[:, 1:], out=cells[:, :-1])
        cells[:, -1] = np.where(earned[:, -1] <= 1.0, ends[:, -1], -np.inf)
        return np.asarray(cells + self.values[:, None] * work)

    def _closed_cells(self, job: int, start: int) -> BoolArray:
        """Return the cells from `start` on in which the job cannot finish."""
        earliest, latest = self.windows[job]
        begin = self.prices.times[start:]
        end = np.append(begin[1:], np.inf)
        return np.asarray((end < earliest) | (begin > latest))

    def bound(self) -> Bound:
        """Return the bound at time 0."""
        first, cost, total = [], [], -float(self.paid[0])
        for j in range(self.fluid.jobs):
            first.append(self.prices.cell(float(self.fluid.arrival[j])))
            cost.append(self.finish_costs(j))
            total += float(cost[-1].min())
        return Bound(total, first, cost)

    def finish_costs(self, job: int) -> FloatArray:
        """Return flow time plus priced use of `job` for its finish in each cell from its arrival on, or inf."""
        start = self.prices.cell(float(self.fluid.arrival[job]))
        best = self._costs_of_cells(job, start).max(axis=0)
        best[self._closed_cells(job, start)] = np.inf
        return np.asarray(best)

    def tail(self, job: int, start: int) -> Tail | None:
        """Return a lower bound on the cost of `job`'s residual work from border `start` on: flow time plus priced use.

        None if the job must have finished by then, so that its residual work is 0.
        """
        if self._closed_cells(job, start).all():
            return None
        # H_s of the module's docstring: the values are the slopes a, and a running maximum serves "max over mu <= a".
        cells = np.maximum.accumulate(self._costs_of_cells(job, start), axis=0)
        cells[:, self._closed_cells(job, start)] = np.inf
        lower_bound = cells.min(axis=1) - self.values * float(self.fluid.work[job])
        usable = np.isfinite(lower_bound)
        return tail(self.values[usable], lower_bound[usable], float(self.fluid.work[job]))

    def later(self, job: int) -> float:
        """Return the bound of `job` and all later jobs: their costs less the prices from its arrival on."""
        start = self.prices.cell(float(self.fluid.arrival[job]))
        total = -float(self.paid[start])
        for j in range(job, self.fluid.jobs):
            total += float(self.finish_costs(j).min())
        return total
