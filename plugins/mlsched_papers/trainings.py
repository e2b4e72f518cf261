"""Values of several trainings of one policy: listed one by one, with an interval only if they are one cluster.

Trainings that differ only in their seed may give quite different policies. If two of five values are of one kind and
three of another, their mean describes neither, and Student's t does not apply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.claim import Estimate, estimate

#: Values are two clusters if the widest gap between neighbours takes more than this share of their range. Of five
#: normal values one in twenty-five samples has such a gap.
GAP = 0.75


def clustered(values: Sequence[float]) -> bool:
    """Return whether values fall into two clusters."""
    if len(values) < 3:
        return False
    ordered = sorted(values)
    widest = max(b - a for a, b in zip(ordered, ordered[1:], strict=False))
    return widest > GAP * (ordered[-1] - ordered[0])


def over_trainings(values: Sequence[float]) -> Estimate | None:
    """Return the mean over trainings; its interval only if they are one cluster."""
    result = estimate(values)
    return dataclasses.replace(result, half=None) if result and clustered(values) else result
