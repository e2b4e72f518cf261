"""The evaluation of Shockwave: its report from measurements, its verdicts, and what it needs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mlsched.core.errors import InvalidInput
from mlsched_papers import EXPERIMENTS, reproduce
from mlsched_papers.shockwave import cases, report
from mlsched_papers.shockwave.measure import Case, Grid, Metrics, drawn, finish_time_ratios, folder_of, run_case, traced
from mlsched_papers.shockwave.paper import NAMES, PHYSICAL, SIMULATED

GRID = Grid(jobs=6, seeds=5, solves=5, gpus=4)
#: Stored there under these names.
STORED = {"allox_gangs": "allox", "max_min": "max_min_fairness", "max_sum": "max_sum_throughput_perf"}


def measured(own: float) -> dict[Case, Metrics]:
    """Shockwave takes `own` times as long as the others, and is as much fairer; the bound is half of theirs."""
    found = {}
    for case in cases(GRID):
        factor = own if case.policy == "shockwave" else 1.0 if case.policy else 0.5
        noise = 1 + 0.001 * ((case.drawn or 0) + case.solve)
        span, mean = SIMULATED["shockwave"] if case.drawn is None and case.policy == "shockwave" else (1000.0, 500.0)
        factor = 1.0 if case.drawn is None and case.policy == "shockwave" else factor
        values = {"makespan_s": span, "mean_completion_s": mean, "worst_ratio": 2.0, "unfair": 50.0}
        found[case] = Metrics({name: value * factor * noise for name, value in values.items()})
    return found


def test_verdicts_follow_the_measurements():
    good, bad = (report(GRID, measured(own)).verdicts() for own in (1 / 1.3, 1.2))
    assert (good["makespan"], good["makespan-1.3"], good["fairness"], good["ours-stored"]) == ("holds",) * 4
    assert good["fairness-2"] == "does not hold"
    assert report(GRID, measured(0.45)).verdicts()["fairness-2"] == "holds"
    assert (bad["makespan"], bad["makespan-1.3"], bad["fairness"]) == ("does not hold",) * 3


def test_tables_stand_beside_what_is_stored(shared_data):
    stored = json.loads((shared_data / "shockwave/reference_tacc32.json").read_text())
    for ours, kind in ((SIMULATED, "stored_simulation"), (PHYSICAL, "stored_physical")):
        assert {STORED.get(name, name): list(pair) for name, pair in ours.items()} == stored[kind]
    tables = {table.name: dict(table.rows) for table in report(GRID, measured(0.9)).tables}
    assert tables["simulated"]["allox_gangs"][1].paper == 9926.307
    assert tables["physical"]["shockwave"][0].paper == 25265.0
    assert tables["simulated"]["max_min"][2].measured.mean == pytest.approx(100.0)
    assert set(tables["drawn"]) == set(NAMES)


def test_without_its_files_it_says_what_to_give(monkeypatch, tmp_path):
    monkeypatch.delenv("MLSCHED_DATA", raising=False)
    for given in (None, str(tmp_path)):
        with pytest.raises(InvalidInput, match="shockwave: give trace=FOLDER"):
            reproduce("shockwave", trace=given)
    with pytest.raises(InvalidInput, match="cluster: Shockwave's own"):
        reproduce("shockwave", trace=str(tmp_path), cluster="v100=1")
    assert EXPERIMENTS["shockwave"].doc


def test_a_drawn_workload_is_like_its_trace(shared_data):
    grid = Grid(jobs=12, seeds=1, folder=folder_of(str(shared_data / "shockwave")))
    workload = drawn(0, grid)
    assert set(workload.gpus.tolist()) <= {1, 2, 4}
    assert workload.adaptation is not None
    hours = workload.steps / workload.rates[:, 0] / 3600
    assert hours.min() > 0.19
    assert hours.max() < 5.01
    values = run_case(Case("gandiva_fair", 0), grid).values
    assert values["makespan_s"] > run_case(Case("", 0), grid).values["makespan_s"]
    assert values["worst_ratio"] > 0


def test_the_finish_time_ratio_counts_all_jobs_of_the_trace(shared_data):
    """A job that takes as long as its profile alone, times 120 / 32, has the ratio 1."""
    workload = traced(folder_of(str(shared_data / "shockwave")))
    ratio = finish_time_ratios(workload, np.full(120, 3600.0))
    # Job 1 of the trace is a ResNet-18 in batches of 32 that does 1,563 steps an epoch; some of 256.
    assert ratio[1] == pytest.approx(3600.0 / 3.75 / 2897.9, rel=0.2)
    assert finish_time_ratios(workload, np.full(120, 7200.0)) == pytest.approx(2 * ratio)
