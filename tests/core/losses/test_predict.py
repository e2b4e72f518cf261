"""Predictions: what they never do, on any history; what they find; what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput
from mlsched.core.losses.curves import FAMILIES, sublinear, superlinear
from mlsched.core.losses.predict import Predictor, strawman
from mlsched.core.losses.window import Window

any_loss = st.floats(-1e300, 1e300)
near_loss = st.floats(0, 10)
FAR = np.array([0.0, 1, 2, 10, 1e3, 1e6, 1e12, 1e100, 1e300])


def history(values: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
    """1 to 40 losses: arbitrary, constant, rising, falling, or with one spike."""
    arbitrary = st.lists(values, min_size=1, max_size=40)
    constant = st.builds(lambda v, n: [v] * n, values, st.integers(1, 40))
    spiky = st.builds(
        lambda v, n, i, s: [s if j == i % n else v for j in range(n)],
        values,
        st.integers(1, 40),
        st.integers(0, 39),
        values,
    )
    return st.one_of(arbitrary, constant, spiky, arbitrary.map(sorted), arbitrary.map(lambda h: sorted(h)[::-1]))


histories = st.one_of(history(any_loss), history(near_loss), history(st.floats(0, 1e-300)))
jobs = st.lists(st.tuples(histories, st.sampled_from(FAMILIES), st.floats(1e-9, 1e9)), min_size=1, max_size=6)


@given(jobs=jobs, hint=st.one_of(st.none(), st.floats(-1e300, 1e300)))
@example(jobs=[([0.0, 5e-324], "unknown", 1.0), ([5e-324, 0.0], "unknown", 1.0)], hint=None)
@example(jobs=[([1.3e154], "sublinear", 1.0)], hint=0.0)
@example(jobs=[([1e-9, 0.0, 1e300], "superlinear", 1.0), ([1.0, 1.0 - 1e-16], "unknown", 1.0)], hint=-1e300)
@example(jobs=[([1e300, -1e300, 1e300], "sublinear", 1.0), ([3.0, 2.0], "superlinear", 1.0)], hint=0.0)
def test_finite_never_rising_never_above_the_current_loss(jobs, hint) -> None:
    losses = [h for h, _, _ in jobs]
    steps = [gap * np.arange(1, len(h) + 1) for h, _, gap in jobs]
    targets = None if hint is None else np.full(len(jobs), hint)
    predictor, families = Predictor(), [family for _, family, _ in jobs]
    first = predictor.fit(steps, losses, families, targets=targets)
    again = predictor.fit(steps, losses, families, targets=targets, warm=first.fits)
    now = np.array([h[-1] for h in losses])
    for forecast in (first, again):
        when = np.minimum(forecast.last_iteration[:, None] + FAR, 1e300)
        predicted = forecast.loss_at(when)
        assert np.isfinite(predicted).all()
        assert (np.diff(predicted, axis=1) <= 0).all(), "must not rise"
        assert (predicted <= now[:, None]).all()
        assert (predicted[:, 0] == now).all(), "no iteration, no change"
        assert (forecast.reduction_at(when) >= 0).all()
        assert forecast.loss_at(when[:, 3]).tolist() == predicted[:, 3].tolist()
        assert (forecast.final_loss() <= now).all()
        if hint is None:
            assert (predicted[[min(h) >= 0 for h in losses]] >= 0).all(), "a loss that was never negative stays so"


@given(jobs=jobs, deltas=st.integers(1, 5))
def test_the_strawman_is_finite_and_never_rises(jobs, deltas: int) -> None:
    window = Window.pack([gap * np.arange(1, len(h) + 1) for h, _, gap in jobs], [h for h, _, _ in jobs])
    predicted = strawman(window, window.last_iteration[:, None] + FAR, deltas=deltas)
    assert np.isfinite(predicted).all()
    assert (np.diff(predicted, axis=1) <= 0).all()


def test_the_strawman_by_hand() -> None:
    window = Window.pack([[0, 1, 3], [4]], [[9, 7, 6], [5]])
    assert strawman(window, [[3, 5, 99], [4, 5, 6]]).tolist() == [[6, 5, -42], [5, 5, 5]]
    assert strawman(window, [5, 5], deltas=2).tolist() == [4, 5]
    assert strawman(window, [99, 5], nonnegative=True).tolist() == [0, 5]


def test_finds_the_family_of_a_job_that_declares_none() -> None:
    k = np.arange(40)
    forecast = Predictor().fit(
        [k, k], [sublinear(k, 0.01, 0.2, 1, 0.3), superlinear(k, 0.9, 5, 0.3)], ["unknown", "unknown"]
    )
    assert forecast.fits.sublinear.tolist() == [True, False]
    assert forecast.loss_at([60, 60]) == pytest.approx(
        [sublinear(60, 0.01, 0.2, 1, 0.3), superlinear(60, 0.9, 5, 0.3)], rel=1e-3
    )
    assert forecast.final_loss() == pytest.approx([0.3, 0.3], abs=0.02)


def test_a_hint_is_where_the_curve_goes() -> None:
    k, loss = np.arange(4), np.array([4.0, 3.2, 2.6, 2.15])
    forecast = Predictor().fit([k, k], [loss, loss], ["superlinear"] * 2, targets=[1.5, np.nan])
    assert forecast.loss_at([1e6, 1e6]) == pytest.approx([1.5, forecast.fits.asymptote[1]])
    passed = Predictor().fit([k, k], [loss, loss], ["superlinear"] * 2, targets=[2.5, np.nan])
    assert passed.loss_at([9, 9])[0] == passed.loss_at([9, 9])[1], "a hint that was passed is no hint"


BAD = {
    "families": (lambda: Predictor().fit([[0]], [[1]], []), "families: has 0 entries, expected 1"),
    "family": (lambda: Predictor().fit([[0]], [[1]], ["cubic"]), "families: 'cubic', expected one of sublinear"),
    "nan": (lambda: Predictor().fit([[0]], [[np.nan]], ["unknown"]), r"losses\[0\]: nan"),
    "targets": (lambda: Predictor().fit([[0]], [[1]], ["unknown"], targets=[1, 2]), "targets: has shape"),
    "target": (lambda: Predictor().fit([[0]], [[1]], ["unknown"], targets=[np.inf]), "finite, or NaN without a target"),
    "decay": (lambda: Predictor(decay=0), "decay: 0, expected above 0"),
    "window": (lambda: Predictor(window=0), "window: 0, expected at least 1"),
    "k": (lambda: Predictor().fit([[0]], [[1]], ["unknown"]).loss_at([1, 2]), "k: has shape"),
    "nan k": (lambda: Predictor().fit([[0]], [[1]], ["unknown"]).loss_at([np.nan]), "k: NaN"),
    "warm": (
        lambda: Predictor().fit(
            [[0]], [[1]], ["unknown"], warm=Predictor().fit([[0]] * 2, [[1]] * 2, ["unknown"] * 2).fits
        ),
        "warm: has 2 jobs, expected 1",
    ),
}


@pytest.mark.parametrize(("call", "rule"), BAD.values(), ids=BAD)
def test_what_is_refused(call, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        call()
    assert "\n" not in str(caught.value)
