"""The curve families of SLAQ 4.2.2 and the normalisations of 4.1."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput
from mlsched.core.losses import curves

positive = st.floats(1e-6, 1e3)
anything = st.floats(allow_nan=False, allow_infinity=False)
iterations = st.floats(0, 1e5)


def test_values_by_hand() -> None:
    assert curves.sublinear([0, 2], 1, 2, 4, 0.5).tolist() == [0.75, 0.5 + 1 / 12]
    assert curves.superlinear([1, 3], 0.5, 1, 2).tolist() == [3, 2.25]


@given(k=st.floats(0, 1e308), a=anything, b=anything, c=anything, d=st.floats(-1e300, 1e300))
def test_never_nan_or_infinite(k: float, a: float, b: float, c: float, d: float) -> None:
    found = [
        curves.sublinear(k, a, b, c, d),
        curves.sublinear_slope(k, a, b, c),
        curves.superlinear(k, abs(a), b, d),
        curves.superlinear_slope(k, abs(a), b),
    ]
    assert np.isfinite(found).all()


@given(k=iterations, a=st.floats(0, 10), b=positive, c=positive, d=st.floats(-10, 10))
def test_sublinear_falls_as_its_slope_says(k: float, a: float, b: float, c: float, d: float) -> None:
    assert curves.sublinear_decreases(a, b, c)
    left, right = curves.sublinear([k, 1.001 * k + 0.001], a, b, c, d)
    assert right <= left
    with mpmath.workdps(50):
        slope = float(mpmath.diff(lambda t: 1 / (a * t * t + b * t + c), k))
    assert curves.sublinear_slope(k, a, b, c) == pytest.approx(slope, rel=1e-6)


@given(k=st.floats(0, 1e3), mu=st.floats(0.01, 0.999), b=st.floats(-20, 20))
def test_superlinear_falls_as_its_slope_says(k: float, mu: float, b: float) -> None:
    left, right = curves.superlinear([k, k + 1], mu, b, 0)
    assert right <= left
    with mpmath.workdps(50):
        slope = float(mpmath.diff(lambda t: mpmath.mpf(mu) ** (t - b), k))
    assert curves.superlinear_slope(k, mu, b) == pytest.approx(slope, rel=1e-6, abs=1e-300)


@given(k=iterations, a=st.floats(0, 10), b=positive, c=positive)
def test_sublinear_inverse(k: float, a: float, b: float, c: float) -> None:
    assert curves.sublinear_inverse(curves.sublinear(k, a, b, c, 0), a, b, c, 0) == pytest.approx(
        k, rel=1e-6, abs=1e-6 * (1 + c / b)
    )


@given(k=st.floats(0, 500), mu=st.floats(0.01, 0.999), b=st.floats(-20, 20))
def test_superlinear_inverse(k: float, mu: float, b: float) -> None:
    loss = curves.superlinear(k, mu, b, 0)
    if loss > 1e-290:
        assert curves.superlinear_inverse(loss, mu, b, 0) == pytest.approx(k, abs=1e-6)


def test_inverse_of_what_is_never_reached_and_of_what_is_passed() -> None:
    assert curves.sublinear_inverse([0.5, 0.4, 9], 1, 1, 1, 0.5).tolist() == [np.inf, np.inf, 0]
    assert curves.superlinear_inverse([0.5, 0.4, 9], 0.5, 1, 0.5).tolist() == [np.inf, np.inf, 0]


def test_conditions() -> None:
    assert curves.sublinear_decreases([1, 1, -1, 0], [1, -2, 1, 0], 1).tolist() == [True, False, False, True]
    assert curves.sublinear_decreases(1, -2, 2, since=1), "its vertex is at 1"
    assert curves.sublinear_is_convex([1, 1], [2, 0.5], [4, 4]).tolist() == [True, False]


def test_normalised_changes() -> None:
    """Figure 5: over the largest change so far, hence 1 at each new largest."""
    assert curves.normalised_changes([10, 8, 7, 3, 5]).tolist() == [1, 0.5, 1, 0.5]
    assert curves.normalised_changes([1, 1, 1]).tolist() == [0, 0]
    assert curves.normalised_changes([1]).tolist() == []
    with pytest.raises(InvalidInput, match="losses: holds NaN or an infinity; every"):
        curves.normalised_changes([1, np.nan])


@given(st.lists(anything, min_size=1, max_size=30))
def test_normalised_changes_are_shares(losses: list[float]) -> None:
    shares = curves.normalised_changes(losses)
    assert ((shares >= 0) & (shares <= 1)).all()


def test_normalised_loss() -> None:
    assert curves.normalised_loss([4, 3, 2, 5], 4, 2).tolist() == [1, 0.5, 0, 1.5]
    assert curves.normalised_loss([4, 3], [3, 9], [3, 9]).tolist() == [0, 0]
    assert np.isfinite(curves.normalised_loss(1e308, 1e-308, -1e308))
