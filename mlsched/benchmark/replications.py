"""Values of several windows, or runs, as replications: the mean with its interval (Student's t)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.core.t_interval import half_width


@dataclasses.dataclass(frozen=True)
class Mean:
    """The mean over replications, half of its 95 % interval (None of fewer than two), and how many they are."""

    mean: float
    half: float | None
    count: int


def mean_of(values: Sequence[float | None]) -> Mean | None:
    """The mean of the values that there are (a window may have no job); None where there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Mean(sum(known) / len(known), half_width(known), len(known))
