"""Criterion for a settled curve of validations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def at_rest(seen: Sequence[float], span: int, flat: float) -> bool:
    """Return whether the means of the last `span` entries and of the `span` before differ by at most a share `flat`."""
    if len(seen) < 2 * span:
        return False
    last, before = np.mean(seen[-span:]), np.mean(seen[-2 * span : -span])
    return bool(abs(last - before) <= flat * abs(before))
