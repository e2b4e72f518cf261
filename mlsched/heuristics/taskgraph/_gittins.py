"""Gittins index of a job from its attained service and the distribution of sizes (Tiresias, NSDI 2019, Section 3.3).

A distribution is a sorted array of equally likely sizes.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import FloatArray


def index(sizes: FloatArray, attained: FloatArray, quantum: FloatArray) -> FloatArray:
    """Return each job's chance to end within a further quantum, over its expected use of that quantum.

        P(S - a <= D | S > a) / E[min(S - a, D) | S > a]

    a: attained service; D: quantum (may be infinite). The index is 0 if all sizes are at most a, as in the authors'
    simulator.
    """
    total = np.concatenate([[0.0], np.cumsum(sizes)])
    above = np.searchsorted(sizes, attained, side="right")
    within = np.searchsorted(sizes, attained + quantum, side="right")
    ends, remaining = within - above, len(sizes) - above
    beyond = len(sizes) - within
    expected_use = (
        total[within] - total[above] - ends * attained + np.where(beyond > 0, beyond * np.minimum(quantum, 1e18), 0)
    )
    return np.asarray(np.where(remaining > 0, ends / np.where(expected_use > 0, expected_use, 1.0), 0.0))
