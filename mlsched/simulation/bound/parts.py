"""The bounds of a run, and the parts of which each is the largest."""

from __future__ import annotations

import math

import numpy as np

from mlsched.simulation.bound.completion import by_completion
from mlsched.simulation.bound.machine import least_remaining_work, most_weight
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.bound.span import overlap, typed_end

#: The parts of the bound on the sum of completion times, by name.
PARTS = {
    "running times": "every job by itself",
    "least work left": "one machine as fast as all nodes, for the completion times (SRPT)",
    "mean busy times": "the same machine, for the mean busy times, and half of the running times",
    "completion times": "prices of every resource over time, and the cheapest way of each job through them",
}


def lower_bounds(pieces: Pieces, *, pausing: bool = True) -> dict[str, int]:
    """What no schedule of these pieces can be below: `total_jct`, the sum of completion - arrival, and `makespan`, the
    last completion - the first arrival; ticks, completions being whole ticks.

    pausing: whether pieces may be interrupted; schedules in which none is have a higher bound.
    """
    if not len(pieces.arrival):
        return {"total_jct": 0, "makespan": 0}
    span = makespan(pieces)
    parts = total_jct_parts(pieces, pausing=pausing, span=span)
    return {"total_jct": _whole(max(parts.values())), "makespan": _whole(span)}


def _whole(value: float) -> int:
    """The least whole number that is not below a value, but for its rounding error."""
    return math.ceil(value * (1 - 1e-12) - 1e-6)


def total_jct_parts(pieces: Pieces, *, pausing: bool = True, span: float | None = None) -> dict[str, float]:
    """Each of `PARTS`, by itself a lower bound on the sum of (completion - arrival).

    span: `makespan`, where it is known already.

    - Every job takes its running time.
    - On one machine as fast as all nodes are for one resource, every schedule of the pieces can be followed; so the
      sum of completion times is at least that of the machine's best, always the job with the least work left.
    - The sum of completion times is at least the weighted sum of the pieces' M + length / 2 + after (`Pieces`), and the
      sum of weight x M at least that of the machine's best, always the piece with the most weight for its work.
    - The sum of completion times is at least the weighted sum of the pieces' ends + after, and `by_completion` bounds
      the sum of weight x end; without `pausing`, of schedules in which no piece is interrupted.
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
    """When the last piece ends at the earliest. span: `makespan`, where it is known already."""
    return (makespan(pieces) if span is None else span) + float(pieces.arrival.min())


def makespan(pieces: Pieces) -> float:
    """A lower bound on the last completion - the first arrival.

    No job is complete before arrival + running. And whatever the time s: before it, a piece of release a and length p
    can have run for s - a ticks at most; what is left of all pieces, demand x the rest of their lengths, is done after
    s at the speed of the cluster at most. This is largest at some release, or at some release + length.
    """
    first = int(pieces.arrival.min())
    best = float((pieces.arrival + pieces.running).max())
    if pieces.kinds is not None:
        best = max(best, typed_end(pieces, pieces.kinds))
    whole = pieces.with_gangs()
    begin, end = whole.release, whole.release + whole.length
    times = np.unique(np.concatenate([begin, end]))
    for demand, capacity in zip(whole.demand.T, whole.capacity.tolist(), strict=True):
        # What is left at s falls by the demand for each tick of s in [release, release + length].
        rest = (overlap(times, end, demand) - overlap(times, begin, demand)) / capacity
        best = max(best, float((times + rest).max()))
    return best - first
