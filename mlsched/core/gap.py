"""Gaps between values: the only place that computes, summarises and formats a gap.

The gap of a value to a reference is (value - reference) / |reference| if smaller is better, and (reference - value) /
|reference| if larger is better. Positive means worse: a cost 70 % above the optimum has a gap of 70 %. Two kinds of
pairs have no percentage:

- The reference is 0 (frequent for traffic): the gap is the difference, in the objective's unit.
- The values differ in the primary criterion (deferred TE jobs): the gap is the difference of the counts.

A solver's own gap between its value and its bound is a separate quantity, `Result.gap` (`core/result.py`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Primary, Sense


class Gap(float):
    """Gap of a value to its reference; positive means worse.

    As a float it is difference / |reference|. It is NaN without a percentage, so that a mean over such gaps is
    NaN.

    Attributes:
        difference: Difference in `unit`; 0 exactly if the values are equal.
        unit: Unit of the difference; the primary criterion if it decides.
        share: The float, or None if the reference is 0 or the primary criterion decides.
        primary: Name of the primary criterion if it decides, else None.

    Examples:
        >>> inst = mlsched.generate("preemption", preset="surge", seed=21)
        >>> gap = mlsched.solve(inst, "fitgpp").gap_to(mlsched.solve(inst, "cp-sat"))
        >>> gap, round(float(gap), 3)
        (<Gap: 37.2 %>, 0.372)
    """

    difference: int | float
    unit: str
    primary: str | None

    def __new__(cls, difference: int | float, unit: str, share: float | None, rank: str | None = None) -> Gap:
        """Create a gap with the float value `share`."""
        gap = super().__new__(cls, math.nan if share is None else share)
        gap.difference, gap.unit, gap.primary = difference, unit, rank
        return gap

    def __getnewargs__(self) -> tuple[int | float, str, float | None, str | None]:  # type: ignore[override]
        """Return the arguments with which a copy is created."""
        return self.difference, self.unit, self.share, self.primary

    def __repr__(self) -> str:
        return f"<Gap: {self}>"

    def __eq__(self, other: object) -> bool:
        """Compare all parts with another gap, and the share with any other number."""
        if isinstance(other, Gap):
            return self.__getnewargs__() == other.__getnewargs__()
        return float(self) == other

    def __hash__(self) -> int:
        return hash(self.share)  # equal numbers need equal hashes; float's hash of NaN differs between objects

    @property
    def share(self) -> float | None:
        """The gap as difference / |reference|, or None."""
        return None if math.isnan(self) else float(self)

    def __str__(self) -> str:
        """Format the gap, for example "70.3 %".

        With a reference of 0: "12 volume". With a different primary criterion: "2 more deferred TE jobs".
        """
        if self.share is not None:
            return format_percentage(self.share)
        if self.primary is not None:
            return f"{abs(self.difference)} {'more' if self.difference > 0 else 'fewer'} {self.primary}"
        return f"{format_amount(self.difference)} {self.unit}"

    @property
    def rounded_up(self) -> str:
        """Format an upper bound on a gap; rounding up never understates it: 1/97 becomes "1.1 %"."""
        return str(self) if self.share is None else format_percentage(self.share, up=True)


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Summary of one solver's gaps to the optima of several instances, by kind of gap.

    Attributes:
        count: Number of gaps.
        optimal: Share of gaps that are 0.
        relative: Number of gaps with a percentage.
        mean: Mean of the percentages, as a share; None without any.
        median: Median of the percentages, as a share.
        largest: Largest percentage, as a share.
        absolute: Number of gaps to a reference of 0.
        mean_difference: Mean of those differences, in `unit`.
        behind: Number of gaps that the primary criterion decides.
        mean_behind: Mean of those differences, in counts.
        unit: Unit of the objective.
        primary: Name of the primary criterion.
    """

    count: int
    optimal: float | None
    relative: int
    mean: float | None
    median: float | None
    largest: float | None
    absolute: int
    mean_difference: float | None
    behind: int
    mean_behind: float | None
    unit: str | None
    primary: str | None

    def __repr__(self) -> str:
        return f"<Gaps: {self.count} gaps, {self}>"

    def __str__(self) -> str:
        """Format all kinds of gaps: "mean gap 12.0 %, largest 40.0 %; 3 with optimum 0: 5 volume more on average"."""
        parts = []
        if self.mean is not None and self.largest is not None:
            parts.append(f"mean gap {format_percentage(self.mean)}, largest {format_percentage(self.largest)}")
        if self.mean_difference is not None:
            parts.append(
                f"{self.absolute} with optimum 0: {format_amount(self.mean_difference)} {self.unit} worse on average"
            )
        if self.mean_behind is not None:
            parts.append(
                f"{self.behind} not compared: {format_amount(self.mean_behind)} more {self.primary} on average"
            )
        return "; ".join(parts) or "nothing to compare"


