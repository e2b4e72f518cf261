"""The gap table in a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mlsched.benchmark.formats import apart_notes, apart_text, count_or_blank, duration, gap, percent
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import GapLine, gap_lines

#: Mark of shares of proofs of which some are unconfirmed, explained below the table.
UNCONFIRMED_MARK = "*"
UNCONFIRMED_NOTE = "* Some of these proofs rest on one engine's word: unconfirmed."
_STYLE = {"exact": "", "heuristic": "cyan", "trained": "magenta"}


def gap_table(rows: Sequence[Row]) -> list[RenderableType]:
    """Return one table per problem and objective, with a section per preset; empty without rows.

    Column "n" is the number of instances in the mean "gap" and the largest, "max", out of the total if that differs.
    Gaps without a percentage have their own columns; a legend follows the last table of each problem.
    `formats.GAP_NOTE` defines the gap.
    """
    lines = gap_lines(rows)
    renderables: list[RenderableType] = []
    for problem in dict.fromkeys(line.problem for line in lines):
        own = [line for line in lines if line.problem == problem]
        for objective, unit in dict.fromkeys((line.objective, line.unit) for line in own):
            renderables += [
                _table(f"{problem}: {objective} [{unit}]", [x for x in own if x.objective == objective]),
                "",
            ]
        if notes := _notes(own):
            renderables += [Text(" ".join(notes), style="dim"), ""]
    return renderables


def _notes(lines: Sequence[GapLine]) -> list[str]:
    notes = apart_notes(line.gaps for line in lines)
    return notes + [UNCONFIRMED_NOTE] * any(line.confirmed is not None and line.confirmed < 1 for line in lines)


def _table(title: str, lines: Sequence[GapLine]) -> Table:
    # Empty columns are omitted, so that the table fits 80 columns.
    failed, skipped = any(x.failures for x in lines), any(x.skipped for x in lines)
    zero, behind = any(x.gaps.absolute for x in lines), any(x.gaps.behind for x in lines)
    gap_table_ = Table(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
    )
    for name in ("preset", "solver"):
        gap_table_.add_column(name, overflow="fold")
    names = ["n", "optimal", "gap", "max", *["optimum 0"] * zero, *["behind"] * behind, "proven", "time"]
    for name in names:
        gap_table_.add_column(name, justify="right", no_wrap=True)
    for name, visible in (("fail", failed), ("skip", skipped)):
        if visible:
            gap_table_.add_column(name, justify="right", style="red" if name == "fail" else "dim")
    for i, line in enumerate(lines):
        starts = i == 0 or lines[i - 1].preset != line.preset
        if starts and i:
            gap_table_.add_section()
        cells = [line.preset if starts else "", break_name(line.solver)]
        gap_table_.add_row(
            *map(Text, cells), *_number_cells(line, zero, behind, failed, skipped), style=_STYLE[line.kind]
        )
    return gap_table_


def break_name(name: str, most: int = 20) -> str:
    """Break a long name after colons or commas: `my_rules:` above `shortest_notice`."""
    lines = [""]
    for part in re.findall(r"[^:,]*[:,]|[^:,]+", name):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _number_cells(line: GapLine, zero: bool, behind: bool, failed: bool, skipped: bool) -> list[str]:
    gaps = line.gaps
    cells = [line.covered.replace(" of ", "/"), percent(gaps.optimal), gap(gaps.mean), gap(gaps.largest)]
    cells += [apart_text(gaps.absolute, gaps.mean_difference)] * zero + [
        apart_text(gaps.behind, gaps.mean_behind)
    ] * behind
    has_unconfirmed = line.confirmed is not None and line.confirmed < 1
    proven = f"{percent(line.proven)} {UNCONFIRMED_MARK}" if has_unconfirmed else percent(line.proven)
    cells += [proven if line.label == "exact" else "", duration(line.seconds)]
    return cells + [count_or_blank(line.failures)] * failed + [count_or_blank(line.skipped)] * skipped
