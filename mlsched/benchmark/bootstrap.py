"""Bootstrap interval of one mean: bias-corrected and accelerated, 95 %, deterministic."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

#: Draws of the bootstrap, and its confidence.
DRAWS, CONFIDENCE = 9999, 0.95
#: Largest number of values in one batch of draws: it bounds the memory and does not change the values.
AT_ONCE = 1_000_000
#: Least number of values for an interval.
LEAST_VALUES = 5


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the bootstrap interval of the mean; None with fewer than five values, or if all are equal."""
    return _cached_interval(tuple(values))


@functools.lru_cache(maxsize=10_000)
def _cached_interval(values: tuple[float, ...]) -> tuple[float, float] | None:
    """Compute the interval, cached: rules with equal plans, and times of one call by several objectives, repeat."""
    if len(values) < LEAST_VALUES or min(values) == max(values):
        return None
    from scipy.stats import bootstrap

    result: Any = bootstrap(
        (np.array(values),),
        np.mean,
        n_resamples=DRAWS,
        batch=max(1, AT_ONCE // len(values)),
        confidence_level=CONFIDENCE,
        rng=np.random.default_rng(0),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