def gap_between(
    value: int | float,
    reference: int | float,
    *,
    sense: Sense,
    unit: str,
    primary: Primary | None = None,
    tolerance: float = 0.0,
) -> Gap:
    """Return the gap of a value to a reference, both of one objective on one instance.

    Args:
        value: Value or proven bound.
        reference: Value or proven bound to compare with.
        sense: "min" or "max".
        unit: Unit of a difference if the reference is 0.
        primary: The instance's `primary(objective)`, split off both values first.
        tolerance: Real values that differ by at most this share of the larger value (and of 1) count as equal.
    """
    sign = 1 if sense == "min" else -1
    if primary is not None:
        (count, value), (fewest, reference) = primary.split(value), primary.split(reference)
        if count != fewest:
            return Gap(sign * (count - fewest), primary.name, None, primary.name)
    difference = sign * (value - reference)
    if abs(difference) <= tolerance * max(1, abs(value), abs(reference)):
        difference = 0
    return Gap(difference, unit, difference / abs(reference) if reference else None)


@validate_arguments
def sum_up(gaps: Sequence[Gap]) -> Gaps:
    """Summarise the gaps of one objective; percentages, differences and counts are never mixed.

    Args:
        gaps: Gaps as returned by `Result.gap_to`.

    Examples:
        >>> instances = [mlsched.generate("quality", "small", seed=seed) for seed in range(3)]
        >>> losses = mlsched.worst_cases("fair", instances)
        >>> mlsched.sum_up([loss.gap for loss in losses]).count
        3
    """
    shares = [gap.share for gap in gaps if gap.share is not None]
    differences = [gap.difference for gap in gaps if gap.share is None and gap.primary is None]
    behind = [gap for gap in gaps if gap.primary is not None]
    return Gaps(
        count=len(gaps),
        optimal=_mean([gap.difference == 0 for gap in gaps]),
        relative=len(shares),
        mean=_mean(shares),
        median=statistics.median(shares) if shares else None,
        largest=max(shares, default=None),
        absolute=len(differences),
        mean_difference=_mean(differences),
        behind=len(behind),
        mean_behind=_mean([gap.difference for gap in behind]),
        unit=next((gap.unit for gap in gaps if gap.primary is None), None),
        primary=behind[0].primary if behind else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def format_percentage(share: float, *, up: bool = False) -> str:
    """Format a gap for people: "0 %" only for exactly 0, "0.03 %", "41.2 %", "1234 %".

    Args:
        share: The gap as a share.
        up: Round its size up, for an upper limit.
    """
    if share == 0:
        return "0 %"
    size: float | Decimal = max(100 * abs(share), 0.01)  # a small gap must not be rounded to 0
    digits = 2 if size < 0.1 else 1 if size < 999.95 else 0
    if up:  # round the shown decimals of the float: 0.07 is 7 %, although 100 * 0.07 is slightly more
        size = (100 * Decimal(repr(abs(float(share))))).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
    return f"{'-' if share < 0 else ''}{size:.{digits}f} %"


def format_amount(difference: int | float) -> str:
    """Format a difference in an objective's unit: integers in full, means to three significant digits."""
    if isinstance(difference, int) or difference == int(difference):
        return str(int(difference))
    return f"{difference:.0f}" if abs(difference) >= 100 else f"{difference:.3g}"
