"""The Harmony experiment end to end, at a tiny size: complete, serialisable, the same for any number of workers."""

from __future__ import annotations

import dataclasses
import io
import json
from collections import Counter

import pytest
from draws import draws
from rich.console import Console

from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.registry import registry
from mlsched.core.solver import Solver
from mlsched.simulation.run import Run
from mlsched_papers import EXPERIMENTS, render, reproduce
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony import paper, studies
from mlsched_papers.harmony.claims import STATEMENTS
from mlsched_papers.harmony.measure import run_case
from mlsched_papers.runs import measure_all

GRID = dataclasses.replace(g.QUICK, jobs=5, seeds=1)


@pytest.fixture(scope="module")
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(g, "QUICK", dataclasses.replace(g.QUICK, samples=draws(150, 1500)))
        return reproduce("harmony", quick=True, jobs=draws(2, 6), seeds=2)


def test_the_experiment_is_found_by_scanning():
    assert EXPERIMENTS["harmony"].name == "harmony"
    assert EXPERIMENTS["harmony"].doc


@pytest.mark.slow
def test_every_table_figure_and_claim_is_there(tiny):
    names = [table.name for table in tiny.tables]
    assert list(dict.fromkeys(names)) == [f"Figure {n}" for n in (1, 2, 3, 4, 5, 8, 9)]
    assert names.count("Figure 8") == 2 * len(g.QUICK.interpretations)
    assert names.count("Figure 9") == 3
    assert [figure.name for figure in tiny.figures] == [f"Figure {n}" for n in (1, 2, 4, 5, 8, 9)]
    assert [claim.name for claim in tiny.claims] == [s.name for s in STATEMENTS]
    assert tiny.verdicts() == {}
    for table in tiny.tables:
        assert all(len(numbers) == len(table.header) - 1 for _, numbers in table.rows)


@pytest.mark.slow
def test_every_registered_rule_and_the_exact_solver_are_rows(tiny):
    table = next(table for table in tiny.tables if table.name == "Figure 8")
    assert [label for label, _ in table.rows] == [policy.label for policy in g.policies()]
    others = [policy for policy in g.policies() if policy.kind not in ("interpretation", "former")]
    assert len(others) == len(registry().available("placement", "heuristic")) + 1 + len(
        registry().available("placement", "trained")
    )
    assert [*table.header[1::2]] == list(g.PATTERNS)


@pytest.mark.slow
def test_the_assumptions_are_stated(tiny):
    text = " ".join(tiny.interpretations)
    for words in ("passed the independent replay check", "stand-in", "synthetic", "prints no lengths of jobs"):
        assert words in text


@pytest.mark.slow
def test_the_report_can_be_written(tiny):
    document = json.loads(json.dumps(tiny.to_json(), allow_nan=False))
    assert document["kind"] == "experiment.report"
    console = Console(file=io.StringIO(), width=160)
    for part in render(tiny, verbose=True):
        console.print(part)
    assert "No verdicts" in console.file.getvalue()
    drawn = tiny.figures[:: draws(3, 1)]
    assert dataclasses.replace(tiny, figures=drawn).to_html().count("<svg") == len(drawn)


def test_a_trained_policy_appears_by_itself(monkeypatch):
    """Registered, it is a row: no file of the experiment names it."""
    rule = registry().solvers["placement", "bin-packing"]
    learned: Solver = dataclasses.replace(rule, name="of-others", kind="trained")
    monkeypatch.setitem(registry().solvers, ("placement", "of-others"), learned)
    assert g.Policy("of-others", "of-others", "trained") in g.policies()
    cases = [c for c in g.cases(GRID) if c.policy.text == "of-others"]
    assert {c.pattern for c in cases} == set(g.PATTERNS)
    assert run_case(cases[0], GRID).values["average_completion"] > 0
    rack = dataclasses.replace(GRID, rack=g.FULL.rack)
    kinds = {c.policy.kind for c in g.cases(rack) if c.interpretation == g.FULL.rack}
    assert kinds == {"baseline", "interpretation", "random", "rule", "trained"}
    assert [c.policy.text for c in g.cases(rack) if c.interpretation == g.FULL.rack and c.policy.kind == "rule"] == [
        g.PLUS
    ]


def timeless(metrics):
    """Everything but the CPU time of decisions."""
    return {
        case: ({k: v for k, v in found.values.items() if k != "cpu_ms"}, found.remarks)
        for case, found in metrics.items()
    }


@pytest.mark.slow
def test_the_measurements_are_the_same_for_any_number_of_workers(two_workers):
    cases, steps = [c for c in g.cases(GRID) if c.pattern == "uniform"][:: draws(9, 1)], []
    alone = measure_all(run_case, cases, GRID, progress=lambda done, total: steps.append((done, total)))
    assert list(alone) == cases
    assert steps == [(n, len(cases)) for n in range(len(cases) + 1)]
    assert timeless(measure_all(run_case, cases, GRID, workers=2)) == timeless(alone)


def test_the_exact_solver_says_what_it_proved():
    case = next(c for c in g.cases(GRID) if c.policy == g.EXACT)
    assert run_case(case, GRID).values["proven"] == 100.0
    assert "proven" not in run_case(dataclasses.replace(case, policy=g.LOAD_BALANCING), GRID).values


def test_a_run_that_fails_its_check_is_not_reported(monkeypatch):
    monkeypatch.setattr(Run, "violations", lambda self: ["capacity: something"])
    with pytest.raises(SolverError, match="capacity: something"):
        measure_all(run_case, g.cases(GRID)[:1], GRID)


def test_a_trace_is_refused():
    with pytest.raises(InvalidInput, match="trace"):
        reproduce("harmony", trace="x.csv")


def test_sizes():
    full = g.cases(g.FULL)
    assert len(full) == len(set(full))
    assert len({r.name for r in g.FULL.interpretations}) == len(g.FULL.interpretations)
    assert g.FULL.samples == paper.SAMPLES
    assert {c.pattern for c in full} == set(g.PATTERNS)
    assert set(studies.NAMES) >= {studies.FIRST, *studies.SECONDS}


def test_the_first_reading_may_have_more_workloads_than_the_others():
    grid = dataclasses.replace(g.FULL, seeds=4, few=2, rack_seeds=3)
    counted = Counter(case.interpretation for case in g.cases(grid) if case.policy == g.LOAD_BALANCING)
    assert {interpretation.name: n // len(interpretation.patterns) for interpretation, n in counted.items()} == {
        interpretation.name: {g.BASE: 4, g.FULL.rack: 3}.get(interpretation, 2)
        for interpretation in (*grid.interpretations, grid.rack)
    }
    assert dataclasses.replace(grid, seeds=1).workloads(g.FULL.rack) == 1


@pytest.mark.parametrize("policy", [*g.INTERPRETATIONS, *g.FORMER])
def test_every_reading_of_a_baseline_runs(policy):
    case = g.Case(g.BASE, "uniform", 0, policy)
    assert run_case(case, GRID).values["average_completion"] > 0
    name, parameters = registry().solver("placement", policy.text)
    assert parameters != registry().solver("placement", name.name)[1]
