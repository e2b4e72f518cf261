"""Intervals of means by Student's t: the one rule for all comparisons over workloads."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

#: An interval misses the true mean in this share of repetitions.
ERROR = 0.05
#: Relative half-widths up to here are the arithmetic's, not the values'.
ROUNDING = 1e-12


@functools.cache
def quantile(level: float, freedom: int) -> float:
    """The quantile of Student's t."""
    from scipy.stats import t

    return float(t.ppf(level, freedom))


def half_width(values: Sequence[float]) -> float | None:
    """Half of the 95 % interval of the mean of independent values; None of fewer than two, 0 where it is rounding."""
    if len(values) < 2:
        return None
    data = np.asarray(values, dtype=np.float64)
    half = quantile(1 - ERROR / 2, len(data) - 1) * float(np.std(data, ddof=1)) / math.sqrt(len(data))
    return half if half > ROUNDING * abs(float(np.mean(data))) else 0.0
