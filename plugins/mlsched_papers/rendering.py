"""An experiment's report in a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from mlsched_papers.report import QUICK_VERDICT, Report, Table

#: The style of a verdict; all others are dim.
_STYLE = {"holds": "green", "does not hold": "red", "depends on the interpretation": "yellow"}
#: Characters: width of a terminal, of the name of a row, and of the kind of its numbers ("deviation").
ACROSS, NAME, KIND = 80, 16, 11
_LINE_STYLE = {"measured": "bold"}


def render(report: Report) -> list[Any]:
    """Return title, interpretations, tables and claims, in print order. Figures are in the HTML report and the JSON."""
    result: list[Any] = [
        Text(report.title, style="bold"),
        Text(report.summary, style="bold"),
        *(Text(sentence) for sentence in report.interpretations),
        Text(""),
    ]
    if report.quick:  # its statement on claims comes before its tables of few small workloads
        result += _claims(report)
    for table in report.tables:
        result += _table(table)
    if not report.quick:
        result += _claims(report)
    names = ", ".join(dict.fromkeys(figure.name for figure in report.figures))
    if names:
        result.append(Text(f"{names}: in the HTML report and in the JSON"))
    return result


def _table(table: Table) -> list[Any]:
    title, note = f"{table.name}: {table.title}", [Text(table.note, style="dim"), Text("")] if table.note else []
    if not table.rows:
        return [Text(title, style="bold"), *note]
    return [Text(title, style="bold"), *(_part(table, columns) for columns in _parts(table)), *note]


def _parts(table: Table) -> list[range]:
    """Split the columns of numbers into parts that each fit a terminal."""
    parts, selection = [range(1, 1)], 0
    for column in range(1, len(table.header)):
        width = _width(table, column) + 2
        if selection and selection + width > ACROSS - NAME:
            parts.append(range(column, column))
            selection = 0
        parts[-1], selection = range(parts[-1].start, column + 1), selection + width
    return parts


def _width(table: Table, column: int) -> int:
    """Return the width of the column's longest number, or of the longest title word."""
    return max(map(len, [*table.header[column].split(), *(line[column + 1] for line in table.lines())]))


def _part(table: Table, columns: range) -> RichTable:
    """Return some columns as a table; if they are wide, a row's name is above its numbers."""
    beside = sum(_width(table, column) + 2 for column in columns) <= ACROSS - NAME - KIND
    output = _rich()
    output.add_column(Text(table.header[0]))
    if beside:
        output.add_column("", min_width=KIND - 2)
    for column in columns:
        output.add_column(Text(table.header[column]), justify="right", min_width=_width(table, column))
    for index, (label, kind, *cells) in enumerate(table.lines()):
        if label and index:
            output.add_section()
        if label and not beside:
            output.add_row(Text(label), style="bold")
        first = [label, kind] if beside else [kind]
        numbers = [cells[column - 1].replace(" ", "\u00a0") for column in columns]
        output.add_row(*map(Text, (*first, *numbers)), style=_LINE_STYLE.get(kind, "dim"))
    return output


def _claims(report: Report) -> list[Any]:
    output = _rich()
    for name in (QUICK_VERDICT if report.quick else "verdict", "claim", "measured"):
        output.add_column(name, overflow="fold")
    for claim in report.claims:
        verdict = report.recorded.get(claim.name, "") if report.quick else claim.verdict
        display = Text(verdict, style=_STYLE.get(verdict, "dim"))
        output.add_row(display, Text(f"{claim.text} [{claim.where}]"), Text("\n".join(report.measurements(claim))))
        output.add_section()
    return [Text("Claims, with the range of their evidence", style="bold"), Text(report.rule), output]


def _rich() -> RichTable:
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
