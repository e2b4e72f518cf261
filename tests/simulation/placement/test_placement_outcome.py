"""What a run comes to, on a run worked out by hand; and that the figures of merit hang together on any run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched import api
from mlsched.simulation.placement.log import Log
from mlsched.simulation.placement.outcome import jobs, series, summary
from mlsched.simulation.placement.strategies import INTERVAL, options, workloads

M = 10**6
NONE = np.zeros((1, 0), dtype=np.int64)


@pytest.fixture
def run():
    """One server of two slots; job 0 trains 12 s and leaves at 20 s, job 1 waits from 5 to 20 s and trains 8 s."""
    from mlsched.simulation.placement import Workload

    load = Workload(
        resources=["slots"],
        types=["a"],
        pressures=[],
        server_capacity=[[2]],
        sigma_worker=[[0]],
        sigma_ps=[[0]],
        apart=[[0]],
        use_worker=NONE,
        use_ps=NONE,
        linear=NONE,
        quadratic=np.zeros((1, 0, 0), dtype=np.int64),
        rho_ps=[0],
        rho_worker=[0],
        submit=[0, 5],
        job_type=[0, 0],
        job_speed=[M, 1_250_000],
        job_workers=[2, 1],
        job_ps=[0, 0],
        worker_demand=[[1]] * 2,
        ps_demand=[[1]] * 2,
        interval=10,
    )
    # Job 0 was slower for its first 10 s, by whatever reason.
    log = Log([(0, 0, 10, 800_000, 8 * M), (0, 10, 20, M, 10 * M), (1, 20, 30, 1_250_000, 10 * M)])
    return load, log


def test_jobs(run):
    table = jobs(*run)
    assert table["start"].tolist() == [0, 20]
    assert table["finish"].tolist() == [12, 28]
    assert table["leave"].tolist() == [20, 30]
    assert table["wait"].tolist() == [0.0, 1.5]
    assert table["completion"].tolist() == [1.2, 2.3]
    assert table["whole"].tolist() == [2, 3]
    assert table["slowdown"].tolist() == [1.2, 1.0]


def test_summary(run):
    found = summary(*run)
    assert found["average_completion"] == pytest.approx(1.75)
    assert found["average_whole"] == 2.5
    assert found["average_wait"] == 0.75
    assert found["average_slowdown"] == pytest.approx(1.1)
    assert found["waiting_jobs"] == 0.0  # until the last one comes nobody waits
    assert found["utilisation"] == {"slots": (2 * 20 + 1 * 10) / (2 * 30)}
    assert found["makespan"] == 3.0
    assert set(series(*run)) == {"completion time, intervals", "slowdown"}


def test_waiting_jobs_are_averaged_while_jobs_arrive(run):
    load, log = run
    more = load.replace(submit=[0, 0])
    assert summary(more, log)["waiting_jobs"] == 0.0  # all at once: no time in which jobs arrive
    later = load.replace(
        submit=[0, 5, 25],
        job_type=[0] * 3,
        job_speed=[M] * 3,
        job_workers=[2, 1, 1],
        job_ps=[0] * 3,
        worker_demand=[[1]] * 3,
        ps_demand=[[1]] * 3,
    )
    rows = [*log.rows, (2, 30, 40, M, 10 * M)]
    assert summary(later, Log(rows))["waiting_jobs"] == pytest.approx(15 / 25)


def test_nothing_ran():
    from mlsched.simulation.placement.synthetic import uniform

    empty = uniform(jobs=1)
    none = {
        name: getattr(empty, name)[:0]
        for name in ("submit", "job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")
    }
    found = api.simulate(empty.replace(**none), "bin-packing").summary()
    assert (found["jobs"], found["average_completion"], found["makespan"]) == (0, 0.0, 0.0)


@pytest.mark.filterwarnings("ignore:the offered load")
@given(workload=workloads(), readings=options(), rule=st.sampled_from(["load-balancing", "standalone", "cp-sat"]))
def test_figures_hang_together(workload, readings, rule):
    found = api.simulate(workload, rule, scheduling_events=f"interval:{INTERVAL}", options=readings)
    table, result = found.jobs, found.summary()
    assert (table["submit"] <= table["start"]).all()
    assert (table["start"] < table["finish"]).all()
    assert (table["finish"] <= table["leave"]).all()
    assert (table["slowdown"] >= 1).all()
    assert (table["completion"] <= table["whole"]).all()
    assert result["average_completion"] >= result["average_wait"]
    assert all(0 <= share <= 1 for share in result["utilisation"].values())
    if readings["departure"] == "instant":
        assert (table["finish"] == table["leave"]).all()
    else:
        assert (table["leave"] % INTERVAL == 0).all()
        assert (table["leave"] - table["finish"] < INTERVAL).all()
