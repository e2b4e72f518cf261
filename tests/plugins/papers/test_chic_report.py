"""The Chic experiment end to end, at a tiny size: complete, serialisable, the same for any number of workers."""

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
from mlsched_papers.chic import grid as g
from mlsched_papers.chic.claims import STATEMENTS
from mlsched_papers.chic.measure import run_case
from mlsched_papers.runs import measure_all

TINY = {"quick": True, "jobs": 4, "seeds": 2}
GRID = dataclasses.replace(g.QUICK, jobs=4, seeds=1, rates=(1.8,))


@pytest.fixture(scope="module")
def tiny():
    return reproduce("chic", **TINY)


def test_every_table_figure_and_claim_is_there(tiny):
    assert EXPERIMENTS["chic"].doc
    count = len(g.QUICK.interpretations)
    assert [table.name for table in tiny.tables] == (
        ["Figure 4(a)"] * 3 * count
        + ["Figure 4(b)", "Figure 4(c)"]
        + ["Figure 5"] * count
        + ["Figure 7(a)", "Figure 7(b)"]
    )
    assert [c.name for c in tiny.claims if not c.name.startswith("full-")] == [s.name for s in STATEMENTS]
    assert tiny.verdicts() == {}
    for table in tiny.tables:
        assert table.rows
        assert all(len(numbers) == len(table.header) - 1 for _, numbers in table.rows)


def test_figure_7a_has_every_training_and_both_lengths_of_test_sequences(tiny):
    table = next(table for table in tiny.tables if table.name == "Figure 7(a)")
    assert table.header[1:] == ("W = 30, 4 jobs", "W = 60, 4 jobs", "W = 30, 8 jobs", "W = 60, 8 jobs")
    rows = {label: [n.measured for n in numbers] for label, numbers in table.rows}
    for label in ("Chic", "Chic-Pair"):
        thirty, sixty = ([m.mean for m in rows[label][k::2]] for k in (0, 1))
        assert thirty != sixty
    for label in ("Chic plus (ours)", "uniform-random, I = 3", "uniform-random pairs, I = 3", "max-rate"):
        assert [m is None for m in rows[label]] == [False, True, False, True]
    first = next(table for table in tiny.tables if table.name == "Figure 4(a)")
    column = first.header.index("1.8/h") - 1
    assert dict(first.rows)["Chic"][column].measured == rows["Chic"][0]  # the very runs of the other figures
    figure = next(figure for figure in tiny.figures if figure.name == "Figure 7(a)")
    assert list(figure.panels) == ["test sequences of 4 jobs", "test sequences of 8 jobs"]
    assert all(len(xs) == len(ys) == 2 for lines in figure.panels.values() for xs, ys in lines.values())


def test_trained_policies_are_tested_at_every_rate_and_with_every_window(tiny):
    first = next(table for table in tiny.tables if table.name == "Figure 4(a)")
    windows = next(table for table in tiny.tables if table.name == "Figure 7(b)")
    assert all(n.measured for label in ("Chic", "Chic-Pair", "Chic plus (ours)") for n in dict(first.rows)[label])
    assert all(n.measured for n in dict(windows.rows)["Chic-Pair"])
    assert any(
        "Chic at 0.9, 1.8, 2.7/h" in interpretation and "Fig. 4(c)" in interpretation
        for interpretation in tiny.interpretations
    )
    once = dict(next(table for table in tiny.tables if table.name == "Figure 4(c)").rows)
    for anew, alone in ((g.CHIC, g.CHIC_ONCE), (g.CHIC_PAIR, g.CHIC_PAIR_ONCE)):
        behind = [number.measured.mean for number in once[alone.label]]
        same = [g.at_rate(anew, rate) == alone.text for rate in g.QUICK.rates]
        assert same[1], "1.8/h is where it was trained"
        assert not any(value for value, alike in zip(behind, same, strict=True) if alike)
        assert any(behind) == (not all(same)), "other weights, other runs"


def test_policies_that_are_not_there_are_named_and_not_measured(tiny):
    known = {policy.label for policy in g.trained()}
    verdicts = {claim.name: claim.verdict for claim in tiny.claims}
    for label, claim in (("Chic", "chic-12.65"), ("Chic-Pair", "chic-pair-10.08")):
        assert (verdicts[claim] == "not measured") == (label not in known)
    text = " ".join(interpretation for interpretation in tiny.interpretations if interpretation.startswith("Not there"))
    for policy in (g.CHIC, g.CHIC_PAIR, g.CHIC_PLUS, g.LP_MPC):
        assert (policy.label in text) == (not g.known(policy))


def test_the_report_can_be_written(tiny):
    document = json.loads(json.dumps(tiny.to_json(), allow_nan=False))
    assert document["kind"] == "experiment.report"
    console = Console(file=io.StringIO(), width=160)
    for part in render(tiny, verbose=True):
        console.print(part)
    assert "Optimus, event-triggered" in console.file.getvalue()
    drawn = tiny.figures[:: draws(6, 1)]
    assert dataclasses.replace(tiny, figures=drawn).to_html().count("<svg") == len(drawn)


def timeless(metrics):
    """Everything but CPU times."""
    return {
        case: ({k: v for k, v in found.values.items() if not k.endswith(("_ms", "runtime_s"))}, found.completion)
        for case, found in metrics.items()
    }


@pytest.mark.slow
def test_the_measurements_are_the_same_for_any_number_of_workers(two_workers):
    cases, steps = g.cases(GRID)[:: draws(16, 1)], []
    alone = measure_all(run_case, cases, GRID, progress=lambda done, total: steps.append((done, total)))
    assert list(alone) == cases
    assert steps == [(n, len(cases)) for n in range(len(cases) + 1)]
    assert timeless(measure_all(run_case, cases, GRID, workers=2)) == timeless(alone)


def test_a_run_that_fails_its_check_is_not_reported(monkeypatch):
    monkeypatch.setattr(Run, "violations", lambda self: ["capacity: something"])
    with pytest.raises(SolverError, match="capacity: something"):
        measure_all(run_case, g.cases(GRID)[:1], GRID)


def test_a_trace_is_refused():
    with pytest.raises(InvalidInput, match="trace"):
        reproduce("chic", trace="x.csv")


def test_sizes():
    full = g.cases(g.FULL)
    assert len(full) == len(set(full))
    assert (g.FULL.seeds, g.FULL.jobs) == (30, 30)
    assert g.FULL.rates == (0.9, 1.35, 1.8, 2.25, 2.7)
    assert {"misfit", "used-up", "full"} == {r.stop for r in g.FULL.interpretations}
    texts = {case.text.partition(":")[0] for case in full}
    assert {"optimus", "uniform-random", "max-rate", "drf", "fair", "srpt", "marginal-gain"} <= texts
    assert {(case.text, case.rate, case.jobs) for case in full if "episode" in case.text} == {
        (f"{name}:episode=60", 1.8, jobs) for name in ("chic", "chic-pair") for jobs in (0, 60)
    }
    assert {case.scheduling_events for case in full} == {"events", *(f"interval:{i}" for i in g.INTERVALS)}
