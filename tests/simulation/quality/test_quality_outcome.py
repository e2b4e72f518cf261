"""What a run comes to, on a run worked out by hand; and that the figures of merit hang together on any run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.fields import UNLIMITED
from mlsched.simulation.quality import Workload
from mlsched.simulation.quality.log import Log
from mlsched.simulation.quality.outcome import course, jobs, reached, series, summary
from mlsched.simulation.quality.strategies import options, workloads

N = 10**9
#: One core; iterations of 1 s. Job 0 falls 10, 6, 1, 0.5, 0; job 1 comes at 3 s and cannot gain anything.
LOAD = Workload(
    cores=2,
    submit=[0, 3],
    work=[1000, 1000],
    iterations=[4, 1],
    loss=[[10 * N, 6 * N, N, N // 2, 0], [N, N, 0, 0, 0]],
    family=[0, 0],
    weight=[1, 1],
    most=[1, UNLIMITED],
    other_submit=[],
    other_seconds=[],
    other_cores=[],
)
LOG = Log([(0, 0, 3, 1, 3000, N // 2), (0, 3, 6, 1, 4000, 0), (1, 3, 6, 1, 1000, N)])


def test_jobs():
    table = jobs(LOAD, LOG)
    assert table["start"].tolist() == [0, 0]
    assert table["time_to_90_s"].tolist() == [2.0, 0.0]  # 1 is a tenth of 10; nothing to gain is gained at once
    assert table["time_to_95_s"].tolist() == [3.0, 0.0]
    assert table["completion_s"].tolist() == [4.0, 1.0]
    assert table["core_seconds"].tolist() == [6, 3]
    assert table["loss_seconds"].tolist() == pytest.approx([1.0 * 3 + 0.05 * 1, 0.0])
    assert reached(LOAD, LOG, 0.4).tolist() == [1.0, 0.0]


def test_course_and_summary():
    found = course(LOAD, LOG)
    assert found.time.tolist() == [0, 3]
    assert found.seconds.tolist() == [3, 3]
    assert found.active.tolist() == [[True, True], [False, True]]
    assert found.cores.tolist() == [[1, 1], [0, 1]]
    assert found.average_loss().tolist() == [1.0, 0.025]
    result = summary(LOAD, LOG)
    assert result["average_loss"] == pytest.approx(0.5125)
    assert result["summed_loss"] == pytest.approx((1 + 0.05) / 2)
    assert result["time_to_90_s"] == 1.0
    assert result["makespan_s"] == 4.0
    assert result["utilisation"] == 9 / 8  # what is held to the tick after the end counts
    assert result["cores_by_loss"] == {"high": None, "medium": None, "low": None}
    assert set(series(LOAD, LOG)) == {
        "time to 90 % loss reduction [s]",
        "time to 95 % loss reduction [s]",
        "completion time [s]",
    }


def test_groups_are_by_falling_loss():
    """Eight jobs at losses 1, .9, ...: two hold 5 cores each, two 2, four 1."""
    count = 8
    losses = [[10 * N, (10 - j) * N, 0] for j in range(count)]
    load = Workload(
        cores=18,
        submit=[0] * count,
        work=[3000] * count,
        iterations=[2] * count,
        loss=losses,
        family=[0] * count,
        weight=[1] * count,
        most=[UNLIMITED] * count,
        other_submit=[],
        other_seconds=[],
        other_cores=[],
    )
    first = [(j, 0, 3, 1, 3000, (10 - j) * N) for j in range(count)]
    second = [(j, 3, 6, c, 6000, 0) for j, c in enumerate([5, 5, 2, 2, 1, 1, 1, 1])]
    groups = course(load, Log(first + second)).groups()
    assert groups["high"][0].tolist() == [0.25, 10 / 18]
    assert groups["medium"][0].tolist() == [0.25, 4 / 18]
    assert groups["low"][0].tolist() == [0.5, 4 / 18]
    assert [share.tolist() for _, share in groups.values()] == [[0.25, 0.25], [0.25, 0.25], [0.5, 0.5]]


@pytest.mark.filterwarnings("ignore:the offered load")
@given(load=workloads(), readings=options(), rule=st.sampled_from(["slaq", "fair", "dp"]))
def test_figures_hang_together(load, readings, rule):
    run = api.simulate(load, rule, options=readings)
    table, result = run.jobs, run.summary()
    for name, column in table.items():
        assert not np.isnan(column).any(), name
    assert (table["time_to_90_s"] <= table["time_to_95_s"]).all()
    assert (table["time_to_95_s"] <= table["completion_s"]).all()
    assert (table["start"] <= table["completion_s"]).all()
    assert (1000 * table["core_seconds"] >= load.total).all()
    shares = [s for s in result["cores_by_loss"].values() if s is not None]
    assert not shares or sum(shares) == pytest.approx(1)
    found = course(load, run.log)
    assert (found.cores.sum(axis=0) <= load.cores).all()
    assert (found.loss[found.active] >= -1e-9).all()


def test_cores_of_a_job_that_is_done_count_for_nobody():
    """Job 1 arrives while job 0, done at 1.5 s, still has its core."""
    load = LOAD.replace(iterations=[1, 1], work=[1500, 1000], submit=[0, 2])
    rows = [(0, 0, 3, 1, 1500, 6 * N), (1, 3, 6, 1, 1000, N)]
    assert course(load, Log(rows)).cores.tolist() == [[1, 0, 0], [0, 0, 1]]
