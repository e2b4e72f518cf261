"""The gap table in a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mlsched.benchmark.formats import apart, apart_notes, count, duration, gap, percent
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import GapLine, gap_lines

#: Marks shares of proofs that are not all confirmed or certified, and says so below the table.
CLAIMED = "*"
UNCONFIRMED_NOTE = "* Some of these proofs rest on one engine's word: unconfirmed."
_STYLE = {"exact": "", "heuristic": "cyan", "trained": "magenta"}


def gap_table(rows: Sequence[Row]) -> list[RenderableType]:
    """One table per problem and objective; a section per preset. Empty for no rows.

    "n" is over how many instances the mean "gap" and the largest, "max", are; where that is not all, and of how many.
    Gaps without a percentage stand in columns of their own; below the last table of a problem it is said what they are.
    `formats.GAP_NOTE` defines the others.
    """
    lines = gap_lines(rows)
    shown: list[RenderableType] = []
    for problem in dict.fromkeys(line.problem for line in lines):
        own = [line for line in lines if line.problem == problem]
        for objective, unit in dict.fromkeys((line.objective, line.unit) for line in own):
            shown += [_table(f"{problem}: {objective} [{unit}]", [x for x in own if x.objective == objective]), ""]
        if notes := _notes(own):
            shown += [Text(" ".join(notes), style="dim"), ""]
    return shown


def _notes(lines: Sequence[GapLine]) -> list[str]:
    notes = apart_notes(line.gaps for line in lines)
    return notes + [UNCONFIRMED_NOTE] * any(line.confirmed is not None and line.confirmed < 1 for line in lines)


def _table(title: str, lines: Sequence[GapLine]) -> Table:
    # Columns that would be empty are left out: the table should fit 80 columns.
    failed, skipped = any(x.failures for x in lines), any(x.skipped for x in lines)
    zero, behind = any(x.gaps.absolute for x in lines), any(x.gaps.behind for x in lines)
    made = Table(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
    )
    for name in ("preset", "solver"):
        made.add_column(name, overflow="fold")
    names = ["n", "optimal", "gap", "max", *["optimum 0"] * zero, *["behind"] * behind, "proven", "time"]
    for name in names:
        made.add_column(name, justify="right", no_wrap=True)
    for name, shown in (("fail", failed), ("skip", skipped)):
        if shown:
            made.add_column(name, justify="right", style="red" if name == "fail" else "dim")
    for i, line in enumerate(lines):
        starts = i == 0 or lines[i - 1].preset != line.preset
        if starts and i:
            made.add_section()
        cells = [line.preset if starts else "", in_lines(line.solver)]
        made.add_row(*map(Text, cells), *_numbers(line, zero, behind, failed, skipped), style=_STYLE[line.kind])
    return made


def in_lines(name: str, most: int = 20) -> str:
    """A long name on several lines, which end at a colon or comma: `my_rules:` above `shortest_notice`."""
    lines = [""]
    for part in re.findall(r"[^:,]*[:,]|[^:,]+", name):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _numbers(line: GapLine, zero: bool, behind: bool, failed: bool, skipped: bool) -> list[str]:
    gaps = line.gaps
    cells = [line.covered.replace(" of ", "/"), percent(gaps.optimal), gap(gaps.mean), gap(gaps.largest)]
    cells += [apart(gaps.absolute, gaps.mean_difference)] * zero + [apart(gaps.behind, gaps.mean_behind)] * behind
    alone = line.confirmed is not None and line.confirmed < 1
    proven = f"{percent(line.proven)} {CLAIMED}" if alone else percent(line.proven)
    cells += [proven if line.label == "exact" else "", duration(line.seconds)]
    return cells + [count(line.failures)] * failed + [count(line.skipped)] * skipped
