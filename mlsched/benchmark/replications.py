"""Values of several windows, or runs, as replications: the mean with its interval (Student's t)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.core.t_interval import half_width


@dataclasses.dataclass(frozen=True)
class Mean:
    """Mean over replications, half of its 95 % interval (None for fewer than two), and their number."""

    mean: float
    half: float | None
    count: int


def mean_of(values: Sequence[float | None]) -> Mean | None:
    """Return the mean of the known values (a window may have no job), or None without any."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    return Mean(sum(present) / len(present), half_width(present), len(present))
