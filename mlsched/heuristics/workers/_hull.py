"""Greedy along lower convex hulls: a heuristic for the multiple-choice knapsack with several resources."""

from __future__ import annotations

import heapq
import math

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.workers.columns import Columns, total

#: Greedy choices, each with its own prices, and the power of the used share by which the next choice changes a price.
MIXES, POWER = 4, 3
#: Lowest price: a resource that the last choice barely used may still run short in the next choice.
LEAST_PRICE = 1e-3
#: Passes over the jobs that look for a better column within the free capacity.
IMPROVING_PASSES = 3

#: A job's hull: the columns at its corners by increasing size, and the saving per unit of size of each step.
Hull = tuple[list[int], list[float]]


def hull_greedy(choice: Columns) -> IntArray:
    """Return one column per job, by index: the best of a few greedy choices.

    Prices of the resources give each column a scalar size. Each job starts at waiting and climbs the lower convex hull
    of its columns (size, cost). The step with the largest saving per unit of size comes first. A job whose next step
    does not fit stops. Afterwards single jobs change to their best column that fits. The first choice prices all
    resources equally; each later choice lowers the price of the resources that the last one left free.
    """
    capacity = np.maximum(choice.capacity, 1)
    price, plans = np.ones(len(capacity)), list[IntArray]()
    for _ in range(MIXES):
        climbed = _climb_hulls(choice, price / capacity)
        use = choice.use[climbed].sum(axis=0) / capacity
        price = np.maximum(price * use**POWER, LEAST_PRICE)
        plans.append(_improve_jobs(choice, climbed))
    return min(plans, key=lambda chosen: total(choice, chosen))


def _climb_hulls(choice: Columns, price: np.ndarray) -> IntArray:
    """Return the columns that the steps along the hulls reach."""
    size, first = choice.use @ price, choice.first.tolist()
    order = np.lexsort((choice.cost, size, choice.job)).tolist()
    sizes, costs = size.tolist(), choice.cost.tolist()
    hulls = [_hull(sizes, costs, order[start:end]) for start, end in zip(first, first[1:], strict=False)]
    # The first corner is waiting, or a column that is cheaper and uses nothing either.
    selection = np.array([corners[0] for corners, _ in hulls], dtype=np.int64)
    free = choice.capacity.copy()
    queue = [(-savings[0], j, 1) for j, (_, savings) in enumerate(hulls) if savings]
    heapq.heapify(queue)
    while queue:
        _, j, step = heapq.heappop(queue)
        corners, savings = hulls[j]
        more = choice.use[corners[step]] - choice.use[selection[j]]
        if (more > free).any():
            continue
        free -= more
        selection[j] = corners[step]
        if step < len(savings):
            heapq.heappush(queue, (-savings[step], j, step + 1))
    return selection


def _hull(size: list[float], cost: list[int], order: list[int]) -> Hull:
    """Return the lower convex hull of a job's columns, which `order` lists by increasing size, then cost."""
    corners, slopes = order[:1], [math.inf]
    for column in order[1:]:
        value = cost[column]
        if value >= cost[corners[-1]]:
            continue
        while True:
            last = corners[-1]
            run = size[column] - size[last]
            slope = (cost[last] - value) / run if run > 0 else math.inf
            if slope < slopes[-1] or len(corners) == 1:
                break
            corners.pop()
            slopes.pop()
        corners.append(column)
        slopes.append(slope)
    return corners, slopes[1:]


def _improve_jobs(choice: Columns, chosen: IntArray) -> IntArray:
    """Return the columns after single jobs have changed to their cheapest column within the free capacity."""
    free, first = choice.capacity - choice.use[chosen].sum(axis=0), choice.first.tolist()
    for _ in range(IMPROVING_PASSES):
        before = chosen.copy()
        for j, (start, end) in enumerate(zip(first, first[1:], strict=False)):
            room = free + choice.use[chosen[j]]
            fits = (choice.use[start:end] <= room).all(axis=1)
            best = start + int(np.where(fits, choice.cost[start:end], np.iinfo(np.int64).max).argmin())
            if choice.cost[best] < choice.cost[chosen[j]]:
                chosen[j], free = best, room - choice.use[best]
        if (before == chosen).all():
            break
    return chosen
