"""How a claim of a paper is declared: its words, its place, what is tested, and what collects the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from mlsched.benchmark.experiments.claim import Bound, Claim, Estimate, Evidence, estimate

#: Where a paper prints a percentage, a measurement must come within so many percentage points.
POINTS = 5.0

ABOVE_0 = Bound(low=0.0, strict=True)

#: (reading, what, one value a seed or an estimate or None, bound, unit, the paper's number)
Piece = tuple[str, str, Any, Bound, str, float | None]
#: From everything that an experiment measured to the pieces of evidence.
Collect = Callable[[Any], list[Piece]]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A claim before it is measured."""

    name: str
    text: str
    where: str
    tested: str
    collect: Collect

    def judge(self, found: Any) -> Claim:
        """The claim with its evidence; comparisons of policies are paired, workload by workload."""
        evidence = tuple(
            Evidence(reading, what, v if v is None or isinstance(v, Estimate) else estimate(v), bound, unit, printed)
            for reading, what, v, bound, unit, printed in self.collect(found)
        )
        return Claim(self.name, self.text, self.where, self.tested, evidence)


def stated(name: str, *, text: str, where: str, tested: str) -> Callable[[Collect], Statement]:
    """Declare the decorated collector the test of a claim."""
    return lambda collect: Statement(name, text, where, tested, collect)


def near(printed: float, points: float = POINTS) -> Bound:
    """Within so many percentage points of the printed percentage."""
    return Bound(printed - points, printed + points)
