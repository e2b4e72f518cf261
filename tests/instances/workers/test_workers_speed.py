"""Speed models: tables against exact rational arithmetic written out again, and what they refuse."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput
from mlsched.instances.workers import NEVER
from mlsched.instances.workers.generate import draw_models
from mlsched.instances.workers.models import CLUSTER, ITERATIONS, MODELS
from mlsched.instances.workers.speed import Asynchronous, Synchronous, Table, exact


def decimals(*numbers: float) -> list[Fraction]:
    """The numbers as the decimals they print as."""
    return [Fraction(Decimal(repr(number))) for number in numbers]


def synchronous(thetas: tuple[float, ...], w: int, p: int) -> Fraction:
    a, b, c, d, e = decimals(*thetas)
    return a / w + b + c * Fraction(w, p) + d * w + e * p


def asynchronous(thetas: tuple[float, ...], w: int, p: int) -> Fraction:
    """1 / speed, speed = w / (theta0 + theta1 w / p + theta2 w + theta3 p)."""
    a, b, c, d = decimals(*thetas)
    return 1 / (w / (a + b * Fraction(w, p) + c * w + d * p))


theta = st.one_of(st.sampled_from([0.0, 0.1, 0.15, 1 / 3, 1e-9, 1e4]), st.floats(0, 100))


@given(thetas=st.tuples(theta, theta, theta, theta, theta), count=st.integers(1, 10**6), asynchronous_=st.booleans())
def test_costs_and_iterations_are_exact(thetas, count, asynchronous_):
    model, formula = (Asynchronous, asynchronous) if asynchronous_ else (Synchronous, synchronous)
    values = thetas[:4] if asynchronous_ else thetas
    if not any(values):
        with pytest.raises(InvalidInput, match="must not all be 0"):
            model(*values)
        return
    times = model(*values).times(4, 5)
    cost = times.cost(count)
    for w in range(1, 5):
        for p in range(1, 6):
            g = formula(values, w, p)
            if g:
                assert cost[w - 1, p - 1] == math.ceil(1000 * count * g)
                assert times.iterations(12_345, w, p) == math.floor(Fraction(12_345, 1000) / g)
                # As many iterations as were paid for have been done when the cost has passed.
                assert times.iterations(int(cost[w - 1, p - 1]), w, p) >= count
                assert times.iterations(int(cost[w - 1, p - 1]) - 1, w, p) < count
                assert times.nanoseconds()[w - 1, p - 1] == math.ceil(10**9 * g)
                assert times.milliseconds()[w - 1, p - 1] == pytest.approx(float(1000 * g))


@pytest.mark.parametrize("speed", ["synchronous", "asynchronous", "table"])
def test_costs_of_the_generator_are_exact(speed):
    rng = np.random.default_rng(3)
    for model in draw_models(rng, 4, speed, 0.2, 6, 7):
        for count in (1, 7, 113, 200):
            cost = model.speed.times(6, 7).cost(count)
            for w in range(1, 7):
                for p in range(1, 8):
                    g = model.speed.seconds(w, p)
                    assert cost[w - 1, p - 1] == (NEVER if g is None else math.ceil(1000 * count * g))


def test_the_papers_models_take_what_its_figures_show():
    for model in MODELS:
        cost = model.speed.times(10, 20).cost(sum(ITERATIONS) // 2) / 1000
        assert 900 < cost.min() < 2800, "seconds, with the whole cluster"
        assert cost[0, 0] < 10_000
        assert model.worker[0] == 1
        assert model.ps[0] == 0
    assert CLUSTER == (10, 120, 600)


def test_a_table_says_what_was_measured_and_nothing_else():
    model = Table(((1.5, None), (0.25, 2)))
    assert model == Table([[1.5, None], [0.25, 2]])
    cost = model.times(3, 2).cost(3)
    assert cost.tolist() == [[4500, NEVER], [750, 6000], [NEVER, NEVER]]
    times = model.times(3, 2)
    assert times.iterations(10**6, 1, 2) == 0
    assert times.iterations(10**6, 0, 0) == 0
    assert times.nanoseconds()[0].tolist() == [1_500_000_000, NEVER]
    assert times.milliseconds()[0].tolist() == [1500.0, math.inf]


def test_a_float_is_the_decimal_it_prints_as():
    assert exact(0.15) == Fraction(15, 100)
    assert exact(1e-9) == Fraction(1, 10**9)
    assert exact(Fraction(1, 3)) == Fraction(1, 3)
    # In binary, 0.1 s is a little more than a tenth: 10 iterations would take 1001 ms.
    assert Synchronous(0, 0.1, 0, 0, 0).times(1, 1).cost(10)[0, 0] == 1000


BAD = [
    (lambda: Synchronous(-1, 0, 0, 0, 0), "theta0_m: -1, expected a finite number of seconds >= 0"),
    (lambda: Synchronous(1, math.nan, 0, 0, 0), "theta1: nan, expected a finite"),
    (lambda: Asynchronous(1, 0, math.inf, 0), "theta2: inf, expected a finite"),
    (lambda: Synchronous(1, True, 0, 0, 0), "theta1: True, expected a finite"),
    (lambda: Table(((1.0,), (1.0, 2.0))), "rows: have different lengths"),
    (lambda: Table(((0.0,),)), r"rows: 0.0 s with 1 workers and 1 PSs: expected a finite number > 0"),
    (lambda: Table(((1.0,),)).times(0, 1), "workers: 0, expected between 1 and"),
    (lambda: Table(((1.0,),)).times(1, 1).cost(0), "remaining: 0, expected between 1 and"),
    (lambda: Table(((1.0,),)).times(1, 1).cost(2**50), "remaining = .*: takes .* ms, expected below 2\\^53"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_what_is_wrong_is_said_in_a_line(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
