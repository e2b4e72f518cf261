"""Ratios of sums over independent cases, with 95 % intervals, for the measurements of horizons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: 97.5 % quantile of Student's t with 29 degrees of freedom: no mean is of fewer than 30 cases.
QUANTILE = 2.045230


def above(values: Sequence[float], references: Sequence[float]) -> dict[str, float]:
    """By how many percent the sum of `values` is above that of `references`, with a 95 % interval.

    The ratio of the means over the cases; its error is that of the residuals value - ratio * reference (delta method).
    Cases whose reference is 0 count as they are, which a mean of ratios could not.
    """
    x, y = np.asarray(values, dtype=float), np.asarray(references, dtype=float)
    ratio = x.sum() / y.sum()
    error = np.std(x - ratio * y, ddof=1) / np.sqrt(len(x)) / y.mean()
    return {"measured": 100 * (ratio - 1), "ci95": 100 * QUANTILE * float(error)}


def mean(values: Sequence[float], factor: float = 1.0) -> dict[str, float]:
    """The mean of independent cases times `factor`, with a 95 % interval."""
    x = np.asarray(values, dtype=float) * factor
    return {"measured": float(x.mean()), "ci95": QUANTILE * float(np.std(x, ddof=1)) / float(np.sqrt(len(x)))}


def row(label: str, numbers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row of a table of numbers with intervals."""
    return {"label": label, "numbers": list(numbers)}
