"""The findings' report: every finding has its tables and claims, names are unique, progress is shared out."""

from __future__ import annotations

import json

import pytest
from draws import draws

from mlsched_papers import EXPERIMENTS, Settings, findings, reproduce
from mlsched_papers.findings import FINDINGS, min_max_grace, steady_state
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measure import Metrics

GRID = g.Grid(("z", "a"), seeds=5, jobs=1000, lengths=(250, 500))


def test_the_experiment_is_found_by_scanning():
    assert EXPERIMENTS["findings"].doc
    assert len({finding.name for finding in FINDINGS}) == len(FINDINGS)


@pytest.fixture(scope="module")
def steady():
    return steady_state.run(Settings(quick=True, jobs=512, seeds=2))


@pytest.fixture(scope="module")
def min_max():
    return min_max_grace.run(Settings(quick=True, jobs=512, seeds=2))


def test_a_report_has_all_sections(steady, min_max):
    made = findings.report([(steady_state.FINDING, steady), (min_max_grace.FINDING, min_max)])
    names = [claim.name for claim in made.claims]
    assert len(set(names)) == len(names) == len(steady.claims) + len(min_max.claims)
    assert len({table.name for table in made.tables}) == len(made.tables)
    assert made.interpretations[0].startswith("Finding a: ")
    assert json.dumps(made.to_json(), allow_nan=False)


def test_progress_is_shared_out():
    seen = []
    first, second = (findings._share(lambda done, total: seen.append((done, total)), index) for index in (0, 1))
    first(5, 10)
    second(10, 10)
    assert seen == [(500, 1000 * len(FINDINGS)), (2000, 1000 * len(FINDINGS))]


def verdicts(module, values) -> dict[str, str]:
    metrics = {case: Metrics(values(case), {}) for case in module.cases(GRID)}
    return {claim.name: claim.verdict for claim in module.section(GRID, metrics).claims}


def values(case: g.Case) -> dict[str, float]:
    """Growing backlogs, a rise that grows with the length, min-max a little faster; jittered by seed."""
    rise = {250: 1.05, 500: 1.1, 0: 1.2}[case.jobs] if "fitgpp" in case.policy.text else 1.0
    faster = 0.98 if case.policy == g.MINMAX else 1.0
    jitter = 1 + 0.001 * case.seed
    return {
        "growth": 0.0 if case.policy == g.FIFO else 0.2 * jitter,
        "lost": (0.9 if case.policy == g.FIRST else 0.5) * jitter,
        "be_p50": 3 * rise * jitter,
        "be_p95": 5 * jitter * (0.999 if case.policy == g.MINMAX else 1.0),
        "te_p95": (30.0 if case.policy == g.FIFO else 1.2) * faster * jitter,
        "te_p99": 1.5 * faster * jitter,
    }


def test_a_growing_backlog_is_found_and_a_flat_one_refutes_it():
    assert set(verdicts(steady_state, values).values()) == {"holds"}
    flat = verdicts(steady_state, lambda c: values(c) | {"growth": -0.1 - 0.001 * c.seed})
    assert flat["ours-backlog"] == "does not hold"
    shrinking = {250: 3.3, 500: 3.2, 0: 3.1}
    less = verdicts(
        steady_state,
        lambda c: values(c) | ({"be_p50": shrinking[c.jobs]} if "fitgpp" in c.policy.text else {"be_p50": 3.0}),
    )
    assert less["ours-length"] == "does not hold"
    alike = verdicts(steady_state, lambda c: values(c) | {"be_p50": 3.0})
    assert alike["ours-length"] == "undecided", "ties on every workload say nothing"


def test_faster_te_jobs_are_found_and_slower_ones_refute_it():
    assert set(verdicts(min_max_grace, values).values()) == {"holds"}
    slower = verdicts(
        min_max_grace, lambda c: values(c) | ({"te_p95": 2.0, "te_p99": 2.0} if c.policy == g.MINMAX else {})
    )
    assert (slower["minmax-te-p95"], slower["minmax-te-p99"]) == ("does not hold", "does not hold")
    dearer = verdicts(min_max_grace, lambda c: values(c) | ({"be_p95": 6.0} if c.policy == g.MINMAX else {}))
    assert dearer["minmax-be-p95"] == "does not hold"


def test_it_is_reproduced_by_name():
    made = reproduce("findings", quick=True, jobs=draws(6, 20), seeds=2)
    assert made.quick
    assert made.verdicts() == {}
    assert "no trace: give one with --trace" in " ".join(made.interpretations)
