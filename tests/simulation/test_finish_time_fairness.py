"""Finish-time fairness (rho): by hand, and in the summaries of runs of several jobs."""

from __future__ import annotations

import pytest

import mlsched
from mlsched.simulation.metrics import finish_time_fairness


def test_by_hand() -> None:
    """Two jobs of 10 s on one GPU, one after the other: 2 jobs per GPU while both are there, then 1."""
    found = finish_time_fairness([0, 0], [10, 20], [10, 10], 1)
    assert found == {"worst": pytest.approx(20 / (10 * 1.5)), "above 1": 0.5}
    assert finish_time_fairness([0, 0], [10, 20], [10, 10], 8) == {"worst": 2, "above 1": 0.5}, (
        "contention is at least 1"
    )


@pytest.mark.parametrize(
    ("submit", "end", "exclusive", "gpus"),
    [([0], [10], [10], 1), ([0, 0], [10, 20], [10, 10], 0), ([0, 0], [10, 0], [10, 0], 1)],
)
def test_without_a_ratio_it_is_empty(submit, end, exclusive, gpus) -> None:
    assert finish_time_fairness(submit, end, exclusive, gpus) == {}


def test_runs_of_several_jobs_report_it() -> None:
    log = {"submit": [0, 0], "start": [0, 600], "end": [600, 1200], "gpus": [1, 1]}
    jobs = mlsched.workload(log, cluster="1x(1gpu)", tick=1)
    for policy in ("fifo", "as-logged"):
        found = mlsched.simulate(jobs, policy).summary()["finish_time_fairness"]
        assert found == {"worst": pytest.approx(1200 / 900), "above 1": 0.5}
    one = mlsched.workload({name: values[:1] for name, values in log.items()}, cluster="1x(1gpu)", tick=1)
    assert "finish_time_fairness" not in mlsched.simulate(one, "fifo").summary()
