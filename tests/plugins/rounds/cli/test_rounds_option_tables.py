"""Every option in the table of rounds' simulator takes each value that the table names, and refuses others."""

from __future__ import annotations

import pytest
from option_tables import RUNS, Case, cases


@pytest.mark.parametrize("case", cases("rounds"), ids=lambda case: f"{case.problem}-{case.key}-{case.value}")
def test_an_option_of_a_simulator(cli, case: Case) -> None:
    policy, source = RUNS[case.problem]
    found = cli("simulate", policy, "--trace", source, "--set", f"{case.key}={case.value}", "--json")
    assert found.status == 0, found.err


@pytest.mark.parametrize(
    "case", list({(c.problem, c.key): c for c in cases("rounds")}.values()), ids=lambda c: f"{c.problem}-{c.key}"
)
def test_another_value_is_refused_by_name(cli, case: Case) -> None:
    policy, source = RUNS[case.problem]
    cli("simulate", policy, "--trace", source, "--set", f"{case.key}=nonsense").refused(case.key)
