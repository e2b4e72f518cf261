"""Every option in a table of the documentation exists, takes each value that the table names, and refuses others."""

from __future__ import annotations

import re

import log_examples as logs
import pytest
from option_tables import RUNS, Case, cases, rows

#: The problems of the core.
PROBLEMS = ("taskgraph", "preemption", "placement", "quality", "workers")
OF_LOGS = "| `--set` | Effect | Default |"
NODES = "name,gpus,partition,model\n" + "".join(f"n{k},16,a100|v100,{'a100' if k < 2 else 'v100'}\n" for k in range(4))


@pytest.mark.parametrize("case", cases(*PROBLEMS), ids=lambda case: f"{case.problem}-{case.key}-{case.value}")
def test_an_option_of_a_simulator(cli, case: Case) -> None:
    policy, source = RUNS[case.problem]
    found = cli("simulate", policy, "--trace", source, "--set", f"{case.key}={case.value}", "--json")
    assert found.status == 0, found.err


@pytest.mark.parametrize(
    "case", list({(c.problem, c.key): c for c in cases(*PROBLEMS)}.values()), ids=lambda c: f"{c.problem}-{c.key}"
)
def test_another_value_is_refused_by_name(cli, case: Case) -> None:
    policy, source = RUNS[case.problem]
    cli("simulate", policy, "--trace", source, "--set", f"{case.key}=nonsense").refused(case.key)


def of_logs() -> list[str]:
    return [given for first, *_ in rows("assumptions", OF_LOGS) for given in re.findall(r"`(\w+=[^`]+)`", first)]


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
