"""An experiment's report in a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from mlsched_papers.report import QUICK_VERDICT, Report, Table

#: The style of a verdict; all others are dim.
_STYLE = {"holds": "green", "does not hold": "red", "depends on the interpretation": "yellow"}
#: Signs: a terminal, and what the name of a row and the kind of its numbers ("deviation") take of it.
ACROSS, NAME, KIND = 80, 16, 11
_LINE_STYLE = {"measured": "bold"}


def render(report: Report) -> list[Any]:
    """What to print, in order: title, interpretations, tables, claims. Figures are in the HTML report and the JSON."""
    found: list[Any] = [
        Text(report.title, style="bold"),
        Text(report.summary, style="bold"),
        *(Text(sentence) for sentence in report.interpretations),
        Text(""),
    ]
    if report.quick:  # what it can say of the claims stands before its tables of few small workloads
        found += _claims(report)
    for table in report.tables:
        found += _table(table)
    if not report.quick:
        found += _claims(report)
    names = ", ".join(dict.fromkeys(figure.name for figure in report.figures))
    if names:
        found.append(Text(f"{names}: in the HTML report and in the JSON"))
    return found


def _table(table: Table) -> list[Any]:
    title, note = f"{table.name}: {table.title}", [Text(table.note, style="dim"), Text("")] if table.note else []
    if not table.rows:
        return [Text(title, style="bold"), *note]
    return [Text(title, style="bold"), *(_part(table, columns) for columns in _parts(table)), *note]


def _parts(table: Table) -> list[range]:
    """The columns of numbers, cut into as many parts as it takes for each to fit a terminal."""
    parts, taken = [range(1, 1)], 0
    for column in range(1, len(table.header)):
        width = _width(table, column) + 2
        if taken and taken + width > ACROSS - NAME:
            parts.append(range(column, column))
            taken = 0
        parts[-1], taken = range(parts[-1].start, column + 1), taken + width
    return parts


def _width(table: Table, column: int) -> int:
    """Of the column's longest number, or the longest word of its title."""
    return max(map(len, [*table.header[column].split(), *(line[column + 1] for line in table.lines())]))


def _part(table: Table, columns: range) -> RichTable:
    """Some columns; where they take much room, a row's name stands above its numbers."""
    beside = sum(_width(table, column) + 2 for column in columns) <= ACROSS - NAME - KIND
    made = _rich()
    made.add_column(Text(table.header[0]))
    if beside:
        made.add_column("", min_width=KIND - 2)
    for column in columns:
        made.add_column(Text(table.header[column]), justify="right", min_width=_width(table, column))
    for index, (label, kind, *cells) in enumerate(table.lines()):
        if label and index:
            made.add_section()
        if label and not beside:
            made.add_row(Text(label), style="bold")
        first = [label, kind] if beside else [kind]
        numbers = [cells[column - 1].replace(" ", "\u00a0") for column in columns]
        made.add_row(*map(Text, (*first, *numbers)), style=_LINE_STYLE.get(kind, "dim"))
    return made


def _claims(report: Report) -> list[Any]:
    made = _rich()
    for name in (QUICK_VERDICT if report.quick else "verdict", "claim", "measured"):
        made.add_column(name, overflow="fold")
    for claim in report.claims:
        verdict = report.recorded.get(claim.name, "") if report.quick else claim.verdict
        shown = Text(verdict, style=_STYLE.get(verdict, "dim"))
        made.add_row(shown, Text(f"{claim.text} [{claim.where}]"), Text("\n".join(report.measurements(claim))))
        made.add_section()
    return [Text("Claims, with the range of their evidence", style="bold"), Text(report.rule), made]


def _rich() -> RichTable:
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
