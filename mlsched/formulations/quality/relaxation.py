"""The Lagrangian relaxation of the capacity: a price for a core, what the jobs then want, and what that proves.

The total loss reduction is a multiple-choice knapsack: pick one allocation b >= 0 beyond `least` for every job, value
v[j, b], at most R cores in all. At a price p >= 0 per core every job buys on its own: m_j(p) = max_b v[j, b] - p b, and

    bound(p) = p R + sum_j m_j(p) >= optimum.

What the jobs want falls as the price rises; at the lowest price at which it fits, the bound is that of the concave
envelopes of the tables up to rounding the price to an integer, and what is bought is what a greedy on the concave
envelopes takes before its first jump that does not fit. `fill` spends the cores that are left.

Everything is exact in int64: prices stay below 2^60 / R, values below 2^53.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.quality import Instance

_PRICE = 2**60


@dataclasses.dataclass(frozen=True)
class Choices:
    """The running jobs' options: `value[i, b]` of b cores beyond `least`, `last[i]` the largest b, R = `room`.

    `base` is what `least` cores for everybody bring, on top of all values.
    """

    base: int
    value: IntArray
    last: IntArray
    room: int

    @property
    def dearest(self) -> int:
        """A price at which nobody buys, or the highest that cannot overflow."""
        top = int(self.value.max(initial=0)) + 1
        return min(top, _PRICE // max(self.room, int(self.value.shape[1]), 1))


def choices(instance: Instance) -> Choices:
    """The multiple-choice knapsack of an instance; values of options beyond a cap repeat the cap's."""
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
    """What each job buys at `price`: the smallest b that maximises value - price * b."""
    cost = price * np.arange(problem.value.shape[1], dtype=np.int64)
    return np.asarray(np.argmax(problem.value - cost, axis=1))


def clearing_price(problem: Choices) -> tuple[int, IntArray]:
    """The lowest integer price at which demand fits into the room, and that demand.

    In instances whose values are so large that prices had to be cut, the demand may not fit: then nothing is bought.
    """
    low, high = -1, problem.dearest
    bought = demand(problem, high)
    if int(bought.sum()) > problem.room:
        return high, np.zeros_like(bought)
    while high - low > 1:
        middle = (low + high) // 2
        wanted = demand(problem, middle)
        if int(wanted.sum()) <= problem.room:
            high, bought = middle, wanted
        else:
            low = middle
    return high, bought


def fill(problem: Choices, bought: IntArray) -> IntArray:
    """`bought` and, as long as something fits, the jump of most value per core within the cores that are left.

    Ties go to the wider jump, then to the earlier job. A jump that brings nothing is not made.
    """
    cores = bought.copy()
    left = problem.room - int(cores.sum())
    rate, jump = _best_jumps(problem, cores, left, np.arange(len(cores)))
    while left > 0:
        stale = np.flatnonzero(jump > left)
        if stale.size:
            rate[stale], jump[stale] = _best_jumps(problem, cores, left, stale)
        best = rate.max(initial=0.0)
        if best <= 0:
            break
        near = np.flatnonzero(rate >= best * (1 - 1e-12))
        job = int(near[0]) if near.size == 1 else _best_exactly(problem, cores, jump, near)
        left -= int(jump[job])
        cores[job] += jump[job]
        again = np.array([job])
        rate[again], jump[again] = _best_jumps(problem, cores, left, again)
    return cores


def _best_exactly(problem: Choices, cores: IntArray, jump: IntArray, near: IntArray) -> int:
    """Of jobs whose rates differ by rounding at most: the highest rate in integers, then the wider jump, the first."""
    best, top, width = -1, 0, 1
    for job in near.tolist():
        gain, cost = int(problem.value[job, cores[job] + jump[job]] - problem.value[job, cores[job]]), int(jump[job])
        ahead = gain * width - top * cost
        if best < 0 or ahead > 0 or (ahead == 0 and cost > width):
            best, top, width = job, gain, cost
    return best


def _best_jumps(
    problem: Choices, cores: IntArray, left: int, jobs: IntArray
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], IntArray]:
    """For each of `jobs`: the highest value per core of a jump of at most `left` cores, and the widest such jump."""
    widest = min(left, problem.value.shape[1] - 1)
    if widest <= 0 or not jobs.size:
        return np.zeros(len(jobs)), np.ones(len(jobs), dtype=np.int64)
    steps = np.arange(1, widest + 1)
    # Values are flat beyond a cap, so a jump past it has a lower rate than one to it and is never the best.
    target = np.minimum(cores[jobs, None] + steps, problem.last[jobs, None])
    here = problem.value[jobs, cores[jobs]]
    rates = (np.take_along_axis(problem.value[jobs], target, axis=1) - here[:, None]) / steps
    widest_first = rates.shape[1] - 1 - np.argmax(rates[:, ::-1], axis=1)
    return rates[np.arange(len(jobs)), widest_first], steps[widest_first]


def bound(problem: Choices, price: int) -> tuple[int, IntArray]:
    """bound(price) of the module's docstring, and m_j(price)."""
    cost = price * np.arange(problem.value.shape[1], dtype=np.int64)
    net = (problem.value - cost).max(axis=1, initial=0)
    return price * problem.room + int(net.sum()), net
