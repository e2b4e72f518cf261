"""Confidence intervals of means by Student's t, used by all comparisons over workloads."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

#: Probability that an interval misses the true mean.
ERROR = 0.05
#: Relative half-widths up to this size are rounding errors.
ROUNDING = 1e-12


@functools.cache
def t_quantile(level: float, freedom: int) -> float:
    """Return the quantile of Student's t."""
    from scipy.stats import t

    return float(t.ppf(level, freedom))


def half_width(values: Sequence[float]) -> float | None:
    """Return half the width of the 95 % interval of the mean of independent values.

    None for fewer than two values; 0 if they differ only by rounding.
    """
    if len(values) < 2:
        return None
    data = np.asarray(values, dtype=np.float64)
    half = t_quantile(1 - ERROR / 2, len(data) - 1) * float(np.std(data, ddof=1)) / math.sqrt(len(data))
    return half if half > ROUNDING * abs(float(np.mean(data))) else 0.0
