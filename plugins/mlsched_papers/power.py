"""Chance that a claim is confirmed if its paper is exactly right, from the recorded spread of its measurements.

A verdict depends on the number of workloads. Claims are therefore judged on simulated data as well, by the same rule:

- Truth: the paper's number. If the paper prints it as a bound ("at least") that the measured mean satisfies, the truth
  is the measured mean. If the paper prints only a direction, the truth is as far inside the bound as the measured mean
  is from its end. A bound with two ends and without a printed number is met in its middle.
- Spread: the standard deviation over the measured workloads. Values are normal. The pieces of a claim share half of
  their variance, because they are measured on the same workloads.

The chance is undefined for a claim that cannot be tested here, and for a claim with a piece without an interval.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray
from mlsched.core.t_interval import ERROR, t_quantile
from mlsched_papers.claim import Bound, Claim, Measurement
from mlsched_papers.trainings import GAP

#: Simulated repetitions per claim.
DRAWS = 400
#: Share of the variance that the pieces of a claim have in common.
SHARED = 0.5
#: Verdicts of claims that can be tested here.
TESTED = ("holds", "does not hold", "undecided", "depends on the interpretation")


def chance_to_hold(
    claim: Claim, workloads: int | None = None, *, draws: int = DRAWS, shared: float = SHARED
) -> float | None:
    """Return the share of simulated repetitions that confirm a claim.

    Args:
        workloads: Number of workloads of every piece. Default: as measured.
        draws: Number of repetitions.
        shared: Share of the variance that the pieces have in common.

    Returns:
        A share from 0 to 1; None if the claim cannot be tested here, or if a piece lacks an interval.
    """
    pieces = informative(claim)
    everywhere = {piece.interpretation for piece in pieces} == set(claim.counted)
    if claim.verdict not in TESTED or not everywhere or not all(map(_has_spread, pieces)):
        return None
    inside = np.ones(draws, dtype=bool)
    for piece, values in zip(pieces, simulated(claim.name, pieces, workloads, draws, shared), strict=True):
        inside &= _inside(piece, values)
    return float(inside.mean())


def informative(claim: Claim) -> list[Measurement]:
    """Return the pieces that decide about a claim: of counted interpretations, neither ties nor idle."""
    return [e for e in claim.measurements if e.interpretation not in claim.excluded and e.side() != "nothing"]


def _has_spread(piece: Measurement) -> bool:
    """Return whether the spread of a piece is known and its bound within reach."""
    measured = piece.measured
    return measured is not None and bool(measured.count) and measured.half is not None and not piece.beyond_reach


def simulated(
    name: str, pieces: Sequence[Measurement], workloads: int | None, draws: int, shared: float
) -> list[FloatArray]:
    """Return simulated values of each piece, (draws, workloads), if the paper is exactly right."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    counts = [workloads or (piece.measured and piece.measured.count) or 0 for piece in pieces]
    common = math.sqrt(shared) * rng.normal(size=(draws, max(counts, default=0)))
    result = []
    for piece, count in zip(pieces, counts, strict=True):
        noise = common[:, :count] + math.sqrt(1 - shared) * rng.normal(size=(draws, count))
        result.append(truth(piece) + deviation(piece) * (noise if piece.bound.high is None else -noise))
    return result


def truth(piece: Measurement) -> float:
    """Return the true mean of a piece if the paper is exactly right; see the module's docstring."""
    bound, measured = piece.bound, piece.measured.mean if piece.measured else 0.0
    if piece.paper is not None:
        # The paper prints a bound ("at least"), or its number is the end of the bound.
        printed_bound = piece.lower_bound or bound.margin(piece.paper) == 0
        return measured if printed_bound and bound.admits(measured) else piece.paper
    if bound.low is not None and bound.high is not None:
        return (bound.low + bound.high) / 2
    end = bound.low if bound.low is not None else bound.high
    if end is None:
        return measured
    return end + abs(measured - end) * (1 if bound.low is not None else -1)


def deviation(piece: Measurement) -> float:
    """Return the standard deviation over workloads behind a piece's interval; 0 without an interval."""
    if piece.measured is None or not piece.measured.half or not piece.measured.count:
        return 0.0
    count = piece.measured.count
    return piece.measured.half * math.sqrt(count) / t_quantile(1 - ERROR / 2, count - 1)


def _inside(piece: Measurement, values: FloatArray) -> npt.NDArray[np.bool_]:
    """Return for each draw whether the complete interval is within the bound."""
    count = values.shape[1]
    mean, half = values.mean(axis=1), np.zeros(len(values))
    if count > 1:
        half = t_quantile(1 - ERROR / 2, count - 1) * values.std(axis=1, ddof=1) / math.sqrt(count)
    result = _admits(piece.bound, mean - half) & _admits(piece.bound, mean + half)
    return result & ~_clustered(values) if piece.each else result


def _admits(bound: Bound, values: FloatArray) -> npt.NDArray[np.bool_]:
    above = np.greater if bound.strict else np.greater_equal
    low, high = (-math.inf if bound.low is None else bound.low), (math.inf if bound.high is None else bound.high)
    return np.asarray(above(values, low) & above(high, values))


def _clustered(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Return for each draw whether its trainings are two clusters (see `trainings.py`)."""
    # The largest gap between neighbours is more than GAP of the range.
    ordered = np.sort(values, axis=1)
    return np.asarray(np.diff(ordered, axis=1).max(axis=1) > GAP * (ordered[:, -1] - ordered[:, 0]))
