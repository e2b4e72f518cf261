"""Bounds without a solver: energy, node load, critical path, and SRPT on the total work.

All rest on *pools*: sets of runs whose total use never exceeds a capacity. Demand x duration is a run's energy. Only
mandatory iterations count, so every bound is valid for all iteration counts.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._layout import Layout

#: Number of dual feasible functions u_1 .. that are tried.
MOST_STEPS = 3
#: Number of tails that the energy bound tries.
MOST_LEVELS = 24


@dataclasses.dataclass(frozen=True)
class Pool:
    """Runs of the tasks in `demand` together use at most `capacity` at any time."""

    capacity: int
    demand: dict[int, int]


def overall(layout: Layout) -> list[Pool]:
    """Return one pool per resource with the nodes' total capacity; for individual GPUs, also a pool of half GPUs."""
    relaxed = []
    for r in range(len(layout.instance.resources)):
        demand = {
            k: layout.demand[k][r]
            for k in range(layout.tasks)
            if layout.duration[k] and layout.allowed[k] and layout.demand[k][r]
        }
        if demand:
            relaxed.append(Pool(sum(c[r] for c in layout.capacity), demand))
    if layout.gpus_apart:
        halves = {k: h for k, h in layout.gpus.halves.items() if h and layout.allowed[k]}
        relaxed += [Pool(2 * sum(layout.gpus.count), halves)] if halves else []
    return relaxed


def pools(layout: Layout) -> list[Pool]:
    """Return the pools over all nodes, and a pool per node and resource over the tasks that can only run there."""
    restricted = overall(layout)
    if layout.nodes < 2:
        return restricted
    here: list[list[int]] = [[] for _ in range(layout.nodes)]
    for k in range(layout.tasks):
        # A fixed run stays; later runs may move, so only tasks that are confined completely are counted.
        if layout.duration[k] and len(layout.allowed[k]) == 1 and (k not in layout.fixed or layout.sticky):
            here[layout.allowed[k][0]].append(k)
    for n, tasks in enumerate(here):
        for r in range(len(layout.instance.resources)):
            demand = {k: layout.demand[k][r] for k in tasks if layout.demand[k][r]}
            if demand:
                restricted.append(Pool(layout.capacity[n][r], demand))
    return restricted


def packed(layout: Layout) -> list[Pool]:
    """Return pools that reflect single nodes: a task over half a node's memory has that node for itself.

    Dual feasible functions (Fekete, Schepers 2001; Clautiaux, Alves, Valerio de Carvalho 2010): u maps demands, as a
    share x of a node's capacity, to weights. The total weight of tasks that fit on one node is at most 1. Then the
    runs under way weigh at most the number of nodes. u_k(x) = x if (k+1)x is an integer, else floor((k+1)x)/k; for k
    = 1 that counts tasks above one half. A task counts with its least weight over the nodes it may run on. All
    weights are multiples of 1/(k(k+1)), so the pools are integer. Redundant pools are left out. Without these pools,
    `eight-replicas` 1001, 1003, 1004 and 1006 take 1.1 times the work.
    """
    packings: list[Pool] = []
    if layout.nodes < 2:
        return packings
    lasting = [k for k in range(layout.tasks) if layout.duration[k] and layout.allowed[k] and k not in layout.fixed]
    if len(lasting) < sum(1 for k in range(layout.tasks) if layout.duration[k] and layout.allowed[k]):
        return packings
    for r in range(len(layout.instance.resources)):
        total = sum(c[r] for c in layout.capacity)
        for k in range(1, MOST_STEPS + 1):
            unit = k * (k + 1)
            weight: dict[int, int] = {}
            for task in lasting:
                minimal = min(_stepped(layout.demand[task][r], layout.capacity[n][r], k) for n in layout.allowed[task])
                if minimal:
                    weight[task] = minimal
            room = unit * layout.nodes
            if any(w * total > layout.demand[task][r] * room for task, w in weight.items()):
                packings.append(Pool(room, weight))
    return packings


def _stepped(demand: int, capacity: int, k: int) -> int:
    """Return k(k+1) u_k(demand / capacity)."""
    if not demand:
        return 0
    steps, rest = divmod((k + 1) * demand, capacity)
    return steps * (k + 1) if rest else steps * k


