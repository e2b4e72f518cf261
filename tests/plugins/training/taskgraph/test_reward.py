"""The reward of MLF-RL: Eq. 7 job by job, by hand, and its discounted sum over a window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobs_examples import jobs_of

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched_training.taskgraph._reward import Reward, charges, references, returns


def test_a_run_by_hand():
    """One GPU: a job of 2 x 3 ticks, and one of 1 x 3 that waits 6."""
    load = jobs_of([[(3, 1)]], [(0, 0, 2), (0, 0, 1)], nodes=[(1,)], tick_ms=1000)
    run = api.simulate(load, "fifo")
    assert references(load)[0].tolist() == [6, 3]
    jct, met, traffic, guarantee, accuracy = Reward().objectives(load, run.log)
    assert jct.tolist() == [1 / 2, 1 / 4]
    assert (met.tolist(), traffic.tolist()) == ([1, 1], [1, 1])
    assert (guarantee >= 0).all()
    assert (accuracy * 10**6).round().tolist() == run.jobs["accuracy"].tolist()
    only_jct = Reward(beta1=2, beta2=0, beta3=0, beta4=0, beta5=0)
    assert only_jct.of_jobs(load, run.log).tolist() == [1 / 2, 1 / 4]


def test_the_linear_jct_term_is_charged_by_the_hour():
    """The same run: undisturbed 4.5 ticks in the mean, in the system for 6 and 9."""
    load = jobs_of([[(3, 1)]], [(0, 0, 2), (0, 0, 1)], nodes=[(1,)], tick_ms=1000)
    log = api.simulate(load, "fifo").log
    linear = Reward(beta1=2, beta2=0, beta3=0, beta4=0, beta5=0, jct_term="linear")
    assert linear.of_jobs(load, log).tolist() == [0.75 - 6 / 18, 0.75 - 9 / 18]
    assert linear.at_ends(load, log).tolist() == [0, 0]
    assert linear.charge(load) == 1 / 18
    assert Reward().charge(load) == 0
    assert Reward().at_ends(load, log).tolist() == Reward().of_jobs(load, log).tolist()


@given(
    jobs=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=8),
    at=st.lists(st.integers(0, 50), min_size=1, max_size=5),
    step=st.integers(1, 9),
    steps=st.integers(1, 5),
    eta=st.floats(0, 1),
)
def test_charges_are_the_discounted_growth_of_the_time_in_the_system(jobs, at, step, steps, eta):
    arrival, ended = (np.array(values, dtype=np.float64) for values in zip(*((a, a + d) for a, d in jobs), strict=True))

    def inside(tick):
        return sum(a <= tick < e for a, e in zip(arrival, ended, strict=True))

    expected = [
        sum(
            eta**i * (inside(tick) - inside(t))
            for i in range(steps)
            for tick in range(t + i * step, t + (i + 1) * step)
        )
        for t in at
    ]
    found = charges(arrival, ended, np.array(at, dtype=np.float64), float(step), steps, eta)
    assert found == pytest.approx(expected)


@given(
    jobs=st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), max_size=8),
    at=st.lists(st.integers(0, 50), min_size=1, max_size=5),
    step=st.integers(1, 9),
    steps=st.integers(1, 5),
    eta=st.floats(0, 1),
)
def test_returns_are_the_sum_over_the_steps_of_the_window(jobs, at, step, steps, eta):
    ended, reward = (np.array([job[k] for job in jobs], dtype=np.float64) for k in (0, 1))
    expected = [
        sum(eta**i * came_to for i in range(steps) for end, came_to in jobs if t + i * step < end <= t + (i + 1) * step)
        for t in at
    ]
    found = returns(ended, reward, np.array(at, dtype=np.float64), float(step), steps, eta)
    assert found == pytest.approx(expected)


def test_wrong_weights_are_refused():
    with pytest.raises(InvalidInput, match="beta3"):
        Reward(beta3=-1)
    with pytest.raises(InvalidInput, match="beta1 to beta5"):
        Reward(0, 0, 0, 0, 0)
    with pytest.raises(InvalidInput, match="jct_term"):
        Reward(jct_term="other")
