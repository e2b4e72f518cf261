"""How a claim of the SLAQ paper is declared: its words, its place, what is tested, and what collects the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.benchmark.experiments.claim import Bound, Claim, Estimate, Evidence, estimate
from mlsched.benchmark.experiments.slaq.grid import Grid
from mlsched.benchmark.experiments.slaq.measured import View
from mlsched.benchmark.experiments.slaq.prediction import Errors

#: Where the paper prints a percentage, a measurement must come within so many percentage points.
POINTS = 5.0

ABOVE_0 = Bound(low=0.0, strict=True)


@dataclasses.dataclass(frozen=True)
class Measured:
    """Everything that was measured. core: readings and variants; sweeps: Fig. 9; seconds: Fig. 10(c)."""

    grid: Grid
    core: Sequence[View]
    sweeps: Sequence[View]
    errors: Errors
    seconds: dict[int, Estimate | None]


#: (reading, what, one value a seed or an estimate or None, bound, unit, the paper's number)
Piece = tuple[str, str, Any, Bound, str, float | None]
Collect = Callable[[Measured], list[Piece]]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A claim before it is measured."""

    name: str
    text: str
    where: str
    tested: str
    collect: Collect

    def judge(self, found: Measured) -> Claim:
        """The claim with its evidence; SLAQ and fair are compared workload by workload."""
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
