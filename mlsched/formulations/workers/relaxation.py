"""The Lagrangian relaxation of the capacities: prices, their bound, and the columns that remain.

At prices l >= 0 for a unit of each resource, every job takes the column of smallest cost + l use for itself. So

    L(l) = sum_j min_c (cost_c + l use_c) - l capacity  <=  optimum                              for any l >= 0,

and for any plan: value >= L(l) + the sum over its columns of their *reduced costs*, (cost_c + l use_c) minus the
smallest such sum of the job. So in a plan of value v or less, the reduced costs add up to at most v - L(l). The
prices are the duals of the LP relaxation, in which jobs mix columns, rounded to integers. So the arithmetic above is
exact.

With K resources the LP mixes columns of at most K jobs, so L is close and few columns of each job remain.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.formulations.workers.columns import Columns, total

#: Prices are in 1/SCALE ms, or coarser to avoid overflow.
SCALE = 1024
#: Scaled values stay below this.
ROOM = 2**61


@dataclasses.dataclass(frozen=True)
class Relaxed:
    """Prices of the resources and the resulting bound, all in 1/scale ms.

    reduced: the reduced cost of each column. lower_bound: L.
    """

    scale: int
    price: IntArray
    reduced: IntArray
    lower_bound: int

    @property
    def bound(self) -> int:
        """Return the lower bound on the cost of all plans, in ms."""
        return -(-self.lower_bound // self.scale)

    def slack(self, value: int) -> int:
        """Return the largest sum of reduced costs in a plan of `value` or less; negative without such a plan."""
        return self.scale * value - self.lower_bound


def rounded(choice: Columns, prices: FloatArray) -> Relaxed:
    """Return the relaxation at rounded prices; `prices` are floats, ms per unit of each resource."""
    worst = int(np.maximum.reduceat(choice.cost, choice.first[:-1]).astype(object).sum()) if choice.jobs else 0
    scale = max(1, min(SCALE, ROOM // 8 // max(1, worst)))
    price = np.rint(np.maximum(prices, 0) * scale)
    # Apart from rounding, the best prices of the total capacity never exceed the waiting cost of all jobs.
    most = ROOM // 8 // np.maximum(1, choice.capacity) // max(1, len(choice.capacity))
    return at_prices(choice, np.minimum(price, most).astype(np.int64), scale)


def at_prices(choice: Columns, price: IntArray, scale: int) -> Relaxed:
    """Return the relaxation at given prices >= 0 in 1/scale ms for a unit of each resource."""
    costs = scale * choice.cost + choice.use @ price
    smallest = np.minimum.reduceat(costs, choice.first[:-1]) if choice.jobs else np.zeros(0, dtype=np.int64)
    return Relaxed(scale, price, costs - smallest[choice.job], int(smallest.sum()) - int(price @ choice.capacity))


def round_off(choice: Columns, relaxed: Relaxed) -> IntArray:
    """Return a feasible plan near the relaxation: one column per job, by index.

    It starts from each job's cheapest column at the prices. Until all columns fit, it makes the change of least cost
    per released amount. Then, while a change fits, it makes the change with the largest saving.
    """
    first = choice.first
    selection = np.array(
        [a + int(relaxed.reduced[a:b].argmin()) for a, b in zip(first[:-1], first[1:], strict=True)], dtype=np.int64
    )
    weight = 1 / np.maximum(1, choice.capacity)
    free = choice.capacity - choice.use[selection].sum(axis=0)
    while (free < 0).any():
        over = np.maximum(-free, 0)
        release = (np.minimum(choice.use[selection][choice.job] - choice.use, over) * weight)[:, free < 0].sum(axis=1)
        # A new shortage of other resources counts against the change.
        loss = np.maximum(choice.use - choice.use[selection][choice.job] - np.maximum(free, 0), 0)
        release -= (loss * weight)[:, free >= 0].sum(axis=1)
        # Sending a job that uses a scarce resource to wait always releases some of it, so the loop ends.
        able = release > 1e-12
        price = np.where(able, relaxed.reduced - relaxed.reduced[selection][choice.job], np.inf) / np.where(
            able, release, 1
        )
        move = int(price.argmin())
        selection[choice.job[move]] = move
        free = choice.capacity - choice.use[selection].sum(axis=0)
    while True:
        fits = (choice.use - choice.use[selection][choice.job] <= free).all(axis=1)
        saving = np.where(fits, choice.cost[selection][choice.job] - choice.cost, 0)
        if not len(saving) or int(saving.max()) <= 0:
            return selection
        move = int(saving.argmax())
        selection[choice.job[move]] = move
        free = choice.capacity - choice.use[selection].sum(axis=0)


def cut(choice: Columns, relaxed: Relaxed) -> Columns:
    """Return the columns that, by the bounds, an optimum may need.

    These are the columns of a feasible plan and all that a better plan may use.
    """
    present = round_off(choice, relaxed)
    mask = relaxed.reduced <= relaxed.slack(total(choice, present) - 1)
    mask[present] = True
    return choice.keep(mask)
