"""When a curve of validations has come to rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def at_rest(seen: Sequence[float], span: int, flat: float) -> bool:
    """Whether the mean of the last `span` is within the share `flat` of the mean of as many before them."""
    if len(seen) < 2 * span:
        return False
    last, before = np.mean(seen[-span:]), np.mean(seen[-2 * span : -span])
    return bool(abs(last - before) <= flat * abs(before))
