"""What a run comes to, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched.simulation.workers import Workload, outcome
from mlsched.simulation.workers.log import Log

S = 10**9
#: 4 slots, 2 units of power; a worker takes a slot, a PS a unit; 12 s / w per iteration.
LOAD = Workload(
    resources=("slots", "power"),
    models=("m",),
    capacity=[4, 2],
    worker_demand=[[1, 0]],
    ps_demand=[[0, 1]],
    iteration=[[[12 * S], [6 * S], [4 * S], [3 * S]]],
    submit=[1000, 8000],
    model=[0] * 2,
    iterations=[4, 1],
)
#: Job 0 alone for 7 s (2 iterations and a third, lost), with job 1 for 6 s, alone again for 3 s.
LOG = Log(
    [(0, 1000, 8000, 4, 1, 2000), (1, 8000, 14000, 2, 1, 0), (0, 8000, 14000, 2, 1, 1000), (0, 14000, 17000, 4, 1, 0)]
)


def test_columns():
    table = outcome.jobs(LOAD, LOG)
    assert table["submit_s"].tolist() == [1, 8]
    assert table["wait_s"].tolist() == [0, 0]
    assert table["completion_s"].tolist() == [16, 6]
    assert table["training_s"].tolist() == [16, 6]
    assert table["lost"].tolist() == pytest.approx([1 / 3, 0])


def test_summary():
    found = outcome.summary(LOAD, LOG)
    assert found["average_completion_s"] == 11
    assert (found["shortest_completion_s"], found["longest_completion_s"]) == (6, 16)
    assert found["completion_s"] == {"p50": 11.0, "p95": 15.5}
    assert found["makespan_s"] == 16
    assert found["utilisation"] == pytest.approx({"slots": (28 + 24 + 12) / 64, "power": 22 / 32})
    assert found["lost_iterations_share"] == pytest.approx(1 / 15)
    assert found["segments"] == 4


def test_series_are_samples_of_the_jobs():
    assert {name: len(v) for name, v in outcome.series(LOAD, LOG).items()} == {"completion time [s]": 2, "wait [s]": 2}


def test_a_job_that_never_ran_has_no_times():
    assert np.isnan(outcome.jobs(LOAD, Log([LOG.rows[0]]))["completion_s"]).all()
