"""Bounds of a run, each the maximum of several parts."""

from __future__ import annotations

import math

import numpy as np

from mlsched.simulation.bound.completion import by_completion
from mlsched.simulation.bound.machine import least_remaining_work, most_weight
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.bound.span import overlap, typed_end

#: Parts of the bound on the sum of completion times, by name.
PARTS = {
    "running times": "every job by itself",
    "least work left": "one machine as fast as all nodes, for the completion times (SRPT)",
    "mean busy times": "the same machine, for the mean busy times, and half of the running times",
    "completion times": "prices of every resource over time, and the cheapest way of each job through them",
}


def lower_bounds(pieces: Pieces, *, pausing: bool = True) -> dict[str, int]:
    """Return lower bounds valid for every schedule of these pieces, in integer ticks.

    They are `total_jct`, the sum of completion - arrival, and `makespan`, the last completion - the first arrival.

    Args:
        pieces: Pieces of work.
        pausing: Pieces may be interrupted; schedules without interruptions have a higher bound.
    """
    if not len(pieces.arrival):
        return {"total_jct": 0, "makespan": 0}
    span = makespan(pieces)
    parts = total_jct_parts(pieces, pausing=pausing, span=span)
    return {"total_jct": _round_up(max(parts.values())), "makespan": _round_up(span)}


def _round_up(value: float) -> int:
    """Round up to an integer, except for rounding errors."""
    return math.ceil(value * (1 - 1e-12) - 1e-6)


def total_jct_parts(pieces: Pieces, *, pausing: bool = True, span: float | None = None) -> dict[str, float]:
    """Return each of `PARTS`, separate lower bounds on the sum of (completion - arrival).

    - Every job takes its running time.
    - On one machine as fast as all nodes for one resource, every schedule of the pieces can be imitated. So the sum of
      completion times is at least the machine's optimum, always the job with the least work left.
    - The sum of completion times is at least the weighted sum of the pieces' M + length / 2 + after (`Pieces`). The sum
      of weight x M is at least the machine's optimum, always the piece with the largest ratio of weight to work.
    - The sum of completion times is at least the weighted sum of the pieces' ends + after, and `by_completion` bounds
      the sum of weight x end; without `pausing`, for schedules without interruptions.

    Args:
        pieces: Pieces of work.
        pausing: Pieces may be interrupted.
        span: `makespan`, if it is known already.
    """
    whole = pieces.with_gangs()
    end = earliest_end(pieces, span)
    work = whole.work
    completion, busy = [], []
    for r in range(work.shape[1]):
        speed, of_job = int(whole.capacity[r]), np.zeros(len(pieces.arrival), dtype=np.int64)
        np.add.at(of_job, pieces.job, work[:, r])
        completion.append(float((least_remaining_work(pieces.arrival, of_job, speed) - pieces.arrival).sum()))
        mean = most_weight(pieces.release, work[:, r], pieces.weight, speed)
        later = np.where(work[:, r] > 0, mean - pieces.release, pieces.length / 2)
        busy.append(float((pieces.weight * later).sum()))
    return {
        "running times": float(pieces.running.sum()),
        "least work left": max(completion, default=0.0),
        "mean busy times": pieces.outside + float(pieces.weight @ pieces.length) / 2 + max(busy, default=0.0),
        "completion times": pieces.outside + by_completion(whole, end, pausing=pausing),
    }


def earliest_end(pieces: Pieces, span: float | None = None) -> float:
    """Return a lower bound on the last end of the pieces; `span` is `makespan`, if it is known already."""
    return (makespan(pieces) if span is None else span) + float(pieces.arrival.min())


def makespan(pieces: Pieces) -> float:
    """Return a lower bound on the last completion - the first arrival.

    A job's completion is at least arrival + running. For any time s, a piece of release a and length p can have run for
    at most s - a ticks before s. The rest of all pieces, demand x remaining length, is done after s at most at the
    speed of the cluster. This is largest at some release, or at some release + length.
    """
    first = int(pieces.arrival.min())
    best = float((pieces.arrival + pieces.running).max())
    if pieces.kinds is not None:
        best = max(best, typed_end(pieces, pieces.kinds))
    whole = pieces.with_gangs()
    begin, end = whole.release, whole.release + whole.length
    times = np.unique(np.concatenate([begin, end]))
    for demand, capacity in zip(whole.demand.T, whole.capacity.tolist(), strict=True):
        # The rest at s falls by the demand for each tick of s in [release, release + length].
        rest = (overlap(times, end, demand) - overlap(times, begin, demand)) / capacity
        best = max(best, float((times + rest).max()))
    return best - first
