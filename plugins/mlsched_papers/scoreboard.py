"""A paper's scoreboard: the outcomes of its claims, by kind, and the number expected if the paper were right."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from mlsched_papers.claim import Claim, Kind
from mlsched_papers.power import TESTED, chance_to_hold

#: Outcome in words -> the verdicts that it counts.
COUNTED: Mapping[str, tuple[str, ...]] = {
    "hold": ("holds",),
    "do not hold": ("does not hold",),
    "undecided": ("undecided",),
    "depend on the interpretation": ("depends on the interpretation",),
    "cannot be tested here": ("assumed", "fitted", "not measured", "not trained", "excluded by the simulator"),
}
#: Words of the outcomes in a sentence: of one claim, and of several.
WORDS = (
    ("holds", "hold"),
    ("does not", "do not"),
    ("is undecided", "are undecided"),
    ("depends on the interpretation of the paper", "depend on the interpretation of the paper"),
    ("cannot be tested here", "cannot be tested here"),
)
#: Kinds of claims about a scheduler; claims of kind "testbed" are counted apart.
KINDS: tuple[Kind, ...] = ("direction", "size", "order")
#: Place of claims that no paper makes.
OURS = "ours"


@dataclasses.dataclass(frozen=True)
class Paper:
    """A paper as the scoreboard presents it, in sentences without measured numbers.

    Attributes:
        name: Scheduler, venue and year.
        question: Decision that its scheduler takes.
        headline: Name of the claim that its abstract leads with.
        why: Reason why claims fail or stay open.
        condition: Condition on which the headline depends.
    """

    name: str
    question: str
    headline: str
    why: str
    condition: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A claim's verdict, and the chance that it is confirmed if the paper is exactly right (see `power.py`)."""

    verdict: str
    chance: float | None = None

    @property
    def percent(self) -> str:
        """Return the chance as text; a dash if it is undefined."""
        return "–" if self.chance is None else f"{100 * self.chance:.0f} %"


def outcome(claim: Claim) -> Outcome:
    """Return the outcome of a measured claim; a claim of ours has no chance."""
    return Outcome(claim.verdict, None if claim.where == OURS else chance_to_hold(claim))


@dataclasses.dataclass(frozen=True)
class Score:
    """The outcomes of one or more papers' own claims, each with its kind."""

    outcomes: tuple[tuple[Kind, Outcome], ...]

    @property
    def scheduler(self) -> list[Outcome]:
        """Return the outcomes of claims about the scheduler."""
        return [outcome for kind, outcome in self.outcomes if kind in KINDS]

    @property
    def testbed(self) -> int:
        """Return the number of claims that only the paper's testbed could show."""
        return len(self.outcomes) - len(self.scheduler)

    def count(self, column: str) -> int:
        """Return the number of claims about the scheduler with this outcome, one of `COUNTED`."""
        return sum(outcome.verdict in COUNTED[column] for outcome in self.scheduler)

    @property
    def if_right(self) -> str:
        """Return the expected number of confirmed claims if the paper is right, of the claims with a chance."""
        chances = [outcome.chance for outcome in self.scheduler if outcome.chance is not None]
        return f"{sum(chances):.1f} of {len(chances)}"

    def of_kind(self, kind: Kind) -> str:
        """Return the number of confirmed claims of a kind, and the number of claims that can be tested here."""
        verdicts = [outcome.verdict for k, outcome in self.outcomes if k == kind and outcome.verdict in TESTED]
        return f"{verdicts.count('holds')} of {len(verdicts)}" if verdicts else "–"

    @property
    def sentences(self) -> str:
        """Describe the counts in the words of README."""
        each = zip(map(self.count, COUNTED), WORDS, strict=True)
        parts = [f"{number} {one if number == 1 else more}" for number, (one, more) in each if number]
        number = len(self.scheduler)
        result = f"{number} claim{'s' * (number != 1)} about the scheduler: {', '.join(parts)}."
        if self.testbed:
            result += f" Only the paper's testbed could show {self.testbed} more."
        return f"{result} If the paper were exactly right, {self.if_right} would hold with this number of workloads."


def score(claims: Sequence[Claim], outcomes: Mapping[str, Outcome]) -> Score:
    """Return the score of a paper's own claims; a claim without an outcome is left out."""
    own = [claim for claim in claims if claim.where != OURS and claim.name in outcomes]
    return Score(tuple((claim.kind, outcomes[claim.name]) for claim in own))


def verdict_row(label: str, result: Score) -> list[str | int]:
    """Return a row of the table of verdicts; its header is `VERDICT_HEADER`."""
    hold, *others = map(result.count, COUNTED)
    return [label, len(result.scheduler), hold, result.if_right, *others]


VERDICT_HEADER = ["paper", "claims", "hold", "would hold if the paper were right", *list(COUNTED)[1:]]


def scoreboard_row(label: str, headline: str, result: Score) -> list[str | int]:
    """Return a row of the scoreboard; its header is `SCOREBOARD_HEADER`."""
    kinds = [result.of_kind(kind) for kind in KINDS]
    return [label, headline, *kinds, result.count("cannot be tested here"), result.testbed]


SCOREBOARD_HEADER = ["paper", "headline", *KINDS, "cannot be tested here", "testbed only"]
