"""A paper's claim compared with measurements: each piece of evidence is a mean with its interval, and a bound.

A verdict is computed, never typed in, and never follows a mean inside its own noise.

Under one interpretation of the paper a claim
- `holds` if the 95 % interval of every piece is within the piece's bound. All must, so a correction is not needed: a
  claim that is false in one piece passes that piece in at most 2.5 % of all repetitions, and all of them at most as
  often.
- `does not hold` if the interval of some piece is completely outside its bound. One is enough, and more pieces make a
  chance failure likelier. For m pieces the interval is therefore Student's t at 1 - 0.05 / (2 m) (Bonferroni).
- is `undecided` otherwise; so is a measurement on fewer than five workloads, which lacks an interval.

Uninformative pieces are shown and leave the decision to the others; without others the claim is undecided:
- a tie: two policies with equal results on every workload (0 +- 0). It shows that gains were impossible there, and is
  evidence only for a claim of equality.
- a piece measured outside the scope of its question (`idle`), such as at a load without waiting jobs.

Repetitions of one workload (`repeats`), such as one trace whose missing columns are drawn again, are not workloads:
whatever their interval, the piece counts as not measured.

Every interpretation counts if the paper prints it, if its authors' program has it, or if both leave it open. An
interpretation is excluded (shown, not counted) only for one of the `Ground`s, never for its results. A claim has the
common verdict of all its interpretations. It `depends on the interpretation` if one confirms it and another refutes
it. Both intervals are then corrected for the number of interpretations as well, since here too one of
several is enough. Otherwise it is undecided.

A piece about an unfinished training, or about a training for another setting than the paper's, is shown with the
reason, without a firm conclusion. Unless another piece refutes the claim, it is `not trained`: the behaviour of such a
policy is not evidence about the method.

A piece may state the range of means that any scheduler could reach in this simulator (`reach`). If its whole bound is
beyond this range, the piece cannot refute the scheduler. Unless another piece refutes the claim, the claim is `excluded
by the simulator`.

A claim about a policy names the claim that this policy is better than chance
(`chance`); if that claim fails, the report adds a note.

A claim with an input derived from the claim itself is not tested by its results: it is `assumed` if the simulated world
supposes it, `fitted` if parameters were fitted to its numbers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from mlsched.core.aliases import Data
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
    "excluded by the simulator",
]
#: Origin of a claim's input; all but "measured" are its verdict.
Origin = Literal["measured", "assumed", "fitted"]
#: Kind of a claim: a direction of an effect, its size, the first place among several, or what only a testbed shows.
Kind = Literal["direction", "size", "order", "testbed"]
#: Position of an interval: within its bound, completely outside, or neither; or the piece is uninformative.
Side = Literal["inside", "outside", "unclear", "nothing"]
#: Fewer workloads than this have no interval.
FEWEST = 5
#: The only grounds on which an interpretation does not count.
Ground = Literal["the paper says otherwise", "not in the paper's evaluation"]


@dataclasses.dataclass(frozen=True)
class Bound:
    """Allowed range of a mean: [low, high], None unbounded; `strict` excludes the ends."""

    low: float | None = None
    high: float | None = None
    strict: bool = False

    def admits(self, value: float) -> bool:
        """Return whether `value` is within the bound."""
        return self._above_low(value) and self._below_high(value)

    def excludes(self, low: float, high: float) -> bool:
        """Return whether all values from `low` to `high` are outside the bound."""
        return not (self._above_low(high) and self._below_high(low))

    def beyond(self, reach: Bound) -> bool:
        """Return whether all values of the range `reach` are outside the bound."""
        low, high = (-math.inf if reach.low is None else reach.low), (math.inf if reach.high is None else reach.high)
        return self.excludes(low, high)

    def _above_low(self, value: float) -> bool:
        return self.low is None or value > self.low or (value == self.low and not self.strict)

    def _below_high(self, value: float) -> bool:
        return self.high is None or value < self.high or (value == self.high and not self.strict)

    @property
    def alike(self) -> bool:
        """Return whether the claim is equality, up to a tolerance on both sides."""
        return self.low is not None and self.high is not None and self.admits(0.0)

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.low:.4g} to {self.high:.4g}"
        if self.low is not None:
            return f"{'above' if self.strict else 'at least'} {self.low:.4g}"
        return f"{'below' if self.strict else 'at most'} {self.high:.4g}" if self.high is not None else "any"

    def margin(self, value: float) -> float:
        """Return the distance of `value` from the end of the bound; negative outside."""
        below = math.inf if self.low is None else value - self.low
        above = math.inf if self.high is None else self.high - value
        return min(below, above)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Mean over workloads with its interval; or a computed number (see `exact`).

    Attributes:
        half: Half-width of the 95 % interval (Student's t), 0 if all workloads agree, None for fewer than five.
        count: Number of workloads; None for a computed number.
    """

    mean: float
    half: float | None
    count: int | None = None

    def __post_init__(self) -> None:
        if self.half and (self.count is None or self.count < 2):
            raise ValueError(f"half = {self.half!r} of count = {self.count!r} values: an interval needs count >= 2")

    @property
    def tie(self) -> bool:
        """Return whether all workloads agree exactly: 0, with an interval of 0."""
        return self.count is not None and self.half == 0 and self.mean == 0

    def wider(self, alternatives: int) -> float | None:
        """Return the half-width corrected for this number of intervals (Bonferroni)."""
        if not self.half or self.count is None:
            return self.half
        freedom = self.count - 1
        return self.half * t_quantile(1 - ERROR / (2 * alternatives), freedom) / t_quantile(1 - ERROR / 2, freedom)


