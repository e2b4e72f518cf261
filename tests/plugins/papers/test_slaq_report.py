"""The SLAQ experiment end to end, at a tiny size: complete, serialisable, the same for any number of workers."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest
from draws import draws
from rich.console import Console

from mlsched.core.errors import InvalidInput, SolverError
from mlsched.simulation.run import Run
from mlsched_papers import EXPERIMENTS, render, reproduce
from mlsched_papers.runs import measure_all
from mlsched_papers.slaq import grid as g
from mlsched_papers.slaq import paper
from mlsched_papers.slaq.claims import STATEMENTS
from mlsched_papers.slaq.measure import run_case

TINY = {"quick": True, "jobs": draws(3, 6), "seeds": 2}
GRID = dataclasses.replace(g.QUICK, jobs=6, seeds=1, variants=(), sweeps=())


@pytest.fixture(scope="module")
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(g, "QUICK", dataclasses.replace(g.QUICK, scales=(draws(400, 4000),)))
        return reproduce("slaq", **TINY)


def test_the_experiment_is_found_by_scanning():
    assert EXPERIMENTS["slaq"].name == "slaq"
    assert EXPERIMENTS["slaq"].doc


def test_every_table_figure_and_claim_is_there(tiny):
    names = [table.name for table in tiny.tables]
    assert list(dict.fromkeys(names)) == [
        "Figure 1",
        "Figure 6",
        "Figure 7",
        "Figure 7, other arithmetic",
        "Figure 8",
        "Figure 9",
        "Figure 10(a)",
        "Figure 10(c)",
    ]
    assert names.count("Figure 7") == 1 + len(g.QUICK.interpretations) + len(g.QUICK.variants) + len(g.QUICK.departures)
    assert [figure.name for figure in tiny.figures] == [f"Figure {n}" for n in (1, 3, 5, 6, 7, 8, 9, 10)]
    assert [claim.name for claim in tiny.claims] == [s.name for s in STATEMENTS]
    assert tiny.verdicts() == {}
    for table in tiny.tables:
        assert all(len(numbers) == len(table.header) - 1 for _, numbers in table.rows)


def test_measured_stands_beside_the_papers(tiny):
    cuts = next(table for table in tiny.tables if table.name == "Figure 7")
    printed = [number.paper for number in cuts.rows[0][1]]
    assert printed == [paper.AVERAGE_LOSS_CUT, None, paper.CUT_90, paper.CUT_95, None, None, None]
    assert "1.81" in cuts.note
    other = next(table for table in tiny.tables if table.name == "Figure 7, other arithmetic")
    assert [number.paper for number in other.rows[0][1]] == [73, 73, paper.CUT_90, paper.CUT_95, None]
    absolute = dict(next(table for table in tiny.tables if table.title.startswith("averages over jobs")).rows)
    assert [number.paper for number in absolute["fair"]][2:4] == [paper.FAIR_90, paper.FAIR_95]
    assert set(absolute) == {policy.label for policy in g.ALL}


def test_the_assumptions_are_stated(tiny):
    text = " ".join(tiny.interpretations)
    assert "Fig. 10(b) is an assumption" in text
    assert "passed the independent replay check" in text
    assert "core-seconds" in text


def test_verdicts_that_need_no_run(tiny):
    verdicts = {claim.name: claim.verdict for claim in tiny.claims}
    assert verdicts["cpu-time-constant"] == "assumed"
    assert verdicts["average-loss-possible"] == "depends on the interpretation"
    assert verdicts["contention-consistent"] == "does not hold"


def test_the_report_can_be_written(tiny):
    document = json.loads(json.dumps(tiny.to_json(), allow_nan=False))
    assert document["kind"] == "experiment.report"
    console = Console(file=io.StringIO(), width=160)
    for part in render(tiny, verbose=True):
        console.print(part)
    assert "No verdicts" in console.file.getvalue()
    drawn = tiny.figures[:: draws(3, 1)]
    assert dataclasses.replace(tiny, figures=drawn).to_html().count("<svg") == len(drawn)


def timeless(metrics):
    """Everything but the CPU time of decisions."""
    return {
        case: ({k: v for k, v in found.values.items() if k != "cpu_ms"}, found.curves, found.remarks)
        for case, found in metrics.items()
    }


@pytest.mark.slow
def test_the_measurements_are_the_same_for_any_number_of_workers(two_workers):
    cases, steps = g.cases(GRID)[:: draws(5, 1)], []
    alone = measure_all(run_case, cases, GRID, progress=lambda done, total: steps.append((done, total)))
    assert list(alone) == cases
    assert steps == [(n, len(cases)) for n in range(len(cases) + 1)]
    assert timeless(measure_all(run_case, cases, GRID, workers=2)) == timeless(alone)


def test_a_run_that_fails_its_check_is_not_reported(monkeypatch):
    monkeypatch.setattr(Run, "violations", lambda self: ["capacity: something"])
    with pytest.raises(SolverError, match="capacity: something"):
        measure_all(run_case, g.cases(GRID)[:1], GRID)


def test_fair_looks_at_no_prediction():
    """Which is why none is made for it."""
    case = next(c for c in g.cases(GRID) if c.policy == g.FAIR)
    predicted = dataclasses.replace(case, policy=g.Policy("fair", "fair"))
    first, second = (timeless({case: run_case(each, GRID)})[case] for each in (case, predicted))
    assert first == second


def test_a_trace_that_is_no_learning_curves_is_refused():
    with pytest.raises(InvalidInput, match="learning curves as LAYOUT:PATH"):
        reproduce("slaq", trace="x.csv")


def test_sizes():
    full = g.cases(g.FULL)
    assert len(full) == len(set(full))
    assert g.FULL.seeds == 10
    assert {
        c.seed for c in full if c.policy in g.PAIR and c.interpretation in (*g.FULL.interpretations, *g.FULL.variants)
    } == set(range(10))
    assert {c.seed for c in full if c.policy == g.EXACT or c.interpretation in g.FULL.departures} == set(
        range(g.FULL.few)
    )
    assert {c.mean_arrival for c in full} == {15.0, *g.ARRIVALS}
    assert {r.load for r in (*g.FULL.interpretations, *g.FULL.variants)} == {0.8, 0.85, 0.9, 0.95, 1.0, 1.2}
    assert {r.cap for r in g.FULL.departures} == {0, 64}
    every = [*g.FULL.interpretations, *g.FULL.variants, *g.FULL.departures, *g.FULL.sweeps]
    assert len({r.name for r in every}) == len(every)
