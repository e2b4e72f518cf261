"""Fair shares over the queues of an engine: the pool with the least running resources is served next.

A pool is a user. Each pool has queues of its own, one per shape. Within a round shares only grow, so that an outdated
share in the heap is corrected when it is popped.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import TYPE_CHECKING

from mlsched.heuristics.taskgraph._capacity import places

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.engine import Engine
    from mlsched.simulation.taskgraph.iterations.state import JobState


class Shares:
    """Amounts used by the running jobs of each pool; see `Order.pools`."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._world = engine, engine.world
        jobs = engine.world.workload
        spans = [slice(first, end) for first, end in jobs.tasks]
        if engine.order.share == "tasks":
            self._amounts, self._total = [[span.stop - span.start] for span in spans], [1]
        else:
            self._amounts = [jobs.demand[span].sum(axis=0).tolist() for span in spans]
            self._total = [max(amount, 1) for amount in jobs.node_capacity.sum(axis=0).tolist()]
        self._held: defaultdict[int, list[int]] = defaultdict(lambda: [0] * len(self._total))
        self._shapes = len(engine.world.shapes)

    def number(self, job: JobState) -> int:
        """Return the number of the queue of a job."""
        return job.template + self._shapes * self._engine.facts.user[job.number]

    def change(self, job: JobState, sign: int) -> None:
        """Add (1) or remove (-1) a running job."""
        amounts = self._held[self._engine.facts.user[job.number]]
        amounts[:] = [had + sign * amount for had, amount in zip(amounts, self._amounts[job.template], strict=True)]

    def _share_of(self, number: int) -> float:
        """Return the share of the pool of a queue."""
        amounts = self._held[number // self._shapes]
        return max([amount / total for amount, total in zip(amounts, self._total, strict=True)], default=0.0)

    def serve(self) -> None:
        """Repeatedly start a job of the pool with the least share; ties are broken by arrival."""
        engine, world = self._engine, self._world
        heads = [(self._share_of(number), entry, number) for entry, number in engine.heads()]
        heapq.heapify(heads)
        full: set[int] = set()  # shapes without room
        while heads:
            share, entry, number = heads[0]
            if number % self._shapes in full:
                heapq.heappop(heads)
                continue
            if share != (now := self._share_of(number)):
                heapq.heapreplace(heads, (now, entry, number))
                continue
            queue = engine.queues[number]
            nodes = places(queue.shape, world.room, world.alive)
            if nodes is None:
                full.add(number % self._shapes)
                continue
            engine.start(world.jobs[entry[-1]], tuple(nodes))
            if queue.head < len(queue.entries):
                heapq.heapreplace(heads, (self._share_of(number), queue.entries[queue.head], number))
            else:
                heapq.heappop(heads)