def exact(value: float) -> Estimate:
    """Return a computed number as an estimate without an interval; its value decides."""
    return Estimate(float(value), 0.0)


def estimate(values: Sequence[float | None] | Any) -> Estimate | None:
    """Return the estimate from one value per workload, or None if a workload lacks a value."""
    data = [math.nan if v is None else float(v) for v in values]
    if not data or not np.isfinite(data).all():
        return None
    half = half_width(data) if len(data) >= FEWEST else None
    return Estimate(float(np.mean(data)), half, len(data))


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One measured quantity of a claim, under one interpretation, with its bound and the paper's number.

    Attributes:
        lower_bound: The paper's number is a lower bound ("at least", or "more than" if the bound is strict), not a
            target.
        untrained: Reason why the policy does not count as trained; "" if it does or is not a trained policy.
        idle: Reason why the question does not arise here; "" if it does.
        repeats: Kind of the values if they are not of different workloads; "" otherwise.
        each: Values of the trainings of a policy; two clusters lack an interval (see `papers/trainings.py`).
        reach: Means that any scheduler could reach in this simulator and condition; None if unknown.

    Raises:
        ValueError: The measured mean is outside `reach`, which is therefore wrong.
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
    reach: Bound | None = None

    def __post_init__(self) -> None:
        if self.reach is None or self.measured is None:
            return
        mean = self.measured.mean
        if self.reach.margin(mean) < -1e-9 * max(1.0, abs(mean)):
            raise ValueError(f"{self.what}: measured {mean:g}, expected a mean within its reach: {self.reach}")

    @property
    def beyond_reach(self) -> bool:
        """Return whether no scheduler could satisfy the bound in this simulator."""
        return self.reach is not None and self.bound.beyond(self.reach)

    @property
    def tied(self) -> bool:
        """Return whether all workloads agree, although the claim is not equality."""
        return self.measured is not None and self.measured.tie and not self.bound.alike

    def side(self, alternatives: int = 1) -> Side | None:
        """Return the position of the interval, corrected for this number of intervals; None if not measured."""
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
        """Describe the evidence: the mean, its interval, the bound, and the paper's number."""
        if self.measured is None:
            return f"{self.what}: not measured"
        return f"{self.what}: {self.value} (needed: {self.bound}{self._printed})"

    @property
    def value(self) -> str:
        """Return the mean with its interval and unit, then the value of each training, if any; "-" if not measured."""
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
        """Describe the position of the interval among this number of pieces; "" if it is inside."""
        if self.untrained:
            return f" [not trained: {self.untrained}]"
        if self.idle:
            return f" [says nothing: {self.idle}]"
        if self.beyond_reach:
            return f" [excluded by the simulator: any scheduler has {self.reach}]"
        if self.measured is None:
            return ""
        if self.repeats:
            return f" [no workloads: {self.repeats}]"
        if self.tied:
            return " [a tie on every workload says nothing]"
        if self.side() == "inside":
            return ""
        if self.measured.half is None:
            return (
                " [trainings in two clusters: no interval]"
                if self.each
                else f" [fewer than {FEWEST} workloads: no interval]"
            )
        if self.side() == "unclear":
            return " [the interval crosses the bound]"
        if self.side(pieces) == "outside":
            return " [outside]"
        return f" [outside, but not by ± {significant(self.measured.wider(pieces))}, corrected for {pieces} pieces]"


