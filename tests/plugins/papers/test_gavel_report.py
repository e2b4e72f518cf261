"""The evaluation of Gavel: its report from measurements, its verdicts, and what it needs."""

from __future__ import annotations

import pytest

from mlsched.core.errors import InvalidInput
from mlsched_papers import EXPERIMENTS, reproduce
from mlsched_papers.gavel import cases, report
from mlsched_papers.gavel.measure import Grid, Metrics, drawn, folder_of, run_case

GRID = Grid(jobs=3, seeds=5)


def measured(better: float) -> dict:
    """Policies that know rates take `better` times as long as those that do not; the bound half as long."""
    found = {}
    for case in cases(GRID):
        fast = better if case.policy.endswith("_perf") else 1.0
        value = 500.0 if not case.policy else 1000.0 * fast
        found[case] = Metrics({"mean_completion_s": value + case.seed, "makespan_s": value + 2 * case.seed})
    return found


def test_verdicts_follow_the_measurements():
    good, bad = (report(GRID, measured(better)).verdicts() for better in (0.8, 1.2))
    assert (good["las"], good["ftf"], good["fifo"], good["ours-bound"]) == ("holds",) * 4
    assert (bad["las"], bad["ftf"], bad["fifo"]) == ("does not hold",) * 3
    assert good["ours-makespan"] == "does not hold"


def test_tables_stand_beside_what_gavel_prints():
    found = report(GRID, measured(0.8))
    table = next(table for table in found.tables if table.name == "max_min_fairness")
    rows = dict(table.rows)
    assert rows["max_min_perf"][0].paper == 14622.82
    assert rows["max_min_perf"][2].measured.mean == pytest.approx(60.0)
    assert {t.name for t in found.tables} >= {"continuous as printed", "static as meant"}


def test_without_gavels_files_it_says_what_to_give(monkeypatch, tmp_path):
    monkeypatch.delenv("MLSCHED_DATA", raising=False)
    for given in (None, str(tmp_path)):
        with pytest.raises(InvalidInput, match="gavel: give trace=FOLDER"):
            reproduce("gavel", trace=given)
    with pytest.raises(InvalidInput, match="cluster: Gavel's own"):
        reproduce("gavel", trace=str(tmp_path), cluster="v100=1")
    assert EXPERIMENTS["gavel"].doc


def test_a_drawn_workload_is_gavels(shared_data):
    grid = Grid(jobs=12, seeds=1, folder=folder_of(str(shared_data / "gavel")))
    workload = drawn(0, "continuous", grid)
    assert set(workload.gpus.tolist()) <= {1, 2, 4, 8}
    assert workload.types == ("v100", "p100", "k80")
    assert (workload.shortest > 0).all()
    case = next(case for case in cases(grid) if case.policy == "fifo_perf" and not case.trace)
    assert run_case(case, grid).values["mean_completion_s"] > 0
