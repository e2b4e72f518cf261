"""Beliefs about losses to come: right where a family is the truth, unsure where little is seen or families disagree."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from mlsched.core.errors import InvalidInput
from mlsched.core.losses.belief import FAMILIES, MIN_LOSSES, believe
from mlsched.core.losses.window import Window


def about(losses, at):
    return believe(Window.pack([np.arange(len(losses))], [losses], 64), np.array([float(at)]))


def test_the_family_that_is_the_truth_gets_the_weight_and_the_loss_right():
    k = np.arange(40)
    for name, loss, end in (
        ("exponential", 0.2 + 0.8 * np.exp(-k / 10), 0.2),
        ("1 / quadratic", 0.1 + 0.9 / (1 + 0.3 * k), 0.1 + 0.9 / (1 + 60)),
        ("stretched exponential", 0.3 + 0.7 * np.exp(-0.5 * np.sqrt(k)), 0.3 + 0.7 * np.exp(-0.5 * np.sqrt(200))),
    ):
        found = about(loss, 200)
        assert list(FAMILIES)[int(found.weight[:, 0].argmax())] == name
        assert found.expected[0] == pytest.approx(end, abs=0.01)
        assert found.spread[0] < 0.02


def test_the_spread_falls_as_more_is_seen_and_grows_with_the_distance():
    rng = np.random.default_rng(0)
    loss = 0.2 + 0.8 * np.exp(-np.arange(60) / 10) + rng.normal(0, 0.01, 60)
    spread = [about(loss[:n], 200).spread[0] for n in (8, 20, 60)]
    assert spread[0] > spread[1] > spread[2]
    assert about(loss[:20], 25).spread[0] < about(loss[:20], 200).spread[0]


def test_a_single_family_is_as_unsure_as_scipy_says():
    """The standard deviation of the exponential's fall from the last loss on, by the covariance of curve_fit."""
    rng = np.random.default_rng(1)
    k = np.arange(30)
    loss = 0.2 + 0.8 * np.exp(-k / 10) + rng.normal(0, 0.01, 30)
    best, covariance = curve_fit(lambda k, a, d, rate: a * np.exp(-rate * k) + d, k, loss, p0=(0.8, 0.2, 0.1))
    a, _, rate = best
    fall = a * (np.exp(-rate * 29) - np.exp(-rate * 100))
    slope = np.array([fall / a, 0, -a * (29 * np.exp(-rate * 29) - 100 * np.exp(-rate * 100))])
    found, row = about(loss, 100), list(FAMILIES).index("exponential")
    assert found.mean[row, 0] == pytest.approx(loss[-1] - fall, abs=1e-6)
    assert found.deviation[row, 0] == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=1e-3)


def test_the_chance_is_the_mixture_of_the_families():
    found = about(0.2 + 0.8 * np.exp(-np.arange(9) / 10), 50)
    draws_ = np.random.default_rng(2).normal(found.mean, found.deviation, (100_000, 5, 1))
    drawn = (found.weight * (draws_ >= 0.2)).sum(axis=1).mean()
    assert found.chance_of_at_least(np.array([0.2]))[0] == pytest.approx(drawn, abs=0.01)


@settings(max_examples=draws(30, 300))
@given(losses=st.lists(st.floats(0, 10), min_size=MIN_LOSSES, max_size=30), ahead=st.integers(0, 1000))
def test_beliefs_are_finite_and_never_above_the_last_loss(losses, ahead):
    found = about(losses, len(losses) - 1 + ahead)
    assert np.isfinite(found.mean).all()
    assert (found.mean <= losses[-1] + 1e-9).all()
    assert (found.deviation > 0).all() or max(losses) == min(losses)
    assert found.weight.sum() == pytest.approx(1)
    assert 0 <= found.chance_of_at_least(np.array([losses[-1]]))[0] <= 1


def test_another_question_in_between_changes_no_answer():
    losses = [1, 0.8, 0.7, 0.6, 0.55, 0.52, 0.5]
    first, later, other = about(losses, 20), about(losses, 30), about([*losses[:-1], 0.51], 20)
    assert (about(losses, 20).mean == first.mean).all()
    assert (later.mean < first.mean).all()
    assert (other.mean != first.mean).any()


def test_an_answer_that_is_kept_cannot_be_changed():
    losses = [1, 0.8, 0.7, 0.6, 0.55, 0.52, 0.5]
    assert about(losses, 20) is about(losses, 20)
    with pytest.raises(ValueError, match="read-only"):
        about(losses, 20).mean[:] = 0


def test_too_few_losses_are_refused():
    with pytest.raises(InvalidInput, match="has 5, expected at least 6"):
        about([1, 0.9, 0.8, 0.7, 0.6], 10)
