"""A finished experiment: readings, tables beside the paper's, figures, and the verdicts on its claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mlsched.benchmark import html, plots
from mlsched.benchmark.experiments.claim import Claim, Estimate
from mlsched.benchmark.experiments.digits import signed_percent, significant

#: Class of a verdict's cell in the HTML report.
MARKS = {"holds": "good", "does not hold": "bad"}


@dataclasses.dataclass(frozen=True)
class Number:
    """What was measured beside what the paper prints; None where there is nothing."""

    measured: Estimate | None
    paper: float | None = None

    @property
    def deviation(self) -> float | None:
        """Measured relative to the paper's, less 1."""
        return self.measured.mean / self.paper - 1 if self.measured and self.paper else None

    def to_json(self) -> dict[str, Any]:
        """Mean, half-width of the 95 % interval, the paper's number, and the relative deviation from it."""
        mean, half = (self.measured.mean, self.measured.half) if self.measured else (None, None)
        return {"measured": mean, "ci95": half, "paper": self.paper, "deviation": self.deviation}


@dataclasses.dataclass(frozen=True)
class Table:
    """A paper's table measured anew: each row a label and one number a column."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Number, ...]], ...]
    note: str = ""

    def lines(self) -> list[list[str]]:
        """The rows as text: measured, the interval, the paper's and the deviation below one another, where known."""
        found = []
        for label, numbers in self.rows:
            texts = {
                "measured": [significant(n.measured.mean if n.measured else None) for n in numbers],
                "± 95 %": [significant(n.measured.half) if n.measured else "–" for n in numbers],
                "paper": [significant(n.paper) for n in numbers],
                "deviation": [signed_percent(n.deviation) for n in numbers],
            }
            known = {kind: cells for kind, cells in texts.items() if kind == "measured" or set(cells) != {"–"}}
            for kind, cells in known.items():
                found.append([label if kind == "measured" else "", kind, *cells])
        return found

    def to_json(self) -> dict[str, Any]:
        """The table as plain JSON data."""
        rows = [{"label": label, "numbers": [n.to_json() for n in numbers]} for label, numbers in self.rows]
        return {"name": self.name, "title": self.title, "header": list(self.header), "rows": rows, "note": self.note}


#: Panel -> line -> (x values, y values); for a distribution: (quantiles, cumulative shares).
Panels = Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A paper's figure measured anew. kind: "lines", or "cdf" (panels then hold quantiles, x and y are not shown)."""

    name: str
    caption: str
    panels: Panels
    x: str = ""
    y: str = ""
    kind: Literal["lines", "cdf"] = "lines"

    def svg(self) -> str:
        """The picture, by matplotlib."""
        if self.kind == "cdf":
            samples = {panel: {name: xs for name, (xs, _) in each.items()} for panel, each in self.panels.items()}
            return plots.svg(plots.cdf(samples))
        return plots.svg(plots.lines(self.panels, self.x, self.y))

    def to_json(self) -> dict[str, Any]:
        """The figure's numbers as plain JSON data."""
        panels = {
            panel: {name: {"x": list(xs), "y": list(ys)} for name, (xs, ys) in each.items()}
            for panel, each in self.panels.items()
        }
        return {"name": self.name, "caption": self.caption, "kind": self.kind, "x": self.x, "y": self.y} | {
            "panels": panels
        }


@dataclasses.dataclass(frozen=True)
class Report:
    """An experiment's outcome. readings: in sentences, what was run and how the paper was read."""

    title: str
    readings: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]

    def verdicts(self) -> dict[str, str]:
        """Name of a claim -> its verdict."""
        return {claim.name: claim.verdict for claim in self.claims}

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON data."""
        return {
            "kind": "experiment.report",
            "version": 1,
            "title": self.title,
            "readings": list(self.readings),
            "tables": [table.to_json() for table in self.tables],
            "figures": [figure.to_json() for figure in self.figures],
            "claims": [claim.to_json() for claim in self.claims],
        }

    def to_html(self) -> str:
        """The report as one self-contained HTML page (needs the `plot` extra)."""
        sections = [html.text(sentence) for sentence in self.readings]
        sections += [html.heading("Claims"), self._claims_html(), html.heading("Tables")]
        for table in self.tables:
            sections.append(html.text(f"{table.name}: {table.title}"))
            if table.rows:
                sections.append(html.table([table.header[0], "", *table.header[1:]], table.lines()))
            if table.note:
                sections.append(html.text(table.note, note=True))
        sections.append(html.heading("Figures"))
        sections += [html.picture(figure.svg(), f"{figure.name}: {figure.caption}") for figure in self.figures]
        sections += [html.heading("Evidence"), self._evidence_html()]
        return html.page(self.title, sections)

    def _claims_html(self) -> str:
        rows = [[c.verdict, c.text, c.where, c.tested, _decisive(c)] for c in self.claims]
        marks = {(r, 0): MARKS[c.verdict] for r, c in enumerate(self.claims) if c.verdict in MARKS}
        return html.table(["verdict", "claim", "in the paper", "tested", "closest to the bound"], rows, marks=marks)

    def _evidence_html(self) -> str:
        rows = [[c.name, e.reading, e.sentence] for c in self.claims for e in c.evidence]
        return html.table(["claim", "reading", "measured"], rows)


def _decisive(claim: Claim) -> str:
    return "; ".join(f"{reading}: {claim.decisive(reading).sentence}" for reading in claim.by_reading)
