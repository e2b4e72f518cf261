"""Lower bounds on the cost of a job's remaining work, as convex piecewise linear functions of that work."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import FloatArray

#: Number of linear pieces of a tail.
SEGMENTS = 8


@dataclasses.dataclass(frozen=True)
class Tail:
    """A lower bound on the cost of the residual work w: base + sum of slope * (the part of w within each segment).

    width: of each of the SEGMENTS segments. slope: of each segment, increasing.
    """

    base: float
    slope: FloatArray
    width: FloatArray


def tail(slopes: FloatArray, values: FloatArray, work: float) -> Tail:
    """Return the maximum of some of the affine functions slopes * w + values on [0, work], few enough for a tail.

    Each of them is a lower bound, and so is their maximum.
    """
    # The largest function at each of some points; as segments, by slope, they end where neighbours cross.
    points = np.linspace(0.0, work, SEGMENTS)
    selection = sorted(
        set((slopes[:, None] * points + values[:, None]).argmax(axis=0).tolist()), key=lambda i: slopes[i]
    )
    a, b = slopes[selection], values[selection]
    cross = (b[:-1] - b[1:]) / np.maximum(a[1:] - a[:-1], 1e-300)
    ends = np.clip(np.concatenate([[0.0], cross, [work]]), 0.0, work)
    slope, width = np.full(SEGMENTS, a[-1]), np.zeros(SEGMENTS)
    slope[: len(a)], width[: len(a)] = a, np.maximum(np.diff(ends), 0.0)
    return Tail(float(b[0]), slope, width)
