"""Filling with bundles of one worker and one PS: the first job by some key gets the next bundle, until none fits."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from mlsched.heuristics.workers._room import Room

#: Priority of a job, given its current bundles; the lowest first; ties: the earlier job.
Key = Callable[[int], float]


def fill(room: Room, key: Key, *, useful: bool) -> None:
    """Give out bundles. A job leaves when the next bundle does not fit or exceeds its table.

    useful: it also leaves when the bundle would not make it faster.
    """
    queue = [(key(job), job) for job in range(room.jobs)]
    heapq.heapify(queue)
    while queue:
        _, job = heapq.heappop(queue)
        has_tasks = room.workers[job] > 0
        bundle = (1, 1) if has_tasks else room.first(job)
        if bundle is None or not room.fits(job, *bundle):
            continue
        w, p = room.workers[job] + bundle[0], room.ps[job] + bundle[1]
        if not room.allowed(job, w, p) or (useful and has_tasks and room.cost[job][w - 1][p - 1] >= room.now(job)):
            continue
        room.give(job, *bundle)
        heapq.heappush(queue, (key(job), job))
