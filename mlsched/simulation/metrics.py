"""Figures of merit of a run, by the names the field uses."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The percentiles that the FitGpp paper reports.
PERCENTILES = (50, 95, 99)


def percentiles(values: Any, points: tuple[int, ...] = PERCENTILES) -> dict[str, float] | None:
    """`{"p50": ..., ...}` by linear interpolation; None without values."""
    if not len(values):
        return None
    return {f"p{p}": float(v) for p, v in zip(points, np.percentile(values, points), strict=True)}


def slowdown(wait: Any, execution: Any) -> Any:
    """1 + waiting time / execution time (FitGpp, Eq. 5)."""
    return 1 + np.asarray(wait) / np.asarray(execution)
