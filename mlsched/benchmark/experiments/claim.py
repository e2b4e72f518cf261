"""A paper's claim held against measurements: each piece of evidence is a mean with its interval, and a bound.

A verdict is computed, never typed in: a claim holds under a reading when every piece of its evidence there lies within
its bound. It `holds` when it does under every reading, `does not hold` when under none, and `depends on reading`
otherwise. A piece whose 95 % interval crosses its bound decides by its mean all the same, and says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mlsched.benchmark.experiments.digits import significant
from mlsched.simulation.metrics import mean_interval

Verdict = Literal["holds", "does not hold", "depends on reading", "not measured"]


#: Relative half-widths up to here are the arithmetic's, not the seeds'.
ROUNDING = 1e-12


@dataclasses.dataclass(frozen=True)
class Bound:
    """Where a mean must lie: [low, high], None unbounded; `strict` leaves the ends out."""

    low: float | None = None
    high: float | None = None
    strict: bool = False

    def admits(self, value: float) -> bool:
        """Whether `value` lies within the bound."""
        if self.strict:
            return (self.low is None or value > self.low) and (self.high is None or value < self.high)
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.low:.4g} to {self.high:.4g}"
        if self.low is not None:
            return f"{'above' if self.strict else 'at least'} {self.low:.4g}"
        return f"{'below' if self.strict else 'at most'} {self.high:.4g}" if self.high is not None else "any"

    def margin(self, value: float) -> float:
        """How far `value` is inside the bound; negative outside: how far from the bound it is."""
        below = math.inf if self.low is None else value - self.low
        above = math.inf if self.high is None else self.high - value
        return min(below, above)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Mean over seeds and half-width of its 95 % interval (Student's t; None for one seed)."""

    mean: float
    half: float | None


def estimate(values: Sequence[float | None] | Any) -> Estimate | None:
    """The estimate from one value a seed; None when a seed has none."""
    data = [math.nan if v is None else float(v) for v in values]
    if not data or not np.isfinite(data).all():
        return None
    if len(data) == 1:
        return Estimate(data[0], None)
    from scipy.stats import t

    mean, half = mean_interval(data, float(t.ppf(0.975, len(data) - 1)))
    return Estimate(mean, half if half > ROUNDING * abs(mean) else 0.0)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One measured quantity of a claim, under one reading, with the bound it must keep and the paper's number."""

    reading: str
    what: str
    measured: Estimate | None
    bound: Bound
    unit: str = ""
    paper: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the mean lies within the bound; None without a measurement."""
        return None if self.measured is None else self.bound.admits(self.measured.mean)

    @property
    def sure(self) -> bool | None:
        """Whether the whole interval says the same as the mean; None without an interval."""
        if self.measured is None or self.measured.half is None:
            return None
        return self.measured.half == 0 or abs(self.bound.margin(self.measured.mean)) > self.measured.half

    @property
    def sentence(self) -> str:
        """The evidence in words."""
        if self.measured is None:
            return f"{self.what}: not measured"
        half = "" if self.measured.half is None else f" ± {significant(self.measured.half)}"
        paper = "" if self.paper is None else f"; paper {significant(self.paper)}"
        noise = " [the interval crosses the bound]" if self.sure is False else ""
        value = f"{significant(self.measured.mean)}{half}{self.unit and ' ' + self.unit}"
        return f"{self.what}: {value} (needed: {self.bound}{paper}){noise}"

    def to_json(self) -> dict[str, Any]:
        """The evidence as plain JSON data."""
        found = dataclasses.asdict(self)
        return found | {"holds": self.holds, "sure": self.sure}


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a paper states, where, what exactly is tested, and the evidence."""

    name: str
    text: str
    where: str
    tested: str
    evidence: tuple[Evidence, ...]

    @property
    def by_reading(self) -> dict[str, bool | None]:
        """Reading -> whether the claim holds there; None where a piece was not measured and no other refutes it."""
        found: dict[str, bool | None] = {}
        for reading in dict.fromkeys(e.reading for e in self.evidence):
            each = [e.holds for e in self.evidence if e.reading == reading]
            found[reading] = False if False in each else None if None in each else True
        return found

    @property
    def verdict(self) -> Verdict:
        """The claim's verdict; see the module's docstring."""
        each = set(self.by_reading.values())
        if not each or None in each:
            return "not measured"
        if each == {True}:
            return "holds"
        return "does not hold" if each == {False} else "depends on reading"

    def decisive(self, reading: str) -> Evidence:
        """The piece of evidence under `reading` that comes closest to refuting the claim, or refutes it most."""
        here = [e for e in self.evidence if e.reading == reading]
        return min(here, key=lambda e: math.inf if e.measured is None else e.bound.margin(e.measured.mean))

    def to_json(self) -> dict[str, Any]:
        """The claim as plain JSON data, with its verdict."""
        return {
            "name": self.name,
            "text": self.text,
            "where": self.where,
            "tested": self.tested,
            "verdict": self.verdict,
            "by_reading": self.by_reading,
            "evidence": [e.to_json() for e in self.evidence],
        }
