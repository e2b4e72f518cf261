"""Filling with bundles of one worker and one PS: whoever is first by some key gets the next, until none fits."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from mlsched.heuristics.workers._room import Room

#: What a job is served by, lowest first, from what it has; ties: the earlier job.
Key = Callable[[int], float]


def fill(room: Room, key: Key, *, useful: bool) -> None:
    """Hand out bundles. A job leaves when the next one does not fit or goes beyond its table.

    useful: it also leaves when the bundle would slow it down, or leave it as slow as it is.
    """
    queue = [(key(job), job) for job in range(room.jobs)]
    heapq.heapify(queue)
    while queue:
        _, job = heapq.heappop(queue)
        started = room.workers[job] > 0
        bundle = (1, 1) if started else room.first(job)
        if bundle is None or not room.fits(job, *bundle):
            continue
        w, p = room.workers[job] + bundle[0], room.ps[job] + bundle[1]
        if not room.allowed(job, w, p) or (useful and started and room.cost[job][w - 1][p - 1] >= room.now(job)):
            continue
        room.give(job, *bundle)
        heapq.heappush(queue, (key(job), job))
