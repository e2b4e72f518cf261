"""An experiment's report in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions
from rich.table import Table as RichTable
from rich.text import Text

from mlsched_papers.report import IF_RIGHT, QUICK_VERDICT, Report, Table
from mlsched_papers.scoreboard import COUNTED, OURS, Outcome

#: The style of a verdict; all others are dim.
_STYLE = {"holds": "green", "does not hold": "red", "depends on the interpretation": "yellow"}
#: Outcome of a claim in one line, in the words of `COUNTED`.
_LINE = dict(zip(COUNTED, ("holds", "does not hold", "undecided", "depends", "cannot be tested"), strict=True))
#: Characters: width of the name of a row, and of the kind of its numbers ("deviation").
NAME, KIND = 16, 11
_LINE_STYLE = {"measured": "bold"}


def render(report: Report, *, verbose: bool = False) -> list[Any]:
    """Return a report in print order: the paper's paragraph, then one line per claim.

    Args:
        report: The report.
        verbose: Add the interpretations, the rule of verdicts, the evidence of each claim, and the tables. Figures are
            in the HTML report and the JSON.
    """
    result: list[Any] = [Text(report.title, style="bold"), *map(Text, report.paragraph), _lines(report)]
    if not verbose:
        return [*result, Text("Evidence and tables: --verbose, --html FILE or --json.", style="dim")]
    result += [*map(Text, report.interpretations), Text("")]
    result += [Text("Claims, with the range of their evidence", style="bold"), Text(report.rule), _evidence(report)]
    for table in report.tables:
        result += [Text(f"{table.name}: {table.title}", style="bold")]
        result += [_Numbers(table)] if table.rows else []
        result += [Text(table.note, style="dim"), Text("")] if table.note else []
    names = ", ".join(dict.fromkeys(figure.name for figure in report.figures))
    return [*result, Text(f"{names}: in the HTML report and in the JSON")] if names else result


def _lines(report: Report) -> RichTable:
    """Return one line per claim, cut at the width of the terminal."""
    rows = []
    for claim in report.claims:
        known = report.outcomes.get(claim.name, Outcome(""))
        words = next((_LINE[column] for column, verdicts in COUNTED.items() if known.verdict in verdicts), "–")
        text = f"ours: {claim.text}" if claim.where == OURS else claim.text
        rows.append(
            (Text(words, style=_STYLE.get(known.verdict, "dim")), Text(known.percent), Text(text, no_wrap=True))
        )
    header = ("recorded" if report.quick else "verdict", IF_RIGHT)
    widths = [max(len(header[k]), *(len(row[k]) for row in rows)) for k in (0, 1)]
    output = _rich()
    output.add_column(header[0], no_wrap=True, min_width=widths[0])
    output.add_column(header[1], no_wrap=True, min_width=widths[1], justify="right")
    output.add_column("claim", overflow="ellipsis")
    for row in rows:
        output.add_row(*row)
    return output


class _Numbers:
    """A table of numbers, split into parts that each fit the width of the terminal."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable]:
        for columns in _parts(self.table, options.max_width):
            yield _part(self.table, columns, options.max_width)


def _parts(table: Table, width: int) -> list[range]:
    """Split the columns of numbers into parts that each fit the width."""
    parts, used = [range(1, 1)], 0
    for column in range(1, len(table.header)):
        needed = _width(table, column) + 2
        if used and used + needed > width - NAME:
            parts.append(range(column, column))
            used = 0
        parts[-1], used = range(parts[-1].start, column + 1), used + needed
    return parts


def _width(table: Table, column: int) -> int:
    """Return the width of the column's longest number, or of the longest title word."""
    return max(map(len, [*table.header[column].split(), *(line[column + 1] for line in table.lines())]))


def _part(table: Table, columns: range, width: int) -> RichTable:
    """Return some columns as a table; if they are wide, a row's name is above its numbers."""
    beside = sum(_width(table, column) + 2 for column in columns) <= width - NAME - KIND
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


def _evidence(report: Report) -> RichTable:
    """Return the evidence of each claim beside its verdict."""
    output = _rich()
    for name in (QUICK_VERDICT if report.quick else "verdict", "claim", "measured"):
        output.add_column(name, overflow="fold")
    for claim in report.claims:
        verdict = report.outcomes.get(claim.name, Outcome("")).verdict
        display = Text(verdict, style=_STYLE.get(verdict, "dim"))
        output.add_row(display, Text(f"{claim.text} [{claim.where}]"), Text("\n".join(report.measurements(claim))))
        output.add_section()
    return output


def _rich() -> RichTable:
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