@dataclasses.dataclass(frozen=True)
class Exclusion:
    """Reason why an interpretation does not count: the ground, and its place in the paper."""

    ground: Ground
    because: str

    def __str__(self) -> str:
        return f"{self.ground}: {self.because}"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A paper's statement, its place, the exact test, and the evidence.

    Attributes:
        origin: Origin of the claim's input.
        excluded: Interpretations that are shown and do not count, with the reason.
        chance: Names of the claims that its policies are better than chance.
        level: Failed claims of `chance`, in words (see `papers/chance.py`).
        kind: Kind of the claim.
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
    kind: Kind = "direction"

    def under(self, interpretation: str) -> tuple[Measurement, ...]:
        """Return the pieces of evidence under an interpretation."""
        return tuple(e for e in self.measurements if e.interpretation == interpretation)

    @property
    def interpretations(self) -> tuple[str, ...]:
        """Return the interpretations in the order of the evidence."""
        return tuple(dict.fromkeys(e.interpretation for e in self.measurements))

    @property
    def counted(self) -> tuple[str, ...]:
        """Return the interpretations that count."""
        return tuple(interpretation for interpretation in self.interpretations if interpretation not in self.excluded)

    @property
    def by_interpretation(self) -> dict[str, Verdict]:
        """Return interpretation -> its verdict."""
        return {interpretation: self._judge(interpretation) for interpretation in self.interpretations}

    def _judge(self, interpretation: str, interpretations: int = 1) -> Verdict:
        """Return the verdict under an interpretation, with intervals corrected for the number of interpretations."""
        pieces = self.under(interpretation)
        fair = [e for e in pieces if not (e.untrained or e.beyond_reach)]
        if any(e.side(interpretations * len(pieces)) == "outside" for e in fair):
            return "does not hold"
        if any(e.beyond_reach and not e.idle for e in pieces):
            return "excluded by the simulator"
        if any(e.untrained for e in pieces):
            return "not trained"
        sides = {e.side(interpretations) for e in pieces} - {"nothing"}
        if None in sides:
            return "not measured"
        return "holds" if sides == {"inside"} else "undecided"

    @property
    def verdict(self) -> Verdict:
        """Return the claim's verdict; see the module's docstring."""
        if self.origin != "measured":
            return self.origin
        if not self.counted:
            return "not measured"
        each = {self._judge(interpretation) for interpretation in self.counted}
        if len(each) == 1:
            return each.pop()
        for missing in ("excluded by the simulator", "not trained", "not measured"):
            if missing in each:
                return missing
        firm = {self._judge(interpretation, len(self.counted)) for interpretation in self.counted}
        return "depends on the interpretation" if {"holds", "does not hold"} <= firm else "undecided"

    def against(self, interpretation: str) -> tuple[Measurement, ...]:
        """Return the pieces that refute the claim under an interpretation, the furthest outside first."""
        pieces = self.under(interpretation)
        outside = [e for e in pieces if e.side(len(pieces)) == "outside" and not (e.untrained or e.beyond_reach)]
        return tuple(sorted(outside, key=_clearance))

    def summary(self, *, judged: bool = True) -> str:
        """Describe the range of all measurements over the counted interpretations, then count these by verdict."""
        pieces = [e for e in self.measurements if e.interpretation not in self.excluded]
        result = ranges(pieces, interpretations=len(self.counted) > 1)
        if judged and len(self.counted) > 1:
            each = [self.by_interpretation[interpretation] for interpretation in self.counted]
            result += f"; of {len(each)} interpretations: " + ", ".join(
                f"{each.count(v)} {v}" for v in dict.fromkeys(each)
            )
        return result + (f"; {self.level}" if judged and self.level else "")

    def told(self, interpretation: str, *, judged: bool = True) -> str:
        """Describe an interpretation in one line: range and, if `judged`, verdict and opposing evidence."""
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
            [e.remark(len(pieces)) for e in pieces if not e.measured or e.untrained or e.beyond_reach],
        )
        against = f"; refuted by {refuted[0].sentence}" if refuted else next(filter(None, remarks), "")
        return f"{interpretation}{noted}: {ranges(pieces)}{against}"

    def to_json(self, *, judged: bool = True) -> Data:
        """Return the claim as plain JSON data, with its verdicts if `judged`."""
        result: Data = {"name": self.name, "text": self.text, "where": self.where, "tested": self.tested}
        excluded = {r: str(why) for r, why in self.excluded.items() if r in self.interpretations}
        result |= {"kind": self.kind, "origin": self.origin, "excluded": excluded, "chance": list(self.chance)}
        result |= {"summary": self.summary(judged=judged)}
        if judged:
            result |= {
                "verdict": self.verdict,
                "by_interpretation": self.by_interpretation,
                "level_with_chance": self.level,
            }
        return result | {"measurements": [self._measurement(e, judged) for e in self.measurements]}

    def _measurement(self, piece: Measurement, judged: bool) -> Data:
        """Return a measurement as JSON data; `side` is that of the interval, if outside corrected for their number."""
        result = dataclasses.asdict(piece)
        if piece.reach is None:
            del result["reach"]
        if judged:
            corrected = piece.side(len(self.under(piece.interpretation)))
            result["side"] = "inside" if piece.side() == "inside" else corrected
        return result


def _clearance(piece: Measurement) -> float:
    """Return the distance of the interval from the end of its bound; negative if a part of it is outside."""
    if piece.measured is None:
        return math.inf
    return piece.bound.margin(piece.measured.mean) - (piece.measured.half or 0.0)
