"""Two solvers on the same cases: the mean difference, its interval, and the verdict.

The difference of a pair is (b - a) / max(|a|, |b|), and 0 where both are 0; where a caller has gaps to optima, it is
the difference of the two gaps. Swapping a and b flips the sign of everything.

The interval is that of Hartigan's typical values (Using Subsample Values as Typical Values, JASA 1969): the means of
subsets of the differences, sorted, and cut at both ends. If the two solvers are equally good, a difference is as likely
as its negative, and the interval misses 0 in at most 5 % of comparisons, whatever the distribution and however many
pairs are equal. Of m comparisons each has its interval at 1 - 0.05 / m (Bonferroni), so that this holds for all of them
together. Few pairs do not suffice: one comparison needs 6 pairs, 16 comparisons need 10.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Sequence
from typing import Literal

import numpy as np

from mlsched.core.t_interval import ERROR, ROUNDING

Interval = tuple[float, float]
Verdict = Literal["better", "worse", "the same values", "undecided"]
#: Subsets of up to 14 pairs are all taken; of more, as many are drawn.
SUBSETS = 2**14 - 1
#: Largest number of subsets in one batch; batches for many pairs are smaller.
_CHUNK, _CELLS = 1024, 2**21


@dataclasses.dataclass(frozen=True)
class Difference:
    """Difference of the second solver from the first.

    Attributes:
        mean: Mean over the pairs.
        interval: Interval of the mean, corrected for the number of comparisons; None with too few pairs.
        pairs: Number of pairs with both values.
        missing: Number of pairs without both values, which are excluded from the mean.
        side: -1 or 1 if the interval excludes 0, 0 if every difference is 0, None if undecided.
    """

    mean: float
    interval: Interval | None
    pairs: int
    missing: int
    side: Literal[-1, 0, 1] | None

    @property
    def verdict(self) -> Verdict:
        """Verdict on the second solver, if more is worse."""
        words: dict[int | None, Verdict] = {-1: "better", 0: "the same values", 1: "worse"}
        return words.get(self.side, "undecided")


def relative_difference(first: float, second: float) -> float:
    """Return (second - first) / max(|first|, |second|): between -1 and 1 for values of one sign, 0 for two zeros."""
    largest = max(abs(first), abs(second))
    return (second - first) / largest if largest else 0.0


def compare_values(
    first: Sequence[float | None], second: Sequence[float | None], comparisons: int = 1
) -> Difference | None:
    """Return the mean relative difference of two solvers over the same cases; None without a pair.

    Args:
        first: one value per case, None without a plan.
        second: the same of the other solver.
        comparisons: number of comparisons that are shown together.
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    differences = [relative_difference(a, b) for a, b in pairs]
    return summarize(differences, comparisons, len(first) - len(differences))


def summarize(differences: Sequence[float], comparisons: int = 1, missing: int = 0) -> Difference | None:
    """Return mean, interval and side of differences; None without any."""
    if not differences:
        return None
    interval = interval_of(differences, comparisons)
    side: Literal[-1, 0, 1] | None = None
    if not any(differences):
        side = 0
    elif interval is not None and (interval[0] > 0 or interval[1] < 0):
        side = 1 if interval[0] > 0 else -1
    return Difference(statistics.fmean(differences), interval, len(differences), missing, side)


def interval_of(differences: Sequence[float], comparisons: int = 1) -> Interval | None:
    """Return the interval of the mean by subset means, at 1 - 0.05 / `comparisons`; None with too few pairs."""
    return _cached_interval(tuple(differences), comparisons)


def least_pairs(comparisons: int) -> int:
    """Return the number of pairs from which on there are intervals."""
    return math.ceil(math.log2(2 * comparisons / ERROR))


@functools.lru_cache(maxsize=10_000)
def _cached_interval(values: tuple[float, ...], comparisons: int) -> Interval | None:
    """Return the same as `interval_of`, cached: reports compare solvers with equal plans."""
    if not values:
        return None
    data = np.array(values)
    subsets, step = _subsets(len(values)), _chunk(len(values))
    bits = (subsets[begin : begin + step] for begin in range(0, len(subsets), step))
    parts = (np.unpackbits(some, axis=1, count=len(values)).astype(float) for some in bits)
    means = np.concatenate([(part @ data) / part.sum(axis=1) for part in parts])
    means[np.abs(means) <= ROUNDING * np.abs(data).max()] = 0.0  # differences that cancel
    means.sort()
    cut = int(ERROR / (2 * comparisons) * (len(means) + 1))
    return None if cut < 1 else (float(means[cut - 1]), float(means[-cut]))


def _chunk(count: int) -> int:
    """Return how many subsets of `count` pairs are used at once."""
    return max(1, min(_CHUNK, _CELLS // count))


@functools.lru_cache(maxsize=8)
def _subsets(count: int) -> np.ndarray:
    """Return the non-empty subsets of `count` pairs as rows of packed bits: all, or 16,383 at random."""
    if 2**count - 1 <= SUBSETS:
        return np.packbits(np.arange(1, 2**count)[:, None] >> np.arange(count) & 1, axis=1)
    rng, step = np.random.default_rng(0), _chunk(count)
    packed = []
    for begin in range(0, SUBSETS, step):
        rows = rng.random((min(step, SUBSETS - begin), count), dtype=np.float32) < 0.5
        rows[~rows.any(axis=1), 0] = True
        packed.append(np.packbits(rows, axis=1))
    return np.concatenate(packed)
