"""How a claim of a paper is declared: its words, its place, what is tested, and what collects the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsched_papers.claim import Bound, Claim, Estimate, Exclusion, Measurement, Origin, estimate
from mlsched_papers.trainings import over_trainings
from mlsched_papers.view import Values

#: Where a paper prints a percentage, a measurement must come within so many percentage points.
POINTS = 5.0

ABOVE_0, BELOW_0 = Bound(low=0.0, strict=True), Bound(high=0.0, strict=True)


@dataclasses.dataclass(frozen=True)
class Piece:
    """One quantity that a claim is tested on, as it was measured.

    reading: of the paper. what: the quantity. measured: one value per workload, an estimate, or None where there is no
    measurement. bound: where its mean must lie. printed: the paper's number. lower_bound: the paper prints one
    ("at least", "more than"), which is shown as such and not as a target. untrained: why the policy that it is about
    does not count as trained; nothing firm then follows from the piece. idle: why the question does not arise where it
    was measured, repeats: what its values are where they are not of different workloads; it then decides nothing.
    trainings: whether the values are one per training of a policy, to be listed one by one (see `papers/trainings.py`).
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

    def measurements(self) -> Measurement:
        """The piece with its mean and interval."""
        found = self.measured
        each: tuple[float, ...] = ()
        if found is not None and not isinstance(found, Estimate):
            if self.trainings:
                each = tuple(float(value) for value in found if value is not None)
            found = over_trainings(each) if self.trainings else estimate(found)
        shown = (self.unit, self.printed, self.lower_bound, self.untrained, self.idle, self.repeats)
        return Measurement(self.interpretation, self.what, found, self.bound, *shown, each)


#: From what an experiment measured to the pieces of evidence.
Collect = Callable[[Any], list[Piece]]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A claim before it is measured."""

    name: str
    text: str
    where: str
    tested: str
    collect: Collect
    origin: Origin = "measured"
    chance: tuple[str, ...] = ()

    def judge(self, *measured: Any, excluded: Mapping[str, Exclusion] | None = None) -> Claim:
        """The claim with the evidence that each of `measured` gives.

        Comparisons of policies are paired, workload by workload. excluded: interpretations whose evidence is shown and
        does not count, with the reason.
        """
        measurements = tuple(piece.measurements() for found in measured for piece in self.collect(found))
        kept = dict(excluded or {})
        return Claim(self.name, self.text, self.where, self.tested, measurements, self.origin, kept, self.chance)


def stated(
    name: str, *, text: str, where: str, tested: str, origin: Origin = "measured", chance: tuple[str, ...] = ()
) -> Callable[[Collect], Statement]:
    """Declare the decorated collector the test of a claim.

    origin: "assumed" where the measured world supposes what the claim says, "fitted" where its parameters were fitted
    to the claim's numbers; that is then the verdict, and the numbers are shown beside it. chance: names of the claims
    that the policies which it is about are better than chance.
    """
    return lambda collect: Statement(name, text, where, tested, collect, origin, chance)


def near(printed: float, points: float = POINTS) -> Bound:
    """Within so many percentage points of the printed percentage."""
    return Bound(printed - points, printed + points)
