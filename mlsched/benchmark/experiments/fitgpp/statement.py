"""How a claim of the FitGpp paper is declared: its words, its place, what is tested, and what collects the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from mlsched.benchmark.experiments.claim import Bound, Claim, Evidence, estimate
from mlsched.benchmark.experiments.fitgpp.grid import Grid
from mlsched.benchmark.experiments.fitgpp.measured import Values, View

#: Tolerance, percent, within which "independent", "saturates" and "not above" are tested.
TOLERANCE = 2.0
#: Where the paper prints a percentage, a measurement must come within so many percentage points.
POINTS = 5.0

BELOW_0, ABOVE_0 = Bound(high=0.0, strict=True), Bound(low=0.0, strict=True)
FLAT, NOT_ABOVE = Bound(-TOLERANCE, TOLERANCE), Bound(high=TOLERANCE)

#: (what, one value a seed, bound, unit, the paper's number)
Piece = tuple[str, Values, Bound, str, float | None]
Collect = Callable[[View, Grid], list[Piece]]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A claim before it is measured."""

    name: str
    text: str
    where: str
    tested: str
    collect: Collect

    def judge(self, views: Sequence[View], grid: Grid) -> Claim:
        """The claim with its evidence under every reading; comparisons of policies are paired by seed."""
        evidence = tuple(
            Evidence(view.reading.upper(), what, estimate(values), bound, unit, printed)
            for view in views
            for what, values, bound, unit, printed in self.collect(view, grid)
        )
        return Claim(self.name, self.text, self.where, self.tested, evidence)


def stated(name: str, *, text: str, where: str, tested: str) -> Callable[[Collect], Statement]:
    """Declare the decorated collector the test of a claim."""
    return lambda collect: Statement(name, text, where, tested, collect)


def near(printed: float, points: float = POINTS) -> Bound:
    """Within so many percentage points of the printed percentage."""
    return Bound(printed - points, printed + points)
