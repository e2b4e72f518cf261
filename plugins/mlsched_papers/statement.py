"""Declaration of a paper's claim: its words, its place, its test, and the collector of its evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsched_papers.claim import Bound, Claim, Estimate, Exclusion, Kind, Measurement, Origin, estimate
from mlsched_papers.trainings import over_trainings
from mlsched_papers.view import Values

#: Tolerance, in percentage points, of a measurement around a printed percentage.
POINTS = 5.0

ABOVE_0, BELOW_0 = Bound(low=0.0, strict=True), Bound(high=0.0, strict=True)


@dataclasses.dataclass(frozen=True)
class Piece:
    """One measured quantity behind a claim.

    Attributes:
        reading: Interpretation of the paper.
        what: The quantity.
        measured: One value per workload, an estimate, or None without a measurement.
        bound: Allowed range of its mean.
        printed: The paper's number.
        lower_bound: The paper prints a lower bound ("at least", "more than"), which is not shown as a target.
        untrained: Reason why the policy does not count as trained; the piece is then without a firm conclusion.
        idle: Reason why the question does not arise here; the piece is then ignored.
        repeats: Kind of the values if they are not of different workloads; the piece is then ignored.
        trainings: The values are one per training of a policy, to be listed one by one (see `papers/trainings.py`).
        reach: Means that any scheduler could reach in this simulator and condition, such as `Bound(high=96.4)`; None if
            unknown. State it only if it is certain.
    """

    interpretation: str
    what: str
    measured: Values | Sequence[float | None] | Estimate | None
    bound: Bound
    unit: str = ""
    printed: float | None = None
    lower_bound: bool = False
    untrained: str = ""
    idle: str = ""
    repeats: str = ""
    trainings: bool = False
    reach: Bound | None = None

    def measurements(self) -> Measurement:
        """Return the piece with its mean and interval."""
        result = self.measured
        each: tuple[float, ...] = ()
        if result is not None and not isinstance(result, Estimate):
            if self.trainings:
                each = tuple(float(value) for value in result if value is not None)
            result = over_trainings(each) if self.trainings else estimate(result)
        display = (self.unit, self.printed, self.lower_bound, self.untrained, self.idle, self.repeats)
        return Measurement(self.interpretation, self.what, result, self.bound, *display, each, self.reach)


#: From an experiment's measurements to the pieces of evidence.
Collect = Callable[[Any], list[Piece]]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A claim before it is measured.

    Attributes:
        kind: Kind of the claim; None: "size" if some bound has an end other than 0, "direction" otherwise.
    """

    name: str
    text: str
    where: str
    tested: str
    collect: Collect
    origin: Origin = "measured"
    chance: tuple[str, ...] = ()
    kind: Kind | None = None

    def judge(self, *measured: Any, excluded: Mapping[str, Exclusion] | None = None) -> Claim:
        """Return the claim with the evidence from each of `measured`.

        Comparisons of policies are paired, workload by workload. excluded: interpretations whose evidence is shown and
        does not count, with the reason.
        """
        measurements = tuple(piece.measurements() for result in measured for piece in self.collect(result))
        keep = dict(excluded or {})
        words = (self.name, self.text, self.where, self.tested)
        kind = self.kind or kind_of(measurements)
        return Claim(*words, measurements, self.origin, keep, self.chance, kind=kind)


def stated(
    name: str,
    *,
    text: str,
    where: str,
    tested: str,
    origin: Origin = "measured",
    chance: tuple[str, ...] = (),
    kind: Kind | None = None,
) -> Callable[[Collect], Statement]:
    """Declare the decorated collector the test of a claim.

    Args:
        name, text: Name and words of the claim.
        where: Place in the paper.
        tested: Exact test.
        origin: "assumed" if the simulated world supposes the claim, "fitted" if its parameters were fitted to the
            claim's numbers; that is then the verdict, and the numbers are shown beside it.
        chance: Names of the claims that its policies are better than chance.
        kind: Kind of the claim, if it does not follow from its bounds (see `Statement`).
    """
    return lambda collect: Statement(name, text, where, tested, collect, origin, chance, kind)


def kind_of(measurements: Sequence[Measurement]) -> Kind:
    """Return the kind of a claim by its bounds: "size" if some bound has an end other than 0."""
    ends = {end for piece in measurements for end in (piece.bound.low, piece.bound.high)}
    return "size" if ends - {None, 0.0} else "direction"


def near(printed: float, points: float = POINTS) -> Bound:
    """Return the range of `points` percentage points on both sides of a printed percentage."""
    return Bound(printed - points, printed + points)
