"""The Lagrangian relaxation of the capacities: prices, what they prove, and which columns that leaves.

At prices l >= 0 for a unit of each resource, every job takes the column of smallest cost + l use for itself. That gives

    L(l) = sum_j min_c (cost_c + l use_c) - l capacity  <=  optimum                              for any l >= 0,

and for any plan: value >= L(l) + the sum over its columns of their *reduced costs*, (cost_c + l use_c) less the
smallest such sum of the job. So in a plan of value v or less, the reduced costs add up to no more than v - L(l). The
prices are the duals of the LP relaxation, in which jobs mix columns, rounded to integers: so the arithmetic above is
exact.

With K resources the LP mixes columns of at most K jobs, so L is close and few columns of each job remain.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.workers.columns import Columns, total

#: Prices are in 1/SCALE ms, less where that could overflow.
SCALE = 1024
#: Scaled values stay below this.
ROOM = 2**61


@dataclasses.dataclass(frozen=True)
class Relaxed:
    """Prices of the resources and what they prove, all in 1/scale ms.

    reduced: the reduced cost of each column. lower_bound: L.
    """

    scale: int
    price: IntArray
    reduced: IntArray
    lower_bound: int

    @property
    def bound(self) -> int:
        """No plan costs less, ms."""
        return -(-self.lower_bound // self.scale)

    def slack(self, value: int) -> int:
        """The most that reduced costs add up to in a plan of `value` or less; negative where there is no such plan."""
        return self.scale * value - self.lower_bound


def rounded(choice: Columns, prices: Any) -> Relaxed:
    """The relaxation at prices for a unit of each resource, floats that are rounded to integers."""
    worst = int(np.maximum.reduceat(choice.cost, choice.first[:-1]).astype(object).sum()) if choice.jobs else 0
    scale = max(1, min(SCALE, ROOM // 8 // max(1, worst)))
    price = np.rint(np.maximum(prices, 0) * scale)
    # Rounding apart, the best prices of everything there is never exceed what waiting costs all jobs.
    most = ROOM // 8 // np.maximum(1, choice.capacity) // max(1, len(choice.capacity))
    return at_prices(choice, np.minimum(price, most).astype(np.int64), scale)


def at_prices(choice: Columns, price: IntArray, scale: int) -> Relaxed:
    """The relaxation at given prices >= 0 in 1/scale ms for a unit of each resource."""
    offered = scale * choice.cost + choice.use @ price
    smallest = np.minimum.reduceat(offered, choice.first[:-1]) if choice.jobs else np.zeros(0, dtype=np.int64)
    return Relaxed(scale, price, offered - smallest[choice.job], int(smallest.sum()) - int(price @ choice.capacity))


def round_off(choice: Columns, relaxed: Relaxed) -> IntArray:
    """A feasible plan near the relaxation: one column per job, by index.

    It starts from each job's cheapest column at the prices. Until everything fits, the change is made that costs least
    for what it frees; then, as long as one fits, the change that saves most.
    """
    first = choice.first
    chosen = np.array(
        [a + int(relaxed.reduced[a:b].argmin()) for a, b in zip(first[:-1], first[1:], strict=True)], dtype=np.int64
    )
    weight = 1 / np.maximum(1, choice.capacity)
    free = choice.capacity - choice.use[chosen].sum(axis=0)
    while (free < 0).any():
        over = np.maximum(-free, 0)
        freed = (np.minimum(choice.use[chosen][choice.job] - choice.use, over) * weight)[:, free < 0].sum(axis=1)
        # What other resources would then lack counts against it.
        lost = np.maximum(choice.use - choice.use[chosen][choice.job] - np.maximum(free, 0), 0)
        freed -= (lost * weight)[:, free >= 0].sum(axis=1)
        # Sending a job that uses something scarce to wait always frees something: this ends.
        able = freed > 1e-12
        price = np.where(able, relaxed.reduced - relaxed.reduced[chosen][choice.job], np.inf) / np.where(able, freed, 1)
        move = int(price.argmin())
        chosen[choice.job[move]] = move
        free = choice.capacity - choice.use[chosen].sum(axis=0)
    while True:
        fits = (choice.use - choice.use[chosen][choice.job] <= free).all(axis=1)
        saved = np.where(fits, choice.cost[chosen][choice.job] - choice.cost, 0)
        if not len(saved) or int(saved.max()) <= 0:
            return chosen
        move = int(saved.argmax())
        chosen[choice.job[move]] = move
        free = choice.capacity - choice.use[chosen].sum(axis=0)


def cut(choice: Columns, relaxed: Relaxed) -> Columns:
    """The columns without those that, by the bounds, no optimum needs.

    Kept are the columns of a feasible plan and all that a better plan may use.
    """
    known = round_off(choice, relaxed)
    mask = relaxed.reduced <= relaxed.slack(total(choice, known) - 1)
    mask[known] = True
    return choice.keep(mask)
