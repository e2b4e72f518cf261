"""A finished experiment: interpretations, tables beside the paper's, figures, and the verdicts on its claims."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from mlsched.benchmark import html, plots
from mlsched.core.aliases import Data
from mlsched.core.brief import short_repr
from mlsched.core.errors import ALL_NAMES, UnknownName
from mlsched_papers.claim import Claim, Estimate
from mlsched_papers.digits import signed_percent, significant
from mlsched_papers.scoreboard import OURS, Outcome, Paper, outcome, score

#: Class of a verdict's cell in the HTML report.
MARKS = {"holds": "good", "does not hold": "bad"}

#: Heading of the verdicts that a quick run shows.
QUICK_VERDICT = "full run, recorded"
#: Heading of the chances.
IF_RIGHT = "if right"

#: Explanation of verdicts in every report; docs/explanation/verdicts.md has the reasons.
RULE = (
    "A claim holds if the complete 95 % interval of each measurement is within its bound. It does not hold if the "
    "interval of one measurement, corrected for their number (Bonferroni), is completely outside. Otherwise it is "
    "undecided. Fewer than five workloads have no interval. Ties, and measurements in conditions without the effect, "
    "are skipped. A claim depends on the interpretation if two interpretations disagree. It cannot be "
    "tested here if it is assumed, fitted, not measured, not trained, or excluded by the simulator. "
    f"Column {IF_RIGHT}: the chance that a claim is confirmed with these workloads if the paper is exactly right."
)
NO_VERDICTS = (
    "No verdicts: a quick run is too small for them and gives estimates with 95 % intervals. Recorded verdicts, if "
    "shown, are of the full experiment; docs/results names the command that measured them."
)


@dataclasses.dataclass(frozen=True)
class Number:
    """A measurement beside the paper's number; None if missing.

    Attributes:
        lower_bound: The paper prints a lower bound ("at least", "more than"), without a deviation.
    """

    measured: Estimate | None
    paper: float | None = None
    lower_bound: bool = False

    @property
    def deviation(self) -> float | None:
        """Return the measurement relative to the paper's, less 1; None if the paper's is a lower bound."""
        return self.measured.mean / self.paper - 1 if self.measured and self.paper and not self.lower_bound else None

    @property
    def printed(self) -> str:
        """Return the paper's number as text."""
        return f"≥ {self.paper:g}" if self.lower_bound and self.paper is not None else significant(self.paper)

    def to_json(self) -> Data:
        """Return the mean, half-width of the 95 % interval, the paper's number, and the relative deviation from it."""
        mean, half = (self.measured.mean, self.measured.half) if self.measured else (None, None)
        result = {"measured": mean, "ci95": half, "paper": self.paper, "deviation": self.deviation}
        return result | {"lower_bound": self.lower_bound}


@dataclasses.dataclass(frozen=True)
class Table:
    """A repeated table of a paper: each row has a label and one number per column."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Number, ...]], ...]
    note: str = ""

    def lines(self) -> list[list[str]]:
        """Return the rows as text: measured, interval, paper's number and deviation below one another, if known."""
        result = []
        for label, numbers in self.rows:
            texts = {
                "measured": [significant(n.measured.mean if n.measured else None) for n in numbers],
                "± 95 %": [significant(n.measured.half if n.measured and n.measured.count else None) for n in numbers],
                "paper": [n.printed for n in numbers],
                "deviation": [signed_percent(n.deviation) for n in numbers],
            }
            lookup = {kind: cells for kind, cells in texts.items() if kind == "measured" or set(cells) != {"–"}}
            for kind, cells in lookup.items():
                result.append([label if kind == "measured" else "", kind, *cells])
        return result

    def to_json(self) -> Data:
        """Return the table as plain JSON data."""
        rows = [{"label": label, "numbers": [n.to_json() for n in numbers]} for label, numbers in self.rows]
        return {"name": self.name, "title": self.title, "header": list(self.header), "rows": rows, "note": self.note}


