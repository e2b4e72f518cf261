"""Growth of the backlog: exact on runs worked out by hand, quiet without a trend, loud with one."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws

from mlsched import api
from mlsched.simulation.preemption import backlog
from mlsched.simulation.preemption.backlog import DAY, SPANS, STUDENT, Segments


def day_line(per_day: float, noise: np.ndarray) -> backlog.Slope:
    edges = np.linspace(0, 2 * DAY, SPANS + 1)
    return backlog.slope(edges, per_day * (edges[:-1] + edges[1:]) / 2 / DAY + noise)


def test_a_line_without_noise_has_its_slope_and_no_interval():
    found = day_line(0.25, np.zeros(SPANS))
    assert found.mean == pytest.approx(0.25)
    assert found.half == pytest.approx(0, abs=1e-9)


def test_the_quantile_is_students():
    from scipy.stats import t

    assert pytest.approx(float(t.ppf(0.975, SPANS - 2))) == STUDENT


def test_without_a_trend_few_runs_are_flagged_and_a_trend_is_seen():
    rng = np.random.default_rng(7)
    noise = rng.normal(0, 0.05, (draws(1000, 4000), SPANS))
    assert np.mean([day_line(0.0, row).excludes_zero for row in noise]) <= 0.07
    assert np.mean([day_line(0.5, row).excludes_zero for row in noise]) >= 0.99


def test_the_mean_over_a_span_is_exact():
    # Two jobs of weight 1 and 2: one from 0 to 30, one from 10 to 60.
    segments = Segments(np.array([0, 1]), np.array([0, 10]), np.array([30, 60]))
    means = backlog.means_over(np.array([0.0, 20.0, 40.0]), segments, np.array([1.0, 2.0]))
    assert means.tolist() == [(20 + 2 * 10) / 20, (10 + 2 * 20) / 20]


def one_server(every: int) -> dict[str, object]:
    """The backlog of a server to which a job of 60 s comes every so many seconds."""
    jobs = np.arange(2000)
    submit = every * jobs
    start = np.maximum(submit, 60 * jobs)
    return backlog.summary(
        submit, start + 60, Segments(jobs, start, start + 60), np.ones(2000), np.full(2000, 60 / DAY)
    )


def test_a_queue_that_gets_a_tenth_too_much_loses_a_tenth():
    """A job every 54 s: of 10 s of work that arrive, 1 s is never kept up with."""
    found = one_server(54)
    assert found["lost_throughput"] == pytest.approx(0.1, abs=0.002)
    assert found["growth_per_day"] == pytest.approx((1 / 54 - 1 / 60) * DAY, rel=0.02)
    assert not found["stationary"]


def test_a_queue_that_keeps_up_is_stationary():
    found = one_server(66)
    assert found["stationary"]
    assert found["lost_throughput"] == found["growth_per_day"] == 0


@pytest.mark.parametrize("submit", [[], [5], [5, 5, 5], [0, 10]])
def test_too_few_arrivals_say_nothing(submit):
    times = np.array(submit, dtype=np.int64)
    runs = Segments(np.arange(len(times)), times, times + 1)
    assert backlog.summary(times, times + 1, runs, np.ones(len(times)), np.ones(len(times))) is None


def test_jobs_without_demand_say_nothing():
    times = np.arange(100)
    assert backlog.summary(times, times + 1, Segments(times, times, times + 1), np.zeros(100), np.zeros(100)) is None


def test_the_closed_loop_keeps_fifos_backlog_and_the_summary_says_so():
    run = api.simulate(api.workload("synthetic:z", jobs=4096, seed=1), "fifo")
    found = run.summary()["backlog"]
    assert abs(found["growth_per_day"]) < 0.1
    assert abs(found["lost_throughput"]) < 0.05
    assert found["stationary"]
