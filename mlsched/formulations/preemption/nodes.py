"""Victim selection by nodes: possible hostings of a node, their costs, and the pricing knapsack.

A *room* of a node is its free capacity after suspending some victims: a cost and an amount of each resource. A room
is dropped if another room is at least as large and costs at most as much. A *hosting* is a set of TE jobs that fit a
room of a node; its cost is the cost of the cheapest such room. With a price for every TE job, the most valuable
hosting of a node is found by a knapsack over its rooms. The search is depth first, TE jobs in the order of price per
weight (a weighted sum of demands). Its bound is the fractional knapsack of this weight and of every single resource.

All prices are integers, and the inputs of bounds are exact: floats only exclude rooms whose value is far from
sufficient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from mlsched.core.aliases import Expression
from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import FloatArray, IntArray
from mlsched.instances.preemption import Instance

#: Most rooms of one node; larger instances are refused.
MOST_ROOMS = 20_000
#: Largest table of all amounts, in cells.
MOST_CELLS = 500_000
#: Factor that makes prices integers.
SCALE = 2**10
#: Relative margin within which float comparisons are not trusted.
MARGIN = 1e-9


#: A room: node, cost, amounts, victims.
Room = tuple[int, int, tuple[int, ...], tuple[int, ...]]


class Rooms:
    """The rooms of all nodes, one after the other, each node's cheapest first: node, cost, amounts, and victims."""

    def __init__(self, rows: list[Room], demand: IntArray) -> None:
        least = demand.min(axis=0).tolist() if len(demand) else [0] * demand.shape[1]
        # A room that is too small for every TE job does not host any.
        rows = [one for one in rows if all(a >= b for a, b in zip(one[2], least, strict=True))]
        self.demand = demand
        self.node = np.array([row[0] for row in rows], dtype=np.int64)
        self.cost = np.array([row[1] for row in rows], dtype=np.int64)
        self.amount = np.array([row[2] for row in rows], dtype=np.int64).reshape(len(rows), self.demand.shape[1])
        self.victims = [row[3] for row in rows]
        most = np.maximum(self.amount.max(axis=0, initial=1), 1)
        unit = 10**6 // most + 1
        #: Table of all amounts, if they are few: the amounts of jobs and rooms in steps, and its shape.
        step = np.maximum(np.gcd.reduce(self.demand, axis=0), 1) if len(self.demand) else np.ones_like(most)
        self.steps, cells = self.demand // step, self.amount // step
        self.cells = np.minimum(cells, self.steps.sum(axis=0))
        self.shape = tuple((self.cells.max(axis=0, initial=0) + 1).tolist())
        self.tabulable = math.prod(self.shape) <= MOST_CELLS
        #: Weights of TE jobs and capacities of rooms: a weighted sum, then each resource; the jobs of a room fit in
        #: all.
        self.weights = np.column_stack([self.demand @ unit, self.demand])
        self.capacities = np.column_stack([self.amount @ unit, self.amount])

    @classmethod
    def of(cls, instance: Instance, cost: IntArray, deadline: Deadline) -> Rooms:
        """Return the rooms of an instance, with `cost[j]` for job j as a victim. Raises TooLarge."""
        here: list[list[int]] = [[] for _ in instance.node_capacity]
        for j in np.flatnonzero(instance.preemptible).tolist():
            here[int(instance.job_node[j])].append(j)
        rows: list[Room] = []
        free = (instance.node_free + instance.node_draining).tolist()
        demand = instance.job_demand.tolist()
        for n in deadline.over(range(len(here))):
            rooms: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(0, tuple(free[n]), ())]
            for j in here[n]:
                own = int(cost[j])
                grown = [
                    (paid + own, tuple(a + b for a, b in zip(room, demand[j], strict=True)), (*victims, j))
                    for paid, room, victims in rooms
                ]
                rooms = _undominated_rooms(rooms + grown)
                if len(rooms) > MOST_ROOMS:
                    raise TooLarge(f"columns: node {n} has more than {MOST_ROOMS} rooms; use cp-sat or highs")
            rows += [(n, *one) for one in rooms]
        return cls(rows, instance.te_demand)

    def cheapest(self, node: int, jobs: tuple[int, ...]) -> int | None:
        """Return the cheapest room of a node in which these jobs fit."""
        need = self.demand[list(jobs)].sum(axis=0)
        first, last = np.searchsorted(self.node, [node, node + 1])
        fits = np.flatnonzero((self.amount[first:last] >= need).all(axis=1))
        return int(first + fits[0]) if fits.size else None  # rooms are listed cheapest first


