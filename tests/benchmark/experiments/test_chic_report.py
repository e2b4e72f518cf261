"""The Chic experiment end to end, at a tiny size: complete, serialisable, the same for any number of workers."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest
from rich.console import Console

from mlsched.benchmark.experiments import EXPERIMENTS, render, reproduce
from mlsched.benchmark.experiments.chic import grid as g
from mlsched.benchmark.experiments.chic.claims import STATEMENTS
from mlsched.benchmark.experiments.chic.measure import measure
from mlsched.core.errors import AnswererError, InvalidInput
from mlsched.simulation.run import Run

TINY = {"quick": True, "jobs": 4, "seeds": 2}
GRID = dataclasses.replace(g.QUICK, jobs=4, seeds=1, rates=(1.8,))


@pytest.fixture(scope="module")
def tiny():
    return reproduce("chic", **TINY)


def test_every_table_figure_and_claim_is_there(tiny):
    assert EXPERIMENTS["chic"].doc
    count = len(g.QUICK.readings)
    assert [table.name for table in tiny.tables] == (
        ["Figure 4(a)"] * 3 * count + ["Figure 4(b)"] + ["Figure 5"] * count + ["Figure 7(b)"]
    )
    assert list(tiny.verdicts()) == [s.name for s in STATEMENTS]
    assert len(set(tiny.verdicts())) == len(STATEMENTS)
    for table in tiny.tables:
        assert table.rows
        assert all(len(numbers) == len(table.header) - 1 for _, numbers in table.rows)


def test_policies_that_are_not_there_are_named_and_not_measured(tiny):
    known = {policy.label for policy in g.trained()}
    verdicts = tiny.verdicts()
    for label, claim in (("Chic", "chic-12.65"), ("Chic-Pair", "chic-pair-10.08")):
        assert (verdicts[claim] == "not measured") == (label not in known)
    text = " ".join(tiny.readings)
    for policy in (g.CHIC, g.CHIC_PAIR, g.CHIC_PLUS, g.LP_MPC):
        assert (policy.label in text) == (not g.known(policy))


def test_the_report_can_be_written(tiny):
    document = json.loads(json.dumps(tiny.to_json(), allow_nan=False))
    assert document["kind"] == "experiment.report"
    console = Console(file=io.StringIO(), width=160)
    for part in render(tiny):
        console.print(part)
    assert "Optimus, event-triggered" in console.file.getvalue()
    assert tiny.to_html().count("<svg") == len(tiny.figures)


def timeless(metrics):
    """Everything but CPU times."""
    return {
        case: ({k: v for k, v in found.values.items() if k not in ("decision_ms", "runtime_s")}, found.completion)
        for case, found in metrics.items()
    }


@pytest.mark.slow
def test_the_measurements_are_the_same_for_any_number_of_workers():
    cases, steps = g.cases(GRID), []
    alone = measure(cases, GRID, progress=lambda done, total: steps.append((done, total)))
    assert list(alone) == cases
    assert steps == [(n, len(cases)) for n in range(len(cases) + 1)]
    assert timeless(measure(cases, GRID, workers=2)) == timeless(alone)


def test_a_run_that_fails_its_check_is_not_reported(monkeypatch):
    monkeypatch.setattr(Run, "violations", lambda self: ["capacity: something"])
    with pytest.raises(AnswererError, match="capacity: something"):
        measure(g.cases(GRID)[:1], GRID)


def test_a_trace_is_refused():
    with pytest.raises(InvalidInput, match="trace"):
        reproduce("chic", trace="x.csv")


def test_sizes():
    full = g.cases(g.FULL)
    assert len(full) == len(set(full))
    assert (g.FULL.seeds, g.FULL.jobs) == (30, 30)
    assert g.FULL.rates == (0.9, 1.35, 1.8, 2.25, 2.7)
    assert {"misfit", "used-up", "full"} == {r.stop for r in g.FULL.readings}
    texts = {case.text.partition(":")[0] for case in full}
    assert {"optimus", "uniform-random", "max-rate", "drf", "fair", "srpt", "marginal-gain"} <= texts
    assert {case.wake for case in full} == {"events", *(f"interval:{i}" for i in g.INTERVALS)}
