"""Values of several trainings of one policy: listed one by one, with an interval only where they are one cluster.

Trainings that differ in nothing but their seed may come to quite different policies. The mean of five values of which
two are of one kind and three of another describes neither, and Student's t says nothing of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.claim import Estimate, estimate

#: Values are two clusters when the widest gap between neighbours takes more than this share of their range. Of five
#: normal values one in twenty-five samples has such a gap.
GAP = 0.75


def clustered(values: Sequence[float]) -> bool:
    """Whether values fall into two clusters."""
    if len(values) < 3:
        return False
    ordered = sorted(values)
    widest = max(b - a for a, b in zip(ordered, ordered[1:], strict=False))
    return widest > GAP * (ordered[-1] - ordered[0])


def over_trainings(values: Sequence[float]) -> Estimate | None:
    """The mean over trainings; its interval only where they are one cluster."""
    found = estimate(values)
    return dataclasses.replace(found, half=None) if found and clustered(values) else found
