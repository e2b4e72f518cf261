"""Table of a collection, as Markdown."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlsched.api.exact import trivial_bound
from mlsched.benchmark.collection.entry import DIGITS, Entry, entries, read_description
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
#: Explanation of the two kinds of bounds below the table's title.
LEGEND = (
    "A proven bound is certified, or follows from the statement without a search. "
    "An unconfirmed bound is what a solver said; a better plan removes it."
)
#: Characters with a meaning in Markdown or HTML.
_SPECIAL_CHARACTERS = re.compile(r"([\\`*_{}\[\]<>#|&~!$])")


def markdown_table(folder: Path) -> str:
    """Return one line per entry; names and descriptions are escaped."""
    description = read_description(folder)
    lines = [f"# {escape_markdown(description['name'])}", "", escape_markdown(description["doc"]), "", LEGEND, ""]
    lines += [_row([*COLUMNS, "by"]), _row(["---"] * 3 + ["---:"] * 4 + ["---"] * 2)]
    lines += [_row(_entry_cells(entry)) for entry in entries(folder)]
    return "\n".join([*lines, ""])


def _entry_cells(entry: Entry) -> list[str]:
    name, certified = entry.objective.name, entry.evidence == "certified"
    proven = entry.bound if certified else trivial_bound(entry.instance, name)
    goal, rank = entry.objective, entry.instance.primary(name)
    gap = "–"
    if proven is not None:
        gap_to_bound = gap_between(entry.value, proven, sense=goal.sense, unit=goal.unit, primary=rank)
        base_values = (v if rank is None else rank.split(v)[1] for v in (entry.value, proven))
        gap = format_percentage(relative_gap(*base_values)) if gap_to_bound.primary is None else str(gap_to_bound)
    unconfirmed_bound = None if certified else entry.bound
    cells = [entry.instance.problem, entry.instance.hash[:DIGITS], name]
    cells += [format_value(entry.value, rank), format_value(proven, rank), gap]
    return [
        *cells,
        format_value(unconfirmed_bound, rank),
        entry.evidence or "open",
        escape_markdown(str(entry.history[-1]["by"])),
    ]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    """Escape foreign text for Markdown, so that it cannot end a cell or start markup."""
    return _SPECIAL_CHARACTERS.sub(r"\\\1", text)


def write_table(folder: Path) -> None:
    """Write `TABLE.md`."""
    text = markdown_table(folder)
    with atomic_write(os.fspath(folder / "TABLE.md")) as stream:
        stream.write(text)
