"""Relaxation of a cluster to one machine of its joint speed, which works on one piece at a time.

The machine can imitate every schedule of the cluster: without the pieces' own speed limits, it is at least as fast on
any piece. If the cluster shares its time between pieces, the machine can alternate arbitrarily fast. So the optimum of
the machine bounds the cluster. Two of its problems are solved by lists:

- the least sum of completion times: always the piece with the least work left (Schrage, Operations Research 16, 1968);
- the least weighted sum of mean busy times: always the piece with the largest ratio of weight to total work (Goemans,
  Queyranne, Schulz, Skutella, Wang, SIAM J. Discrete Mathematics 15, 2002). A unit of a piece's work costs its weight
  over its work for each tick of delay, so that two units in the other order would gain by changing places.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.fields import FloatArray, IntArray


def least_remaining_work(release: IntArray, work: IntArray, speed: int) -> FloatArray:
    """Return each job's completion, ticks, if the job with the least work left always runs."""
    return _list_schedule(release, work, speed, None)[0]


def most_weight(release: IntArray, work: IntArray, weight: FloatArray, speed: int) -> FloatArray:
    """Return each piece's mean busy time, ticks, if the piece with the largest ratio of weight to work always runs."""
    return _list_schedule(release, work, speed, work / np.maximum(weight, 1e-300))[1]


def _list_schedule(
    release: IntArray, work: IntArray, speed: int, rank: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return completion and mean busy times if the least rank always runs (None: the least work left).

    Without work, both are the release. Times are counted in parts of a tick, 1 / speed, and so in integers.
    """
    order = np.argsort(release, kind="stable").tolist()
    starts, remaining = [time * speed for time in release.tolist()], work.tolist()
    ranks = None if rank is None else rank.tolist()
    ends, area = list(starts), [0] * len(remaining)  # area: twice the sum of time over the units of work
    waiting: list[tuple[float, int]] = []
    now, arrived = 0, 0
    while arrived < len(order) or waiting:
        if not waiting:
            now = max(now, starts[order[arrived]])
        while arrived < len(order) and starts[order[arrived]] <= now:
            piece = order[arrived]
            arrived += 1
            if remaining[piece]:
                heapq.heappush(waiting, (remaining[piece] if ranks is None else ranks[piece], piece))
        if not waiting:
            continue
        piece = heapq.heappop(waiting)[1]
        until = now + remaining[piece]
        if arrived < len(order):
            until = min(until, starts[order[arrived]])
        area[piece] += (until - now) * (now + until)
        remaining[piece] -= until - now
        if remaining[piece]:
            heapq.heappush(waiting, (remaining[piece] if ranks is None else ranks[piece], piece))
        else:
            ends[piece] = until
        now = until
    busy = np.where(work > 0, np.array(area, dtype=np.float64) / (2 * np.maximum(work, 1)), starts)
    return np.array(ends) / speed, busy / speed
