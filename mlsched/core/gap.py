"""How much worse an answer is than a reference: the one place in which a gap is computed, summed up and put in words.

The gap of a value to a reference is (value - reference) / |reference| where less is better and
(reference - value) / |reference| where more is better: positive means worse, and a cost 70 % above the optimum says
70 %. Two kinds of pair have no percentage:

- The reference is 0 (traffic often): the gap is the difference itself, in the objective's unit.
- The values differ in the objective's `Primary`, compared first (deferred TE jobs): the gap is that difference.

A solver's own gap between its value and its bound is another quantity, `Result.gap` (`core/result.py`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from mlsched.core.arguments import checked
from mlsched.core.contract import Primary, Sense


class Gap(float):
    """How much worse a value is than its reference; negative means better.

    As a number it is difference / |reference|, to be compared, averaged and formatted like any other, and NaN where
    there is no percentage: a mean over such a gap says so. difference: counted in `unit`, 0 exactly when the values
    are equal. share: the number, or None where the reference is 0 and where the rank decides. rank: the name of the
    rank when it decides, else None; it is then also the unit.

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
        """A gap whose number is `share`."""
        gap = super().__new__(cls, math.nan if share is None else share)
        gap.difference, gap.unit, gap.primary = difference, unit, rank
        return gap

    def __getnewargs__(self) -> tuple[int | float, str, float | None, str | None]:  # type: ignore[override]
        """What a copy of it is made from."""
        return self.difference, self.unit, self.share, self.primary

    def __repr__(self) -> str:
        return f"<Gap: {self}>"

    def __eq__(self, other: object) -> bool:
        """Two gaps are equal when they say the same; to any other number a gap is its share."""
        if isinstance(other, Gap):
            return self.__getnewargs__() == other.__getnewargs__()
        return float(self) == other

    def __hash__(self) -> int:
        return hash(self.share)  # as of a number that it equals; of NaN, float's own differs from object to object

    @property
    def share(self) -> float | None:
        """difference / |reference|, or None."""
        return None if math.isnan(self) else float(self)

    def __str__(self) -> str:
        """ "70.3 %", "12 volume" for a reference of 0, "2 more deferred TE jobs" where the rank decides."""
        if self.share is not None:
            return percentage(self.share)
        if self.primary is not None:
            return f"{abs(self.difference)} {'more' if self.difference > 0 else 'fewer'} {self.primary}"
        return f"{amount(self.difference)} {self.unit}"

    @property
    def rounded_up(self) -> str:
        """As `str`, for a gap that is at most so large: rounding must not say less than is proved. 1/97 is "1.1 %"."""
        return str(self) if self.share is None else percentage(self.share, up=True)


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Gaps of one solver to the optima of several instances, each kind of gap by itself.

    count: all of them; optimal: the share without a difference. relative: how many have a percentage; mean, median and
    largest are over these alone, as shares. absolute: how many have a reference of 0; mean_difference: over these, in
    `unit`. behind: how many are decided by the rank named `rank`; mean_behind: over these, counted in it. Means over
    nothing are None.
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
        """Every kind that occurs: "mean gap 12.0 %, largest 40.0 %; 3 with optimum 0: 5 volume more on average"."""
        parts = []
        if self.mean is not None and self.largest is not None:
            parts.append(f"mean gap {percentage(self.mean)}, largest {percentage(self.largest)}")
        if self.mean_difference is not None:
            parts.append(f"{self.absolute} with optimum 0: {amount(self.mean_difference)} {self.unit} worse on average")
        if self.mean_behind is not None:
            parts.append(f"{self.behind} not compared: {amount(self.mean_behind)} more {self.primary} on average")
        return "; ".join(parts) or "nothing to compare"


def gap_between(
    value: int | float,
    reference: int | float,
    *,
    sense: Sense,
    unit: str,
    rank: Primary | None = None,
    tolerance: float = 0.0,
) -> Gap:
    """The gap of a value to a reference, both values (or proven bounds) of one objective on one instance.

    Args:
        value: what is measured.
        reference: what it is held against.
        sense: "min" or "max".
        unit: of a difference, where the reference is 0.
        rank: the instance's `rank(objective)`, taken off both values first.
        tolerance: differences up to this share of the larger value (and of 1) count as none, for values that are real
            numbers.
    """
    sign = 1 if sense == "min" else -1
    if rank is not None:
        (count, value), (fewest, reference) = rank.split(value), rank.split(reference)
        if count != fewest:
            return Gap(sign * (count - fewest), rank.name, None, rank.name)
    difference = sign * (value - reference)
    if abs(difference) <= tolerance * max(1, abs(value), abs(reference)):
        difference = 0
    return Gap(difference, unit, difference / abs(reference) if reference else None)


@checked
def sum_up(gaps: Sequence[Gap]) -> Gaps:
    """Means over the gaps of one objective; percentages, differences and ranks are never mixed.

    Args:
        gaps: as `Result.gap_to` returns them.

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


def percentage(share: float, *, up: bool = False) -> str:
    """A gap as people read it: "0 %" for none at all and nothing else, "0.03 %", "41.2 %", "1234 %".

    up: round its size up, where it is a limit.
    """
    if share == 0:
        return "0 %"
    size: float | Decimal = max(100 * abs(share), 0.01)  # rounding must not claim that there is no gap
    digits = 2 if size < 0.1 else 1 if size < 999.95 else 0
    if up:  # of the decimals that are shown for the float: 0.07 is 7 %, though 100 * 0.07 is a little more
        size = (100 * Decimal(repr(abs(float(share))))).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
    return f"{'-' if share < 0 else ''}{size:.{digits}f} %"


def amount(difference: int | float) -> str:
    """A difference in an objective's unit: whole numbers as they are, means to three significant digits."""
    if isinstance(difference, int) or difference == int(difference):
        return str(int(difference))
    return f"{difference:.0f}" if abs(difference) >= 100 else f"{difference:.3g}"