#: Panel -> line -> (x values, y values); for a distribution: (quantiles, cumulative shares).
Panels = Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A repeated figure of a paper.

    Attributes:
        kind: "lines", or "cdf" (panels then have quantiles, x and y are not shown).
    """

    name: str
    caption: str
    panels: Panels
    x: str = ""
    y: str = ""
    kind: Literal["lines", "cdf"] = "lines"

    def svg(self) -> str:
        """Return the picture, drawn by matplotlib."""
        if self.kind == "cdf":
            samples = {panel: {name: xs for name, (xs, _) in each.items()} for panel, each in self.panels.items()}
            return plots.svg(plots.draw_distributions(samples))
        return plots.svg(plots.draw_lines(self.panels, self.x, self.y))

    def to_json(self) -> Data:
        """Return the figure's numbers as plain JSON data."""
        panels = {
            panel: {name: {"x": list(xs), "y": list(ys)} for name, (xs, ys) in each.items()}
            for panel, each in self.panels.items()
        }
        return {"name": self.name, "caption": self.caption, "kind": self.kind, "x": self.x, "y": self.y} | {
            "panels": panels
        }


@dataclasses.dataclass(frozen=True)
class Report:
    """An experiment's outcome.

    Attributes:
        interpretations: Sentences about the runs and the interpretation of the paper.
        quick: It is too small to judge a claim, and lacks verdicts.
        recorded: Of a quick report: name of a claim -> the recorded outcome of the full experiment.
        paper: The paper as the scoreboard presents it; None if the experiment is not about a single paper.
    """

    title: str
    interpretations: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    quick: bool = False
    recorded: Mapping[str, Outcome] = dataclasses.field(default_factory=dict)
    paper: Paper | None = None

    def __repr__(self) -> str:
        return short_repr(self, self.title, self.summary)

    @property
    def rule(self) -> str:
        """Explain the verdicts, or why they are missing."""
        return NO_VERDICTS if self.quick else RULE

    def verdicts(self) -> dict[str, str]:
        """Return the name of a claim -> its verdict; empty for a quick report."""
        return {} if self.quick else {claim.name: claim.verdict for claim in self.claims}

    @functools.cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """Return the name of a claim -> its outcome; of a quick report, as far as it is recorded."""
        if self.quick:
            return {claim.name: self.recorded[claim.name] for claim in self.claims if claim.name in self.recorded}
        return {claim.name: outcome(claim) for claim in self.claims}

    @property
    def summary(self) -> str:
        """Count the claims by verdict; of a quick report, as recorded."""
        ours = sum(claim.where == OURS for claim in self.claims)
        number = len(self.claims)
        if self.outcomes and self.paper and ours < number:
            recorded = "Recorded of the full experiment: " if self.quick else ""
            return f"{recorded}{score(self.claims, self.outcomes).sentences}" + f" Our own claims: {ours}." * (ours > 0)
        counts = Counter(one.verdict for one in self.outcomes.values()).most_common()
        each = ", ".join(f"{number} {verdict}" for verdict, number in counts)
        there = f"{number} claim{'s' * (number != 1)}"
        if self.quick:
            return there + (f"; verdicts recorded of the full experiment: {each} (docs/results)" if each else "")
        return there + (f", {each}" if each else "")

    @property
    def paragraph(self) -> list[str]:
        """Describe the paper, the verdict on its headline, the reasons and the counts."""
        if self.paper is None:
            return [self.summary]
        words = [f"{self.paper.name}: {self.paper.question}."]
        words += [
            f"Headline: {claim.text} ({claim.where}): {self.outcomes[claim.name].verdict}."
            for claim in self.claims
            if claim.name == self.paper.headline and claim.name in self.outcomes
        ]
        return [
            *words,
            f"Why claims fail or stay open: {self.paper.why}",
            f"Condition: {self.paper.condition}",
            self.summary,
        ]

    def only(self, text: str) -> Report:
        """Return a report without tables and figures, with the claims that have `text` in their name or words.

        The case of letters does not matter.

        Raises UnknownName if all claims are excluded.
        """
        result = tuple(claim for claim in self.claims if matches(text, claim.name, claim.text))
        if not result:
            raise UnknownName(
                f"claim: {text!r}, expected a part of a claim's name or text; there are {_names(self.claims)}",
                ALL_NAMES,
            )
        return dataclasses.replace(self, tables=(), figures=(), claims=result)

    def to_json(self) -> Data:
        """Return the report as plain JSON data."""
        return {
            "kind": "experiment.report",
            "version": 2,
            "title": self.title,
            "quick": self.quick,
            "summary": self.summary,
            "paragraph": self.paragraph,
            "interpretations": list(self.interpretations),
            "tables": [table.to_json() for table in self.tables],
            "figures": [figure.to_json() for figure in self.figures],
            "rule": self.rule,
            "claims": [self._claim_json(claim) for claim in self.claims],
        }

    def _claim_json(self, claim: Claim) -> Data:
        result = claim.to_json(judged=not self.quick)
        if claim.name not in self.outcomes:
            return result
        known = self.outcomes[claim.name]
        return result | {"chance_to_hold": known.chance} | ({"recorded_verdict": known.verdict} if self.quick else {})

    def to_html(self) -> str:
        """Return the report as one self-contained HTML page (needs the `plot` extra)."""
        sections = [html.paragraph(sentence) for sentence in (*self.paragraph, *self.interpretations)]
        sections += [html.heading("Claims"), html.paragraph(self.rule), self._claims_html(), html.heading("Tables")]
        for table in self.tables:
            sections.append(html.paragraph(f"{table.name}: {table.title}"))
            if table.rows:
                sections.append(html.table([table.header[0], "", *table.header[1:]], table.lines(), sortable=False))
            if table.note:
                sections.append(html.paragraph(table.note, note=True))
        sections.append(html.heading("Figures"))
        sections += [html.picture(figure.svg(), f"{figure.name}: {figure.caption}") for figure in self.figures]
        sections += [html.heading("Measurement"), self._evidence_html()]
        return html.page(self.title, sections, summary=self._verdicts_html())

    def _verdicts_html(self) -> str:
        """Return the number of claims by verdict; of a quick report, by the recorded verdict."""
        verdicts = [self.outcomes[c.name].verdict if c.name in self.outcomes else "not recorded" for c in self.claims]
        counts = {verdict: str(verdicts.count(verdict)) for verdict in dict.fromkeys(verdicts)}
        title = QUICK_VERDICT if self.quick else "verdict"
        return html.table([title, "claims"], list(counts.items()), label="Summary")

    def _claims_html(self) -> str:
        first = QUICK_VERDICT if self.quick else "verdict"
        header = [first, IF_RIGHT, "claim", "in the paper", "tested", "from the lowest to the highest"]
        known = [self.outcomes.get(c.name, Outcome("")) for c in self.claims]
        rows = [
            [one.verdict, one.percent, c.text, c.where, c.tested, "; ".join(self.measurements(c))]
            for one, c in zip(known, self.claims, strict=True)
        ]
        marks = {(r, 0): MARKS[one.verdict] for r, one in enumerate(known) if one.verdict in MARKS and not self.quick}
        return html.table(header, rows, marks=marks)

    def measurements(self, claim: Claim) -> list[str]:
        """Return the range of a claim's evidence over its interpretations, then each interpretation in a line."""
        verdict = not self.quick
        each = [claim.told(interpretation, judged=verdict) for interpretation in claim.interpretations]
        return [claim.summary(judged=verdict), *each] if len(each) != 1 or claim.level else each

    def _evidence_html(self) -> str:
        rows = [
            [c.name, e.interpretation, e.sentence + ("" if self.quick else e.remark(len(c.under(e.interpretation))))]
            for c in self.claims
            for e in c.measurements
        ]
        return html.table(["claim", "interpretation", "measured"], rows)


def matches(text: str, name: str, words: str) -> bool:
    """Return whether `text` selects a claim of this name and these words."""
    return text.casefold() in name.casefold() or text.casefold() in words.casefold()


def _names(claims: Sequence[Claim]) -> str:
    return ", ".join(claim.name for claim in claims)