def _undominated_rooms(
    rooms: list[tuple[int, tuple[int, ...], tuple[int, ...]]],
) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Return the rooms that are not dominated, cheapest first."""
    survivors: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
    for one in sorted(rooms):
        if not any(all(a >= b for a, b in zip(other[1], one[1], strict=True)) for other in survivors):
            survivors.append(one)
    return survivors


class Priced:
    """The rooms at prices, in 1 / SCALE of a cost, of the TE jobs."""

    def __init__(self, rooms: Rooms, price: IntArray) -> None:
        self.rooms, self.price = rooms, price
        sums = rooms.weights[:, 0].tolist()
        worth = sorted(range(len(price)), key=lambda t: (sums[t] > 0, Fraction(-int(price[t]), max(1, sums[t]))))
        self.jobs = [(int(price[t]), sums[t], rooms.demand[t].tolist(), t) for t in worth]
        #: In floats: the cost of each room minus the largest value of jobs there; above the truth by at most the
        #: margin.
        self.least = rooms.cost * float(SCALE) - self._gain_at_most()
        self.margin = MARGIN * (float(price.sum()) + SCALE * float(rooms.cost.max(initial=0)) + 1)

    def _gain_at_most(self) -> FloatArray:
        best = np.full(len(self.rooms.cost), float(self.price.sum()))
        for k in range(self.rooms.weights.shape[1]):
            weight = np.maximum(self.rooms.weights[:, k], 1e-9)  # np.interp needs rising places
            order = np.argsort(-self.price / weight, kind="stable")
            total = np.concatenate([[0.0], np.cumsum(weight[order])])
            worth = np.concatenate([[0.0], np.cumsum(self.price[order].astype(np.float64))])
            room = self.rooms.capacities[:, k] + 1e-9 * len(weight)
            best = np.minimum(best, np.interp(room, total, worth))
        return best

    def tabulated(self, below: IntArray) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield each node's cheapest hosting if its priced cost is less than `below[node]`: (node, priced cost, jobs).

        A dynamic program over all amounts of resources, the same for all rooms: `worth[a]` is the largest value of TE
        jobs that together need at most a.
        """
        rooms = self.rooms
        worth = np.zeros(rooms.shape, dtype=np.int64)
        took: list[tuple[int, Expression]] = []
        for t in np.flatnonzero(self.price > 0).tolist():
            need = rooms.steps[t]
            if (need < rooms.shape).all():
                with_it = tuple(slice(k, None) for k in need)
                before = tuple(slice(None, n - k) for n, k in zip(rooms.shape, need.tolist(), strict=True))
                picks = np.zeros(rooms.shape, dtype=bool)
                gained = worth[before] + self.price[t]
                picks[with_it] = gained > worth[with_it]
                worth[with_it] = np.maximum(worth[with_it], gained)
                took.append((t, picks))
        cost = rooms.cost * SCALE - worth[tuple(rooms.cells.T)]
        rows = np.lexsort((cost, rooms.node))
        rows = rows[np.unique(rooms.node[rows], return_index=True)[1]]
        for row in rows[cost[rows] < below[rooms.node[rows]]].tolist():
            at, jobs = rooms.cells[row].copy(), list[int]()
            for t, picks in reversed(took):
                if picks[tuple(at)]:
                    jobs.append(t)
                    at -= rooms.steps[t]
            yield int(rooms.node[row]), int(cost[row]), tuple(jobs)

    def greedy(self, below: IntArray) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield hostings of some nodes with a priced cost less than `below[node]`: (node, priced cost, jobs).

        Each room takes TE jobs in an order as long as they fit, all rooms at once. The orders are by price per
        weight, for each weight.
        """
        rooms = self.rooms
        for k in range(rooms.weights.shape[1]):
            order = np.argsort(-self.price / np.maximum(rooms.weights[:, k], 1e-9), kind="stable")
            remaining, cost = rooms.amount.copy(), rooms.cost * SCALE
            picks = np.zeros((len(cost), len(self.price)), dtype=bool)
            for t in order[self.price[order] > 0].tolist():
                fits = (remaining >= rooms.demand[t]).all(axis=1)
                remaining[fits] -= rooms.demand[t]
                cost[fits] -= self.price[t]
                picks[fits, t] = True
            rows = np.lexsort((cost, rooms.node))
            rows = rows[np.unique(rooms.node[rows], return_index=True)[1]]
            for row in rows[cost[rows] < below[rooms.node[rows]]].tolist():
                yield int(rooms.node[row]), int(cost[row]), tuple(np.flatnonzero(picks[row]).tolist())

    def hostings(self, below: IntArray, deadline: Deadline) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield each node's hostings of a priced cost less than `below[node]`: (node, priced cost, jobs).

        Each is cheaper than the hosting before it; the cheapest comes last.
        """
        limit = below.copy()
        rows = np.flatnonzero(self.least < below[self.rooms.node] + self.margin)
        for row in rows[np.argsort(self.least[rows], kind="stable")].tolist():
            deadline.check()
            node = int(self.rooms.node[row])
            if self.least[row] < limit[node] + self.margin:
                for priced, jobs in self._room_hostings(row, int(limit[node]), deadline):
                    limit[node] = priced
                    yield node, priced, jobs

    def all_hostings(self, below: IntArray, deadline: Deadline, most: int) -> dict[tuple[int, tuple[int, ...]], int]:
        """Return (node, jobs) -> cost of all hostings priced below `below[node]`; TooLarge beyond `most`."""
        result: dict[tuple[int, tuple[int, ...]], int] = {}
        for row in np.flatnonzero(self.least < below[self.rooms.node] + self.margin).tolist():
            deadline.check()
            node, cost = int(self.rooms.node[row]), int(self.rooms.cost[row])
            for _, jobs in self._room_hostings(row, int(below[node]), deadline, every=True):
                key = (node, tuple(sorted(jobs)))
                result[key] = min(cost, result.get(key, cost))
                if len(result) > most:
                    raise TooLarge(f"more than {most} hostings")
        return result

    def _room_hostings(
        self, row: int, below: int, deadline: Deadline, *, every: bool = False
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        left = self.rooms.amount[row].tolist()
        jobs = [job for job in self.jobs if all(a <= b for a, b in zip(job[2], left, strict=True))]
        cost, weight = SCALE * int(self.rooms.cost[row]), int(self.rooms.capacities[row, 0])
        stack: list[tuple[int, int, list[int], int, tuple[int, ...]]] = [(0, cost, left, weight, ())]
        for step in itertools.count():
            if not stack:
                return
            if step % 100 == 0:
                deadline.check()
            k, cost, left, weight, hosted = stack.pop()
            if hosted and cost < below:
                yield cost, hosted
                below = below if every else cost
            first, gain, remaining = len(jobs), 0, weight
            for i in range(k, len(jobs)):
                p, w, demand, _ = jobs[i]
                if all(a <= b for a, b in zip(demand, left, strict=True)):
                    first = min(first, i)
                    if w > remaining:
                        gain += p * remaining // w
                        break
                    gain, remaining = gain + p, remaining - w
            if first < len(jobs) and cost - gain < below:
                p, w, demand, t = jobs[first]
                rest = [b - a for a, b in zip(demand, left, strict=True)]
                stack.append((first + 1, cost, left, weight, hosted))
                stack.append((first + 1, cost - p, rest, weight - w, (*hosted, t)))
