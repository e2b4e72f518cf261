"""Tables of simulators' options in the documentation, as cases of tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1] / "docs"
#: Problem -> a policy and a workload with which its options run.
RUNS = {
    "taskgraph": ("srpt", "synthetic:gangs:jobs=5,nodes=2"),
    "preemption": ("fitgpp", "synthetic:z:jobs=30,nodes=2"),
    "placement": ("lif-linear", "synthetic:uniform:jobs=3"),
    "quality": ("slaq", "synthetic:table1:jobs=4"),
    "workers": ("optimus", "synthetic:chic:jobs=4"),
    "rounds": ("gavel:policy=fifo_perf", "synthetic:mixed:jobs=4"),
}
#: Values of options for which a table lists none; other options take their default.
SOME = {"preemption_limit": "2", "snapshot": "60", "epoch": "5", "window": "2", "most_jobs": "3", "most_new": "2"}
#: The default that a workload of its own replaces: sources of task graphs have an option of the same name.
UNTYPED = [("movement", "given")]


class Case(NamedTuple):
    """An option of a problem's simulator with a value."""

    problem: str
    key: str
    value: str


def rows(page: str, header: str) -> list[list[str]]:
    """Return the cells of the rows of the table that starts with `header`."""
    text = next(path for path in DOCS.rglob("*.md") if path.as_posix().endswith(f"/{page}.md")).read_text()
    _, found, after = text.partition(f"{header}\n")
    assert found, f"{page}: has the table {header}"
    lines = after.splitlines()[1:]
    end = next((k for k, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[:end]]


def cases(*problems: str) -> list[Case]:
    """Return every option in the tables of these problems, with each of its values."""
    found = []
    for problem in problems:
        for first, values, default, _ in rows(
            "problems/simulator", f"<!-- options {problem} -->\n| option | values | default | meaning |"
        ):
            key = first.strip("`")
            listed = re.findall(r"`([^`]+)`", values) or [SOME.get(key) or default.strip("`")]
            found += [Case(problem, key, value) for value in listed if (key, value) not in UNTYPED]
    return found
