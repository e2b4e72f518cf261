"""Every option in a table of the documentation exists, takes each value that the table names, and refuses others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import log_examples as logs
import pytest

DOCS = Path(__file__).parents[2] / "docs"
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
OF_LOGS = "| `--set` | what it does | without it |"
NODES = "name,gpus,partition,model\n" + "".join(f"n{k},16,a100|v100,{'a100' if k < 2 else 'v100'}\n" for k in range(4))


class Case(NamedTuple):
    """A row's option with a value; the page that it is on."""

    page: str
    key: str
    value: str


def rows(page: str, header: str) -> list[list[str]]:
    """The cells of a table's rows."""
    _, found, after = (DOCS / f"{page}.md").read_text().partition(f"{header}\n")
    assert found, f"{page}: has the table {header}"
    lines = after.splitlines()[1:]
    end = next((k for k, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[:end]]


def cases() -> list[Case]:
    """Every option of every simulator's table, with each of its values."""
    found = []
    for page, (header, _, _) in TABLES.items():
        for first, *others in rows(page, header):
            for key in re.findall(r"`(\w+)`", first):
                values = [value for cell in others for value in _values(cell)] or [SOME[key]]
                found += [Case(page, key, value) for value in dict.fromkeys([*values, SOME.get(key, values[0])])]
    return found


def _values(cell: str) -> list[str]:
    """The values at the beginning of a cell, and behind its semicolons."""
    parts = [re.match(r"(?:any, )?`([\w-]+)`|(true|false|[0-9]+)\b", part.strip()) for part in cell.split(";")]
    return [match[1] or match[2] for match in parts if match]


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.page}-{case.key}-{case.value}")
def test_an_option_of_a_simulator(cli, case: Case) -> None:
    _, policy, source = TABLES[case.page]
    found = cli("simulate", policy, "--trace", source, "--set", f"{case.key}={case.value}", "--json")
    assert found.status == 0, found.err


@pytest.mark.parametrize(
    "case", list({(c.page, c.key): c for c in cases()}.values()), ids=lambda c: f"{c.page}-{c.key}"
)
def test_another_value_is_refused_by_name(cli, case: Case) -> None:
    _, policy, source = TABLES[case.page]
    cli("simulate", policy, "--trace", source, "--set", f"{case.key}=nonsense").refused(case.key)


def of_logs() -> list[str]:
    return [given for first, *_ in rows("own-logs-runs", OF_LOGS) for given in re.findall(r"`(\w+=[^`]+)`", first)]


@pytest.mark.parametrize("given", of_logs())
def test_an_option_of_a_log(cli, write, given: str) -> None:
    log, nodes = write(logs.SACCT, "jobs.txt"), write(NODES, "nodes.csv")
    key, _, value = given.partition("=")
    if value == "FILE":
        value = write("node,from,to\nn0,2024-03-01T08:30:00,2024-03-01T08:45:00\n", "failures.csv")
    elif key == "classes" and value != "log":
        value = "high/normal/low"
    found = cli("simulate", "fifo", "--trace", log, "--cluster", nodes, "--set", f"{key}={value}", "--json")
    assert found.status == 0, found.err
    cli("simulate", "fifo", "--trace", log, "--cluster", nodes, "--set", f"{key}=no/thing").refused("no/thing")


def test_jobs_end_at_their_time_limit(cli, write) -> None:
    log = write("submit,duration,gpus,time_limit\n0,600,1,120\n0,60,1,120\n", "log.csv")
    for given, total in (((), 660), (("--set", "limits=kill"), 180)):
        found = cli("simulate", "fifo", "--trace", log, "--cluster", "1x(8gpu)", "--set", "tick=1", *given, "--json")
        assert found.document["runs"][0]["summary"]["total_jct"] == total
