"""What work that is left will cost at least: convex piecewise linear functions of it."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.solvers.workers._fluid import FloatArray

#: Most pieces of a tail.
SEGMENTS = 8


@dataclasses.dataclass(frozen=True)
class Tail:
    """base + sum of slope * (part of the residual in a segment of that width), slopes increasing; SEGMENTS of each."""

    base: float
    slope: FloatArray
    width: FloatArray


def tail(slopes: FloatArray, values: FloatArray, work: float) -> Tail:
    """The largest of the affine functions slopes * w + values on [0, work], thinned to a few: still a lower bound."""
    points = np.linspace(0.0, work, SEGMENTS)
    chosen = sorted(set((slopes[:, None] * points + values[:, None]).argmax(axis=0).tolist()), key=lambda i: slopes[i])
    a, b = slopes[chosen], values[chosen]
    cross = (b[:-1] - b[1:]) / np.maximum(a[1:] - a[:-1], 1e-300)
    ends = np.clip(np.concatenate([[0.0], cross, [work]]), 0.0, work)
    slope, width = np.full(SEGMENTS, a[-1]), np.zeros(SEGMENTS)
    slope[: len(a)], width[: len(a)] = a, np.maximum(np.diff(ends), 0.0)
    return Tail(float(b[0]), slope, width)
