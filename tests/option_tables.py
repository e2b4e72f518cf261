"""Tables of simulators' options in the documentation, as cases of tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
#: Page -> the first line of its table of options, and what runs with them.
TABLES = {
    "preemption-simulation": ("| option | default | others |", "fitgpp", "synthetic:z:jobs=30,nodes=2"),
    "placement-simulation": ("| option (`--set`) | default | others |", "lif-linear", "synthetic:uniform:jobs=3"),
    "quality-simulation": ("| option (`--set`) | default | others |", "slaq", "synthetic:table1:jobs=4"),
    "workers-simulation": ("| option (`--set`) | default | others |", "optimus", "synthetic:chic:jobs=4"),
    "rounds-simulation": ("| option | as printed | as meant |", "gavel:policy=fifo_perf", "synthetic:mixed:jobs=4"),
}
#: Values of options for which a table names none, or numbers without one.
SOME = {"preemption_limit": "2", "snapshot": "60", "epoch": "5", "window": "2", "most_jobs": "3", "most_new": "2",
        "least": "1"}  # fmt: skip


class Case(NamedTuple):
    """A row's option with a value; the page that it is on."""

    page: str
    key: str
    value: str


def rows(page: str, header: str) -> list[list[str]]:
    """The cells of a table's rows."""
    _, found, after = next(DOCS.rglob(f"{page}.md")).read_text().partition(f"{header}\n")
    assert found, f"{page}: has the table {header}"
    lines = after.splitlines()[1:]
    end = next((k for k, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[:end]]


def cases(*pages: str) -> list[Case]:
    """Every option in the tables of these pages, with each of its values."""
    found = []
    for page in pages:
        header = TABLES[page][0]
        for first, *others in rows(page, header):
            for key in re.findall(r"`(\w+)`", first):
                values = [value for cell in others for value in _values(cell)] or [SOME[key]]
                found += [Case(page, key, value) for value in dict.fromkeys([*values, SOME.get(key, values[0])])]
    return found


def _values(cell: str) -> list[str]:
    """The values at the beginning of a cell, and behind its semicolons."""
    parts = [re.match(r"(?:any, )?`([\w-]+)`|(true|false|[0-9]+)\b", part.strip()) for part in cell.split(";")]
    return [match[1] or match[2] for match in parts if match]