def _mandatory(layout: Layout, pool: Pool) -> tuple[IntArray, IntArray, IntArray]:
    """Return head, tail and energy of the mandatory runs in a pool."""
    task, head, tail = layout.mandatory_runs
    demand = np.zeros(layout.tasks, dtype=np.int64)
    demand[list(pool.demand)] = list(pool.demand.values())
    energy = (demand * layout.instance.duration)[task]
    use = energy > 0
    return head[use], tail[use], energy[use]


def energy_bound(layout: Layout, pool: Pool) -> int:
    """Return a lower bound on the latest completion of all plans (absolute time).

    Consider the runs that start at h or later and have at least q to follow. They fit between h and C - q, so their
    energy is at most capacity * (C - q - h). The bound is the maximum over all pairs (h, q) of heads and tails.
    """
    heads, tails, amount = _mandatory(layout, pool)
    if not len(heads):
        return 0
    order = np.argsort(-heads, kind="stable")
    heads, tails, amount = heads[order], tails[order], amount[order]
    last_of_head = np.append(np.flatnonzero(np.diff(heads)), len(heads) - 1)
    earliest = heads[last_of_head]
    best = 0
    levels = np.unique(tails)
    # A few levels are enough, and any choice of them is valid; all would cost quadratic time.
    for q in levels[np.linspace(0, len(levels) - 1, min(len(levels), MOST_LEVELS)).astype(int)].tolist():
        total = np.cumsum(amount * (tails >= q))[last_of_head]
        reach = earliest - (-total // pool.capacity)
        best = max(best, q + int(reach[total > 0].max(initial=-q)))
    return best


def makespan_bound(layout: Layout, shared: Sequence[Pool]) -> int:
    """Return a lower bound on the latest completion (absolute time): critical paths, energy, node load."""
    path = max((layout.earliest_completion(j) for j in range(layout.jobs)), default=0)
    return max([path, *(energy_bound(layout, pool) for pool in shared)])


def completion_bound(layout: Layout, pool: Pool) -> int:
    """Return a lower bound on the sum of completion times (absolute): SRPT on one machine as fast as the complete pool.

    Within `capacity` units per tick, the pool is a single machine on which a job's energy is its processing time. A
    schedule of the runs is a preemptive schedule of that machine, for which shortest remaining processing time first
    minimises the sum of completions (Schrage 1968). After the job's last run in the pool, at least its least tail
    follows. Jobs without energy here count with their critical path. Time is scaled by the capacity, so all values
    are integers.
    """
    work, release, tail = [0] * layout.jobs, [0] * layout.jobs, [0] * layout.jobs
    for j, i, k in layout.runs():
        if i < layout.mandatory[j] and k in pool.demand:
            head = layout.head[k][i]
            release[j] = min(release[j], head) if work[j] else head
            tail[j] = min(tail[j], layout.tail[k][i]) if work[j] else layout.tail[k][i]
            work[j] += pool.demand[k] * layout.duration[k]
    busy = [j for j in range(layout.jobs) if work[j]]
    total = srpt([release[j] * pool.capacity for j in busy], [work[j] for j in busy])
    rest = sum(layout.earliest_completion(j) for j in range(layout.jobs) if not work[j])
    return -(-total // pool.capacity) + sum(tail[j] for j in busy) + rest


def srpt(release: list[int], work: list[int]) -> int:
    """Return the least sum of completion times of preemptive jobs on one machine."""
    order = sorted(range(len(work)), key=lambda j: release[j])
    queue: list[int] = []
    time = total = 0
    at = 0
    while at < len(order) or queue:
        if not queue:
            time = max(time, release[order[at]])
        while at < len(order) and release[order[at]] <= time:
            heapq.heappush(queue, work[order[at]])
            at += 1
        remaining = heapq.heappop(queue)
        until = release[order[at]] if at < len(order) else time + remaining
        if time + remaining <= until:
            time += remaining
            total += time
        else:
            heapq.heappush(queue, remaining - (until - time))
            time = until
    return total


def total_completion_bound(layout: Layout, shared: Sequence[Pool]) -> int:
    """Return a lower bound on the sum of completion times (absolute): critical paths, SRPT over each pool."""
    paths = sum(layout.earliest_completion(j) for j in range(layout.jobs))
    return max([paths, *(completion_bound(layout, pool) for pool in shared)])
