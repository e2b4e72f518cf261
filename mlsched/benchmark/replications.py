"""Figures of several windows, or runs, as replications: means with intervals, and policies compared pair by pair.

The rule is that of the papers' verdicts (docs/verdicts.md): a difference is one where the 95 % interval of the paired
differences (Student's t over the replications) lies wholly on one side of 0; where all differences are 0, policies are
alike; else it is undecided, and so is what was measured once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.core.student import half_width


@dataclasses.dataclass(frozen=True)
class Mean:
    """The mean over replications, half of its 95 % interval (None of fewer than two), and how many they are."""

    mean: float
    half: float | None
    count: int


@dataclasses.dataclass(frozen=True)
class Difference:
    """How far a policy is from another over the same replications.

    mean, half: of the paired differences. share, share_half: the same relative to the other's mean; None where that is
    0. word: "less", "more", "alike" or "undecided".
    """

    mean: float
    half: float | None
    share: float | None
    share_half: float | None
    word: str


def mean_of(values: Sequence[float | None]) -> Mean | None:
    """The mean of the values that there are (a window may have no job); None where there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Mean(sum(known) / len(known), half_width(known), len(known))


def compared(values: Sequence[float | None], others: Sequence[float | None]) -> Difference | None:
    """Values less those of another policy, replication by replication; None where no replication has both."""
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if a is not None and b is not None]
    found = mean_of([a - b for a, b in pairs])
    if found is None:
        return None
    other = sum(b for _, b in pairs) / len(pairs)
    scale = None if not other else 100.0 / abs(other)
    word = "undecided"
    if found.half is not None:
        if found.mean == 0 == found.half:
            word = "alike"
        elif found.mean + found.half < 0:
            word = "less"
        elif found.mean - found.half > 0:
            word = "more"
    share = None if scale is None else scale * found.mean
    share_half = None if scale is None or found.half is None else scale * found.half
    return Difference(found.mean, found.half, share, share_half, word)
