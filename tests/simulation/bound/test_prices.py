"""Prices of resources over time: what they prove, held against the linear program that they are the dual of."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.bound.prices import Prices, priced


def alone(release, length, demand, capacity, weight=None) -> Pieces:
    """Jobs of one piece each."""
    release, length = np.array(release), np.array(length)
    count = len(release)
    return Pieces(
        arrival=release,
        running=length,
        capacity=np.array(capacity),
        job=np.arange(count),
        release=release,
        length=length,
        demand=np.array(demand).reshape(count, -1),
        after=np.zeros(count, dtype=np.int64),
        weight=np.ones(count) if weight is None else np.array(weight, dtype=float),
    )


def program(pieces: Pieces, end: int) -> float:
    """The least sum of weight x (mean busy time - release) at constant rates in every tick up to `end`, by HiGHS."""
    count = len(pieces.release)
    cost, upper = np.zeros((count, end)), np.zeros((count, end))
    for i, (a, p, w) in enumerate(zip(pieces.release, pieces.length, pieces.weight, strict=True)):
        cost[i] = w / p * (np.arange(end) + 0.5 - a)
        upper[i, a:] = 1
    whole = np.kron(np.eye(count), np.ones(end))
    held = np.vstack([np.kron(column, np.eye(end)) for column in pieces.demand.T])
    there = np.repeat(pieces.capacity, end)
    bounds = list(zip(np.zeros(count * end), upper.ravel(), strict=True))
    found = linprog(cost.ravel(), A_ub=held, b_ub=there, A_eq=whole, b_eq=pieces.length, bounds=bounds)
    assert found.status == 0
    return float(found.fun)


def test_alone_every_piece_runs_from_its_release():
    assert priced(alone([0, 3], [4, 2], [1, 1], [2]), 9) == pytest.approx(4 / 2 + 2 / 2)


def test_a_machine_for_one_job_at_a_time_is_almost_what_the_list_says():
    """Jobs of 2 and 6 ticks: mean busy times of 1 and 5."""
    assert 5.9 < priced(alone([0, 0], [2, 6], [1, 1], [1]), 8) <= 6


def test_a_job_is_no_faster_than_it_can_be():
    """Three GPUs; a gang of 2 and two single jobs, of 4 ticks each: not all have room at once."""
    found = priced(alone([0, 0, 0], [4, 4, 4], [2, 1, 1], [3]), 8)
    assert found > 6, "2 for each, had they all room"
    assert found <= program(alone([0, 0, 0], [4, 4, 4], [2, 1, 1], [3]), 12) + 1e-9


JOBS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 6), st.integers(0, 3), st.integers(1, 2), st.sampled_from([0.5, 1.0])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=draws(12, 400))
@given(jobs=JOBS, data=st.data())
def test_prices_never_prove_more_than_the_linear_program(jobs, data):
    release, length, one, two, weight = zip(*jobs, strict=True)
    pieces = alone(release, length, np.column_stack([one, two]), [3, 4], weight)
    most = program(pieces, 6 + sum(length))
    found = priced(pieces, max(release) + sum(length))
    assert (pieces.weight * pieces.length / 2).sum() - 1e-6 <= found <= most + 1e-7
    scarcity = Prices(pieces, np.arange(len(jobs)), float(data.draw(st.integers(1, 30))))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    u, prices = 9 * rng.random(len(jobs)), rng.random((len(scarcity.ends), 2))
    value, error, by_u, by_prices = scarcity.value(u, prices)
    assert value - error <= most, "whatever the prices are"
    step, at = 1e-6, rng.integers(len(prices))
    more = scarcity.value(u + step, prices)[0]
    assert (more - value) / step == pytest.approx(by_u.sum(), abs=1e-3)
    prices[at, 0] += step
    assert (scarcity.value(u, prices)[0] - value) / step == pytest.approx(by_prices[at, 0], abs=1e-3)
