"""The bootstrap interval of one mean: bias-corrected and accelerated, 95 %, the same for the same values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

#: Draws of the bootstrap, and its confidence.
DRAWS, CONFIDENCE = 9999, 0.95
#: Least number of values for an interval.
FEW = 5


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the bootstrap interval of the mean; None with fewer than five values and if all are the same."""
    return _interval(tuple(values))


@functools.lru_cache(maxsize=10_000)
def _interval(values: tuple[float, ...]) -> tuple[float, float] | None:
    """Kept: a report asks the same of rules that make the same plans, and of one call's time by several objectives."""
    if len(values) < FEW or min(values) == max(values):
        return None
    from scipy.stats import bootstrap

    found: Any = bootstrap(
        (np.array(values),), np.mean, n_resamples=DRAWS, confidence_level=CONFIDENCE, rng=np.random.default_rng(0)
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
