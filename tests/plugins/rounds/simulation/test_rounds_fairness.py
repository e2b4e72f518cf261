"""Summaries of rounds report finish-time fairness."""

from __future__ import annotations

import mlsched


def test_runs_report_finish_time_fairness() -> None:
    rounds = mlsched.simulate(mlsched.workload("synthetic:mixed", jobs=5), "gavel:policy=max_min_perf")
    fair = rounds.summary()["finish_time_fairness"]
    assert fair["worst"] > 0
    assert 0 <= fair["above 1"] <= 1
