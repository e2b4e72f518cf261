"""A paper's claim held against measurements: each piece of evidence is a mean with its interval, and a bound.

A verdict is computed, never typed in, and never follows a mean inside its own noise.

Under one interpretation of the paper a claim
- `holds` when the 95 % interval of every piece lies within the piece's bound. All must, so no correction is needed: a
  claim that is false in one piece passes that piece alone in at most 2.5 % of all repetitions, and all no more often.
- `does not hold` when the interval of some piece lies wholly outside its bound. One is enough, and the more pieces are
  looked at, the sooner one strays by chance: of m pieces the interval is Student's t at 1 - 0.05 / (2 m) (Bonferroni).
- is `undecided` otherwise; so is what was measured on one workload, which has no interval.

Pieces that say nothing are shown and leave the decision to the others; where none is left the claim is undecided:
- a tie: two policies that come out alike on every workload (0 +- 0) show that nothing was to be gained there, neither
  that the claim is true nor that it is false, unless the claim is that they are alike;
- a piece that was measured where the question does not arise (`idle`), such as at a load at which no job waits.

Repetitions of one workload (`repeats`), such as one trace whose missing columns are drawn again, are not workloads:
whatever their interval, the piece counts as not measured.

Every interpretation that the paper prints, or that its authors' program has, or that both leave open counts. An
interpretation is excluded (shown, not counted) for one of the `Ground`s alone, never for what comes out under it. A
claim has the verdict that all its interpretations share. It `depends on the interpretation` when it holds under one and
does not hold under another, both by intervals that are corrected for the number of interpretations as well, since here
too one of several is enough. Otherwise it is undecided.

A piece about a policy that has not been trained until its training's criterion is met, or not for the setting that the
paper trains it for, is shown with the reason, and nothing firm follows from it: unless another piece refutes the claim,
it is `not trained`. What such a policy does says nothing of what the method would learn. A claim about a policy names
the claim that this policy is better than chance (`chance`); where that one does not hold, the claim says so.

A claim whose input was made from it is not tested by what comes out: it is `assumed` where the simulated world supposes
what the claim says, `fitted` where parameters were fitted to its numbers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from mlsched.core.t_interval import ERROR, half_width, t_quantile
from mlsched_papers.digits import significant
from mlsched_papers.ranges import ranges

Verdict = Literal[
    "holds",
    "does not hold",
    "undecided",
    "depends on the interpretation",
    "assumed",
    "fitted",
    "not measured",
    "not trained",
]
#: Where a claim's input comes from; all but "measured" are its verdict.
Origin = Literal["measured", "assumed", "fitted"]
#: Where an interval lies: within its bound, wholly outside, or neither; or the piece says nothing.
Side = Literal["inside", "outside", "unclear", "nothing"]
#: The only grounds on which an interpretation does not count.
Ground = Literal["the paper says otherwise", "not in the paper's evaluation"]


@dataclasses.dataclass(frozen=True)
class Bound:
    """Where a mean must lie: [low, high], None unbounded; `strict` leaves the ends out."""

    low: float | None = None
    high: float | None = None
    strict: bool = False

    def admits(self, value: float) -> bool:
        """Whether `value` lies within the bound."""
        return self._above_low(value) and self._below_high(value)

    def excludes(self, low: float, high: float) -> bool:
        """Whether no value from `low` to `high` lies within the bound."""
        return not (self._above_low(high) and self._below_high(low))

    def _above_low(self, value: float) -> bool:
        return self.low is None or value > self.low or (value == self.low and not self.strict)

    def _below_high(self, value: float) -> bool:
        return self.high is None or value < self.high or (value == self.high and not self.strict)

    @property
    def alike(self) -> bool:
        """Whether it asks for no difference, up to a tolerance on both sides."""
        return self.low is not None and self.high is not None and self.admits(0.0)

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
    """Mean over workloads with its interval; or a computed number (see `exact`).

    half: half-width of the 95 % interval (Student's t), 0 where all workloads agree, None for one workload. count: of
    workloads; None for a computed number.
    """

    mean: float
    half: float | None
    count: int | None = None

    def __post_init__(self) -> None:
        if self.half and (self.count is None or self.count < 2):
            raise ValueError(f"half = {self.half!r} of count = {self.count!r} values: an interval needs count >= 2")

    @property
    def tie(self) -> bool:
        """Whether no workload shows a difference: 0, with an interval of 0."""
        return self.count is not None and self.half == 0 and self.mean == 0

    def wider(self, alternatives: int) -> float | None:
        """The half-width where one of so many intervals is enough for the conclusion (Bonferroni)."""
        if not self.half or self.count is None:
            return self.half
        freedom = self.count - 1
        return self.half * t_quantile(1 - ERROR / (2 * alternatives), freedom) / t_quantile(1 - ERROR / 2, freedom)


def exact(value: float) -> Estimate:
    """A number that was computed and not sampled: it has no interval, and its value alone decides."""
    return Estimate(float(value), 0.0)


def estimate(values: Sequence[float | None] | Any) -> Estimate | None:
    """The estimate from one value per workload; None when a workload has none."""
    data = [math.nan if v is None else float(v) for v in values]
    if not data or not np.isfinite(data).all():
        return None
    if len(data) == 1:
        return Estimate(data[0], None, 1)
    return Estimate(float(np.mean(data)), half_width(data), len(data))


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One measured quantity of a claim, under one interpretation, with the bound it must keep and the paper's number.

    lower_bound: the paper's number is one ("at least", or "more than" where the bound is strict), not a target.
    untrained: why the policy that it is about does not count as trained; "" where it does, or is none that is trained.
    idle: why the question does not arise where this was measured. repeats: what its values are where they are not of
    different workloads. Both are "" where there is nothing to say. each: the values where they are one per training of
    a policy; where they are two clusters there is no interval (see `papers/trainings.py`).
    """

    interpretation: str
    what: str
    measured: Estimate | None
    bound: Bound
    unit: str = ""
    paper: float | None = None
    lower_bound: bool = False
    untrained: str = ""
    idle: str = ""
    repeats: str = ""
    each: tuple[float, ...] = ()

    @property
    def tied(self) -> bool:
        """Whether it compares what came out alike on every workload, and the claim is not that it does."""
        return self.measured is not None and self.measured.tie and not self.bound.alike

    def side(self, alternatives: int = 1) -> Side | None:
        """Where the interval lies, corrected where one of several is enough; None without a measurement."""
        if self.idle or (self.tied and not self.repeats):
            return "nothing"
        if self.measured is None or self.repeats:
            return None
        half = self.measured.wider(alternatives)
        if half is None:
            return "unclear"
        low, high = self.measured.mean - half, self.measured.mean + half
        if self.bound.admits(low) and self.bound.admits(high):
            return "inside"
        return "outside" if self.bound.excludes(low, high) else "unclear"

    @property
    def sentence(self) -> str:
        """The evidence in words: the mean, its interval, what is needed, and what the paper prints."""
        if self.measured is None:
            return f"{self.what}: not measured"
        return f"{self.what}: {self.value} (needed: {self.bound}{self._printed})"

    @property
    def value(self) -> str:
        """The mean with its interval and unit, and values of trainings one by one; "-" without a measurement."""
        if self.measured is None:
            return "-"
        half = f" ± {significant(self.measured.half)}" if self.measured.half is not None and self.measured.count else ""
        each = f" (trainings: {', '.join(map(significant, self.each))})" if self.each else ""
        return f"{significant(self.measured.mean)}{half}{self.unit and ' ' + self.unit}{each}"

    @property
    def _printed(self) -> str:
        if self.paper is None:
            return ""
        if self.lower_bound:
            return f"; paper: {'more than' if self.bound.strict else 'at least'} {self.paper:g}"
        return f"; paper: {significant(self.paper)}"

    def remark(self, pieces: int) -> str:
        """Where the interval of one of so many pieces lies, in words; nothing where it is inside."""
        if self.untrained:
            return f" [not trained: {self.untrained}]"
        if self.idle:
            return f" [says nothing: {self.idle}]"
        if self.measured is None:
            return ""
        if self.repeats:
            return f" [no workloads: {self.repeats}]"
        if self.tied:
            return " [a tie on every workload says nothing]"
        if self.side() == "inside":
            return ""
        if self.measured.half is None:
            return " [trainings in two clusters: no interval]" if self.each else " [one workload: no interval]"
        if self.side() == "unclear":
            return " [the interval crosses the bound]"
        if self.side(pieces) == "outside":
            return " [outside]"
        return f" [outside, but not by ± {significant(self.measured.wider(pieces))}, corrected for {pieces} pieces]"


@dataclasses.dataclass(frozen=True)
class Exclusion:
    """Why an interpretation does not count: on which ground, and the place in the paper that gives it."""

    ground: Ground
    because: str

    def __str__(self) -> str:
        return f"{self.ground}: {self.because}"


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a paper states, where, what exactly is tested, and the evidence.

    origin: of the claim's input. excluded: interpretations that are shown and do not count, with the reason. chance:
    names of the claims that the policies which it is about are better than chance. level: in words, which of these
    claims do not hold (see `papers/chance.py`).
    """

    name: str
    text: str
    where: str
    tested: str
    measurements: tuple[Measurement, ...]
    origin: Origin = "measured"
    excluded: Mapping[str, Exclusion] = dataclasses.field(default_factory=dict)
    chance: tuple[str, ...] = ()
    level: str = ""

    def under(self, interpretation: str) -> tuple[Measurement, ...]:
        """The pieces of evidence under an interpretation."""
        return tuple(e for e in self.measurements if e.interpretation == interpretation)

    @property
    def interpretations(self) -> tuple[str, ...]:
        """The interpretations in the order of the evidence."""
        return tuple(dict.fromkeys(e.interpretation for e in self.measurements))

    @property
    def counted(self) -> tuple[str, ...]:
        """The interpretations that count."""
        return tuple(interpretation for interpretation in self.interpretations if interpretation not in self.excluded)

    @property
    def by_interpretation(self) -> dict[str, Verdict]:
        """Reading -> the verdict there."""
        return {interpretation: self._judge(interpretation) for interpretation in self.interpretations}

    def _judge(self, interpretation: str, interpretations: int = 1) -> Verdict:
        """The verdict under an interpretation, where one of so many interpretations is enough for the conclusion."""
        pieces = self.under(interpretation)
        if any(e.side(interpretations * len(pieces)) == "outside" for e in pieces if not e.untrained):
            return "does not hold"
        if any(e.untrained for e in pieces):
            return "not trained"
        sides = {e.side(interpretations) for e in pieces} - {"nothing"}
        if None in sides:
            return "not measured"
        return "holds" if sides == {"inside"} else "undecided"

    @property
    def verdict(self) -> Verdict:
        """The claim's verdict; see the module's docstring."""
        if self.origin != "measured":
            return self.origin
        if not self.counted:
            return "not measured"
        each = {self._judge(interpretation) for interpretation in self.counted}
        if len(each) == 1:
            return each.pop()
        for missing in ("not trained", "not measured"):
            if missing in each:
                return missing
        firm = {self._judge(interpretation, len(self.counted)) for interpretation in self.counted}
        return "depends on the interpretation" if {"holds", "does not hold"} <= firm else "undecided"

    def against(self, interpretation: str) -> tuple[Measurement, ...]:
        """The pieces that refute the claim under an interpretation, the furthest outside first."""
        pieces = self.under(interpretation)
        outside = [e for e in pieces if e.side(len(pieces)) == "outside" and not e.untrained]
        return tuple(sorted(outside, key=_clearance))

    def summary(self, *, judged: bool = True) -> str:
        """The range of all pieces over the interpretations that count, then how many interpretations say what."""
        pieces = [e for e in self.measurements if e.interpretation not in self.excluded]
        found = ranges(pieces, interpretations=len(self.counted) > 1)
        if judged and len(self.counted) > 1:
            each = [self.by_interpretation[interpretation] for interpretation in self.counted]
            found += f"; of {len(each)} interpretations: " + ", ".join(
                f"{each.count(v)} {v}" for v in dict.fromkeys(each)
            )
        return found + (f"; {self.level}" if judged and self.level else "")

    def told(self, interpretation: str, *, judged: bool = True) -> str:
        """An interpretation's measurements in one line: range, and, if `judged`, verdict and what speaks against it."""
        pieces = self.under(interpretation)
        notes: list[str] = [self._judge(interpretation)] if judged else []
        if interpretation in self.excluded:
            notes.append(f"not counted: {self.excluded[interpretation]}")
        noted = f" ({'; '.join(notes)})" if notes else ""
        if not judged:
            return f"{interpretation}{noted}: {ranges(pieces)}"
        if len(pieces) == 1:
            return f"{interpretation}{noted}: {pieces[0].sentence}{pieces[0].remark(1)}"
        refuted, remarks = (
            self.against(interpretation),
            [e.remark(len(pieces)) for e in pieces if not e.measured or e.untrained],
        )
        against = f"; refuted by {refuted[0].sentence}" if refuted else next(filter(None, remarks), "")
        return f"{interpretation}{noted}: {ranges(pieces)}{against}"

    def to_json(self, *, judged: bool = True) -> dict[str, Any]:
        """The claim as plain JSON data, with its verdicts if `judged`."""
        found: dict[str, Any] = {"name": self.name, "text": self.text, "where": self.where, "tested": self.tested}
        excluded = {r: str(why) for r, why in self.excluded.items() if r in self.interpretations}
        found |= {"origin": self.origin, "excluded": excluded, "chance": list(self.chance)}
        found |= {"summary": self.summary(judged=judged)}
        if judged:
            found |= {
                "verdict": self.verdict,
                "by_interpretation": self.by_interpretation,
                "level_with_chance": self.level,
            }
        return found | {"measurements": [self._measurement(e, judged) for e in self.measurements]}

    def _measurement(self, piece: Measurement, judged: bool) -> dict[str, Any]:
        """A measurement as JSON data; `side` is that of the interval, if outside corrected for their number."""
        found = dataclasses.asdict(piece)
        if judged:
            corrected = piece.side(len(self.under(piece.interpretation)))
            found["side"] = "inside" if piece.side() == "inside" else corrected
        return found


def _clearance(piece: Measurement) -> float:
    """How far the interval is inside its bound; negative where a part of it is outside."""
    if piece.measured is None:
        return math.inf
    return piece.bound.margin(piece.measured.mean) - (piece.measured.half or 0.0)
