"""Greedy by marginal gains from a priority queue: the task with the largest saving per unit of resource comes first.

A job's two offers (another worker, another PS) change only when the job itself gets a task. So each task costs two
entries and O(log jobs), for any number of jobs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from mlsched.heuristics.workers._room import PS, STEP, WORKER, Room

#: When to stop, apart from gains: all tasks fail to fit; the best task does not fit; some resource is used up.
STOPS = ("full", "misfit", "used-up")
#: Amount that a task of a kind of a job takes, by which the gain is divided.
Amount = Callable[[int, int], float]


def climb(room: Room, amount: Amount, *, stop: str, at_zero: bool) -> None:
    """Give tasks to the jobs that have started, by (time saved) / amount; ties: earlier job, PS before worker.

    stop: one of STOPS; "used-up" and "full" skip tasks that do not fit. at_zero: continue while the best gain is 0.
    """
    turn = [0] * room.jobs
    queue: list[tuple[float, int, int, int]] = []

    def push_offers(job: int) -> None:
        turn[job] += 1
        now = room.now(job)
        for kind in (PS, WORKER):
            w, p = STEP[kind]
            workers, ps = room.workers[job] + w, room.ps[job] + p
            if room.allowed(job, workers, ps):
                gain = _saving_per_amount(now - room.cost[job][workers - 1][ps - 1], amount(kind, job))
                if gain > 0 or (gain == 0 and at_zero):
                    heapq.heappush(queue, (-gain, job, kind, turn[job]))

    for job in range(room.jobs):
        if room.workers[job]:
            push_offers(job)
    while queue:
        if stop == "used-up" and any(not f and c for f, c in zip(room.free, room.capacity, strict=True)):
            return
        _, job, kind, version = heapq.heappop(queue)
        if version != turn[job]:
            continue
        if room.fits(job, *STEP[kind]):
            room.give(job, *STEP[kind])
            push_offers(job)
        elif stop == "misfit":
            return


def _saving_per_amount(saved: int, amount: float) -> float:
    """Return saved / amount; a task that takes no amount has an infinite ratio."""
    if amount:
        return saved / amount
    return math.copysign(math.inf, saved) if saved else 0.0


def dominant_amounts(room: Room, *, share: bool) -> Amount:
    """Return a task's demand of its dominant resource: units, or with `share` the share of the capacity.

    The dominant resource is the resource with the largest demanded share (Ghodsi et al., DRF); the first of equals.
    """
    table: dict[int, list[float]] = {}
    for kind in (PS, WORKER):
        table[kind] = []
        for demand in room.demand[kind]:
            shares = [d / c if c else (math.inf if d else 0.0) for d, c in zip(demand, room.capacity, strict=True)]
            r = max(range(len(shares)), key=shares.__getitem__, default=-1)
            table[kind].append(0.0 if r < 0 else shares[r] if share else float(demand[r]))
    return lambda kind, job: table[kind][job]
