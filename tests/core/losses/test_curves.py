"""The curve families of SLAQ 4.2.2."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.losses import curves

positive = st.floats(1e-6, 1e3)
anything = st.floats(allow_nan=False, allow_infinity=False)
iterations = st.floats(0, 1e5)


def test_values_by_hand() -> None:
    assert curves.sublinear([0, 2], 1, 2, 4, 0.5).tolist() == [0.75, 0.5 + 1 / 12]
    assert curves.superlinear([1, 3], 0.5, 1, 2).tolist() == [3, 2.25]


@given(k=st.floats(0, 1e308), a=anything, b=anything, c=anything, d=st.floats(-1e300, 1e300))
def test_never_nan_or_infinite(k: float, a: float, b: float, c: float, d: float) -> None:
    found = [curves.sublinear(k, a, b, c, d), curves.superlinear(k, abs(a), b, d)]
    assert np.isfinite(found).all()


@given(k=iterations, a=st.floats(0, 10), b=positive, c=positive, d=st.floats(-10, 10))
def test_sublinear_falls(k: float, a: float, b: float, c: float, d: float) -> None:
    now, later = curves.sublinear([k, 1.001 * k + 0.001], a, b, c, d)
    assert later <= now


@given(k=st.floats(0, 1e3), mu=st.floats(0.01, 0.999), b=st.floats(-20, 20))
def test_superlinear_falls(k: float, mu: float, b: float) -> None:
    now, later = curves.superlinear([k, k + 1], mu, b, 0)
    assert later <= now
