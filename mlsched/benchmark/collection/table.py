"""The table of a collection, as Markdown."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlsched.api.exact import trivial_bound
from mlsched.benchmark.collection.entry import DIGITS, Entry, described, entries
from mlsched.core.contract import format_value
from mlsched.core.files import atomic_write
from mlsched.core.gap import format_percentage, gap_between
from mlsched.core.result import relative_gap

COLUMNS = (
    "problem",
    "instance",
    "objective",
    "best known",
    "proven bound",
    "gap to it",
    "unconfirmed bound",
    "evidence",
)
#: What is said below the table's title of the two kinds of bound.
LEGEND = (
    "A proven bound is certified, or follows from the statement without a search. "
    "An unconfirmed bound is what a solver said; a better plan removes it."
)
#: What means something in Markdown or HTML.
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|&~!$])")


def text_table(folder: Path) -> str:
    """A line an entry. What people wrote (names, the description) stands there as text, whatever it looks like."""
    said = described(folder)
    lines = [f"# {plain(said['name'])}", "", plain(said["doc"]), "", LEGEND, ""]
    lines += [_row([*COLUMNS, "by"]), _row(["---"] * 3 + ["---:"] * 4 + ["---"] * 2)]
    lines += [_row(_cells(entry)) for entry in entries(folder)]
    return "\n".join([*lines, ""])


def _cells(entry: Entry) -> list[str]:
    name, certified = entry.objective.name, entry.evidence == "certified"
    proven = entry.bound if certified else trivial_bound(entry.instance, name)
    goal, rank = entry.objective, entry.instance.primary(name)
    gap = "–"
    if proven is not None:
        behind = gap_between(entry.value, proven, sense=goal.sense, unit=goal.unit, primary=rank)
        same = (v if rank is None else rank.split(v)[1] for v in (entry.value, proven))
        gap = format_percentage(relative_gap(*same)) if behind.primary is None else str(behind)
    claimed = None if certified else entry.bound
    cells = [entry.instance.problem, entry.instance.hash[:DIGITS], name]
    cells += [format_value(entry.value, rank), format_value(proven, rank), gap]
    return [*cells, format_value(claimed, rank), entry.evidence or "open", plain(str(entry.history[-1]["by"]))]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """Text of others as Markdown that shows it as it is, and neither ends a cell nor begins anything."""
    return _SIGNS.sub(r"\\\1", text)


def write_table(folder: Path) -> None:
    """Write `TABLE.md`."""
    text = text_table(folder)
    with atomic_write(os.fspath(folder / "TABLE.md")) as stream:
        stream.write(text)
