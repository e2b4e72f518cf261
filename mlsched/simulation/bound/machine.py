"""All nodes of a cluster as one machine of their joint speed, which works on one piece at a time.

Whatever a cluster does, such a machine can do: it is as fast on any piece as the cluster can be, if the pieces' own
limits of speed are forgotten, and where the cluster shares its time between pieces the machine can take turns as fast
as need be. So the best that the machine can reach bounds the cluster. Two of its questions are answered by lists:

- the least sum of completion times: always the piece with the least work left (Schrage, Operations Research 16, 1968);
- the least weighted sum of mean busy times: always the piece with the most weight for its whole work (Goemans,
  Queyranne, Schulz, Skutella, Wang, SIAM J. Discrete Mathematics 15, 2002): a unit of a piece's work costs its weight
  over its work for each tick that it is later, so that two units in the other order would gain by changing places.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.simulation.bound.pieces import Floats


def least_remaining_work(release: IntArray, work: IntArray, speed: int) -> Floats:
    """When each of these jobs is complete, ticks: whatever has the least work left runs."""
    return _scheduled(release, work, speed, None)[0]


def most_weight(release: IntArray, work: IntArray, weight: Floats, speed: int) -> Floats:
    """The mean busy time of each of these pieces, ticks: whatever has the most weight for its work runs."""
    return _scheduled(release, work, speed, work / np.maximum(weight, 1e-300))[1]


def _scheduled(release: IntArray, work: IntArray, speed: int, rank: Floats | None) -> tuple[Floats, Floats]:
    """Completion and mean busy times where the least rank (None: the least work left) always runs; without work, both
    are the release.

    Counted in parts of a tick, 1 / speed, and so in whole numbers.
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
