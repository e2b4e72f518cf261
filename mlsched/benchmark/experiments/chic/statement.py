"""How a claim of the Chic paper is declared: its words, its place, what is tested, and what collects the evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from mlsched.benchmark.experiments.chic.measured import Measured
from mlsched.benchmark.experiments.claim import Bound, Claim, Estimate, Evidence, estimate

ABOVE_0 = Bound(low=0.0, strict=True)

#: (reading, what, one value a sequence or an estimate, bound, unit, the paper's number); no values: not measured.
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
        """The claim with its evidence; policies are compared sequence by sequence."""
        evidence = tuple(
            Evidence(reading, what, v if v is None or isinstance(v, Estimate) else estimate(v), bound, unit, printed)
            for reading, what, v, bound, unit, printed in self.collect(found)
        )
        return Claim(self.name, self.text, self.where, self.tested, evidence)


def stated(name: str, *, text: str, where: str, tested: str) -> Callable[[Collect], Statement]:
    """Declare the decorated collector the test of a claim."""
    return lambda collect: Statement(name, text, where, tested, collect)
