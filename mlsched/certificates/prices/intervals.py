"""What prices over time prove of a log of jobs, in integers: `proven(jobs, prices, pausing)`. NumPy only.

Job j is released at r, runs for p ticks in all, holds d of every resource while it does, and weighs w. A price is so
many units for a tick and a unit of a resource, constant on intervals of `step` ticks from `start` on, and 0 after the
last; 2^bits units are one tick of waiting at a weight of 1. Whatever the prices are: what all jobs pay in a schedule is
at most what the whole capacity costs, since they never hold more. So in every schedule

    sum of w (end - r)  >=  sum of [the cheapest way of a job: w (end - r) + what it pays]  -  what all capacity costs.

Nothing else is believed here: the jobs' cheapest ways are recomputed, from the log and the prices.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mlsched.certificates.prices.integers import Integers, dot, largest, total, within

#: Sums of prices that are kept for jobs of the same demand.
MOST_KEPT = 2**22


@dataclasses.dataclass(frozen=True)
class Jobs:
    """Of each job: release, length and weight; demand (jobs x resources). Of the cluster: capacity (resources)."""

    release: Integers
    length: Integers
    weight: Integers
    demand: Integers
    capacity: Integers


@dataclasses.dataclass(frozen=True)
class Prices:
    """Prices (intervals x resources), see above."""

    start: int
    step: int
    bits: int
    values: Integers


def proven(jobs: Jobs, prices: Prices, *, pausing: bool, look: Callable[[], None] = lambda: None) -> int:
    """No schedule has a smaller sum of weight x (end - release); without pausing, none in which no job pauses.

    look: called now and then; what it raises ends the check.
    """
    if prices.step < 1 or (prices.values < 0).any() or (len(jobs.release) and prices.start > jobs.release.min()):
        raise ValueError("prices must not be below 0, nor begin after the first job, on intervals of a tick or more")
    kept = (jobs.length > 0) & (jobs.weight > 0)  # others may cost nothing
    asked = Jobs(jobs.release[kept], jobs.length[kept], jobs.weight[kept], jobs.demand[kept], jobs.capacity)
    cheapest = (interrupted if pausing else uninterrupted)(asked, prices, look)
    whole = prices.step * dot(np.array([total(c) for c in prices.values.T], dtype=np.int64), jobs.capacity)
    return -((whole - sum(cheapest)) >> prices.bits)  # rounded up: weights and ticks are whole numbers


def uninterrupted(jobs: Jobs, prices: Prices, look: Callable[[], None] = lambda: None) -> list[int]:
    """The cost of each job's cheapest way without a pause: it starts at r, or starts or ends where an interval does."""
    step, last, scale = prices.step, len(prices.values), 2**prices.bits
    sums = sum(largest(jobs.demand[:, r]) * total(column) * step for r, column in enumerate(prices.values.T))
    # Nobody ends later than after all prices and all that it could save by waiting.
    span = last * step + 2 * largest(jobs.length) + largest(jobs.release - prices.start)
    within("a cost", largest(jobs.weight) * scale * span + sums)
    until = np.vstack([prices.values[:0].sum(axis=0)[None], np.cumsum(prices.values * step, axis=0)])
    rate = np.vstack([prices.values, until[:1] * 0])

    def paid(j: Integers, begin: Integers) -> Integers:
        cost = jobs.weight[j] * scale * (begin + jobs.length[j] - jobs.release[j])
        for sign, time in ((-1, begin), (1, begin + jobs.length[j])):
            k = np.minimum((time - prices.start) // step, last)
            rest = (time - prices.start - k * step)[:, None]
            cost = cost + sign * (jobs.demand[j] * (until[k] + rate[k] * rest)).sum(axis=1)
        return np.asarray(cost)

    best = paid(np.arange(len(jobs.release)), jobs.release)
    waits = (best - jobs.weight * scale * jobs.length) // (jobs.weight * scale)
    for ends in (0, 1):  # of intervals: k at which the job starts, or ends
        soonest = jobs.release - prices.start + ends * jobs.length
        low, high = -(-soonest // step), np.minimum((soonest + waits) // step, last)
        count = np.maximum(high - low + 1, 0)
        ends_of_parts = np.flatnonzero(np.diff(np.cumsum(count) // 2**20)) + 1
        for part in np.split(np.arange(len(low)), ends_of_parts):
            look()
            j = np.repeat(part, count[part])
            k = np.arange(len(j)) - np.repeat(np.cumsum(count[part]) - count[part] - low[part], count[part])
            np.minimum.at(best, j, paid(j, prices.start + k * step - ends * jobs.length[j]))
    return [int(cost) for cost in best]


def interrupted(jobs: Jobs, prices: Prices, look: Callable[[], None] = lambda: None) -> list[int]:
    """The cost of each job's cheapest way with pauses wherever it likes; Python's integers, of any size."""
    rows, step, last = prices.values.tolist(), prices.step, len(prices.values)
    kept = max(1, MOST_KEPT // (last + 1))
    pays = lru_cache(kept)(lambda demand: [sum(map(int.__mul__, demand, row)) for row in rows] + [0])
    columns, costs = (jobs.release, jobs.length, jobs.weight, jobs.demand), list[int]()
    for r, p, w, d in zip(*(c.tolist() for c in columns), strict=True):
        look()
        costs.append(_one(r - prices.start, p, w << prices.bits, pays(tuple(d)), step, last))
    return costs


def _one(r: int, p: int, w: int, price: list[int], step: int, last: int) -> int:
    """The job's end moves on, tick by tick in bulk; it always runs in the p cheapest ticks before it."""
    end, lacks, paid, best, held = r, p, 0, -1, list[tuple[int, int]]()  # held: (-price, ticks), the dearest on top
    while best < 0 or (w * (end - r) < best and end < last * step + p):
        k = min(end // step, last)
        ticks = (k + 1) * step - end if k < last else p
        if lacks:  # it runs in every tick so far
            ticks = min(ticks, lacks)
            lacks -= ticks
            paid += ticks * price[k]
            heapq.heappush(held, (-price[k], ticks))
            end += ticks
            best = w * (end - r) + paid if not lacks else best
        elif held and -held[0][0] > price[k]:  # later ticks replace the dearest, one for one
            dear, many = heapq.heappop(held)
            ticks = min(ticks, many)
            if many > ticks:
                heapq.heappush(held, (dear, many - ticks))
            heapq.heappush(held, (-price[k], ticks))
            paid += ticks * (price[k] + dear)
            end += ticks
            best = min(best, w * (end - r) + paid)
        else:
            end += ticks
    return best
