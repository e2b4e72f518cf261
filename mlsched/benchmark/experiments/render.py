"""An experiment's report in a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from mlsched.benchmark.experiments.report import Report, Table

#: The style of a verdict; all others are dim.
_STYLE = {"holds": "green", "does not hold": "red", "depends on the reading": "yellow"}
_LINE_STYLE = {"measured": "bold"}


def render(report: Report) -> list[Any]:
    """What to print, in order: title, readings, tables, claims. Figures are in the HTML report and in the JSON."""
    found: list[Any] = [Text(report.title, style="bold"), *(Text(sentence) for sentence in report.readings), Text("")]
    for table in report.tables:
        found += _table(table)
    found += [Text("Claims, with the evidence that comes closest to its bound", style="bold"), Text(report.rule)]
    found.append(_claims(report))
    names = ", ".join(dict.fromkeys(figure.name for figure in report.figures))
    if names:
        found.append(Text(f"{names}: in the HTML report and in the JSON"))
    return found


def _table(table: Table) -> list[Any]:
    title, note = f"{table.name}: {table.title}", [Text(table.note, style="dim"), Text("")] if table.note else []
    if not table.rows:
        return [Text(title, style="bold"), *note]
    made = _rich()
    made.add_column(Text(table.header[0]))
    made.add_column("")
    for name in table.header[1:]:
        made.add_column(Text(name), justify="right", no_wrap=True)
    for index, line in enumerate(table.lines()):
        if line[0] and index:
            made.add_section()
        made.add_row(*map(Text, line), style=_LINE_STYLE.get(line[1], "dim"))
    return [Text(title, style="bold"), made, *note]


def _claims(report: Report) -> RichTable:
    made = _rich()
    for name in ("claim", "measured") if report.quick else ("verdict", "claim", "measured"):
        made.add_column(name, overflow="fold")
    for claim in report.claims:
        verdict = [] if report.quick else [Text(claim.verdict, style=_STYLE.get(claim.verdict, "dim"))]
        made.add_row(*verdict, Text(f"{claim.text} [{claim.where}]"), Text("\n".join(report.evidence(claim))))
        made.add_section()
    return made


def _rich() -> RichTable:
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
