"""The Lagrangian relaxation of the core capacity: a price per core, the jobs' demand at it, and the resulting bound.

The total loss reduction is a multiple-choice knapsack: every running job j gets the instance's `least` cores and b >=
0 more, of value v[j, b], at most R of these in all. At a price p >= 0 per core, each job makes its best choice,
m_j(p) = max_b v[j, b] - p b, and

    bound(p) = p R + sum_j m_j(p) >= optimum.

The demand of the jobs falls as the price rises. At the lowest price at which it fits, bound(p) is the optimum over
the concave envelopes of the tables, but for rounding the price to an integer. The demand is then the result of a
greedy on those envelopes before its first jump that does not fit. `fill` spends the remaining cores.

All computations are exact in int64: prices stay below 2^60 / R, values below 2^53.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.quality import Instance

_PRICE = 2**60


@dataclasses.dataclass(frozen=True)
class Choices:
    """The knapsack of the module's docstring. value: v; last: the largest b of each job; room: R.

    base: the value of `least` cores for every job, to which all other values are added.
    """

    base: int
    value: IntArray
    last: IntArray
    room: int

    @property
    def dearest(self) -> int:
        """Return a price at which demand is 0, or the highest that cannot overflow."""
        top = int(self.value.max(initial=0)) + 1
        return min(top, _PRICE // max(self.room, int(self.value.shape[1]), 1))


def choices(instance: Instance) -> Choices:
    """Return the multiple-choice knapsack of an instance; values of options beyond a cap repeat the cap's."""
    running = instance.running
    if not len(running):
        nothing = np.zeros((0, 1), dtype=np.int64)
        return Choices(0, nothing, nothing[:, 0], instance.available)
    last = instance.most[running] - instance.least
    room = instance.available - instance.least * len(running)
    width = min(int(last.max(initial=0)), room)
    last = np.minimum(last, width)
    table = instance.gain[running, instance.least : instance.least + width + 1]
    value = (table - table[:, :1]) * instance.weight[running, None]
    capped = np.flatnonzero(last < width)
    if capped.size:
        beyond = np.minimum(np.arange(width + 1)[None, :], last[capped, None])
        value[capped] = np.take_along_axis(value[capped], beyond, axis=1)
    base = int((table[:, 0] * instance.weight[running]).sum())
    return Choices(base, value, last, room)


def demand(problem: Choices, price: int) -> IntArray:
    """Return each job's demand at `price`: the smallest b that maximises value - price * b."""
    cost = price * np.arange(problem.value.shape[1], dtype=np.int64)
    return np.asarray(np.argmax(problem.value - cost, axis=1))


def clearing_price(problem: Choices) -> tuple[int, IntArray]:
    """Return the lowest integer price at which the demand fits into the room, and that demand.

    If the demand exceeds the room even at the dearest price, the result is that price and a demand of 0 for every job.
    """
    low, high = -1, problem.dearest
    purchase = demand(problem, high)
    if int(purchase.sum()) > problem.room:
        return high, np.zeros_like(purchase)
    while high - low > 1:
        middle = (low + high) // 2
        target = demand(problem, middle)
        if int(target.sum()) <= problem.room:
            high, purchase = middle, target
        else:
            low = middle
    return high, purchase


def fill(problem: Choices, bought: IntArray) -> IntArray:
    """Return `bought`, increased by the jump of most value per core as long as one fits into the remaining cores.

    Of equal jumps, the wider comes first, then the earlier job. Jumps without value are skipped.
    """
    cores = bought.copy()
    remaining = problem.room - int(cores.sum())
    rate, jump = _best_jumps(problem, cores, remaining, np.arange(len(cores)))
    while remaining > 0:
        stale = np.flatnonzero(jump > remaining)
        if stale.size:
            rate[stale], jump[stale] = _best_jumps(problem, cores, remaining, stale)
        best = rate.max(initial=0.0)
        if best <= 0:
            break
        near = np.flatnonzero(rate >= best * (1 - 1e-12))
        job = int(near[0]) if near.size == 1 else _best_exactly(problem, cores, jump, near)
        remaining -= int(jump[job])
        cores[job] += jump[job]
        again = np.array([job])
        rate[again], jump[again] = _best_jumps(problem, cores, remaining, again)
    return cores


def _best_exactly(problem: Choices, cores: IntArray, jump: IntArray, near: IntArray) -> int:
    """Compare jobs with nearly equal rates in integers; return the highest rate, widest jump, then first job."""
    best, top, width = -1, 0, 1
    for job in near.tolist():
        gain, cost = int(problem.value[job, cores[job] + jump[job]] - problem.value[job, cores[job]]), int(jump[job])
        ahead = gain * width - top * cost
        if best < 0 or ahead > 0 or (ahead == 0 and cost > width):
            best, top, width = job, gain, cost
    return best


def _best_jumps(
    problem: Choices, cores: IntArray, remaining: int, jobs: IntArray
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], IntArray]:
    """Return each job's highest value per core of a jump within `remaining` cores, and the widest such jump."""
    widest = min(remaining, problem.value.shape[1] - 1)
    if widest <= 0 or not jobs.size:
        return np.zeros(len(jobs)), np.ones(len(jobs), dtype=np.int64)
    steps = np.arange(1, widest + 1)
    # Values are flat beyond a cap, so a jump beyond it has a lower rate than the jump to it and is never the best.
    target = np.minimum(cores[jobs, None] + steps, problem.last[jobs, None])
    here = problem.value[jobs, cores[jobs]]
    rates = (np.take_along_axis(problem.value[jobs], target, axis=1) - here[:, None]) / steps
    widest_first = rates.shape[1] - 1 - np.argmax(rates[:, ::-1], axis=1)
    return rates[np.arange(len(jobs)), widest_first], steps[widest_first]


def bound(problem: Choices, price: int) -> tuple[int, IntArray]:
    """Return bound(price) of the module's docstring, and m_j(price)."""
    cost = price * np.arange(problem.value.shape[1], dtype=np.int64)
    net = (problem.value - cost).max(axis=1, initial=0)
    return price * problem.room + int(net.sum()), net
