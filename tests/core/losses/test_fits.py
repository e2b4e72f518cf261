"""The batched fits, against SciPy's curve_fit and against curves whose parameters are known."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from mlsched.core.losses import curves, fits
from mlsched.core.losses.window import Window

DECAY = 0.9
JOBS = 40
EXACT = 1e-7
"""A weighted sum of squares of no interest: errors of 1e-4 of a history's range. Noiseless fits have nothing else."""


def draw(seed: int, noise: float) -> tuple[Window, fits.Mask]:
    """Random histories of both families, of 6 to 60 observations, noise relative to what is left of the loss."""
    rng = np.random.default_rng(seed)
    steps, losses, sublinear = [], [], rng.random(JOBS) < 0.5
    for j in range(JOBS):
        k = np.arange(rng.integers(6, 60)) + float(rng.integers(0, 50))
        if sublinear[j]:
            clean = curves.sublinear(k, rng.uniform(0, 0.02), rng.uniform(0.01, 0.5), rng.uniform(0.2, 3), 0)
        else:
            clean = curves.superlinear(k, rng.uniform(0.7, 0.99), rng.uniform(-5, 20), 0)
        steps.append(k)
        losses.append(clean * (1 + noise * rng.standard_normal(len(k))) + rng.uniform(0, 1))
    return Window.pack(steps, losses, 32), sublinear


def bounds(window: Window) -> tuple[fits.FloatArray, fits.FloatArray]:
    """Asymptotes of five ranges below the least loss and up: what both sides of the comparison search."""
    least = window.losses.min(axis=0)
    return least - 5 * np.ptp(window.losses, axis=0), np.full(len(window), np.inf)


def scipy_sse(window: Window, job: int, sublinear: bool, low: float) -> float:
    """The least weighted squared error that SciPy finds for one job, from two starting points, in scaled units."""
    n = window.lengths[job]
    k, y = window.iterations[-n:, job], window.losses[-n:, job]
    x, u = (k - k[0]) / (k[-1] - k[0]), (y - y.min()) / np.ptp(y)
    weights = DECAY ** np.arange(n - 1.0, -1.0, -1.0)
    floor = (low - y.min()) / np.ptp(y)

    def rational(x, a, b, c, d):
        return 1 / (a * x * x + b * x + c) + d

    def exponential(x, amplitude, rate, d):
        return amplitude * np.exp(-rate * x) + d

    curve, starts, lower = (
        (rational, [(0.1, 1, 1, 0), (0, 10, 1, 0)], [0, 0, 1e-6, floor])
        if sublinear
        else (exponential, [(1, 2, 0), (1, 8, 0)], [0, 1e-6, floor])
    )
    found = [np.inf]
    for start in starts:
        try:
            p, _ = curve_fit(curve, x, u, p0=start, sigma=weights**-0.5, bounds=(lower, np.inf))
        except RuntimeError:  # SciPy did not converge: the other start, or the point is ours
            continue
        found.append(float(np.sum(weights * (curve(x, *p) - u) ** 2)))
    return min(found)


def share_as_good_as_scipy(seed: int, noise: float) -> float:
    window, sublinear = draw(seed, noise)
    low, high = bounds(window)
    ours = fits.fit_curves(window, sublinear, low, high, decay=DECAY).sse
    good = ours <= EXACT  # whatever SciPy finds
    for j in np.flatnonzero(~good):
        good[j] = ours[j] <= 1.01 * scipy_sse(window, j, bool(sublinear[j]), low[j]) + EXACT
    return float(np.mean(good))


@settings(max_examples=draws(3, 8))
@given(seed=st.integers(0, 2**32 - 1), noise=st.sampled_from([0.0, 0.01, 0.1]))
def test_as_good_as_scipy(seed: int, noise: float) -> None:
    assert share_as_good_as_scipy(seed, noise) >= 0.95


@given(seed=st.integers(0, 2**32 - 1))
def test_finds_curves_again(seed: int) -> None:
    """Without noise the fit goes on where the history ends."""
    window, sublinear = draw(seed, 0.0)
    found = fits.fit_curves(window, sublinear, *bounds(window), decay=DECAY)
    inside = found.at(window.iterations.T).T
    assert np.quantile(np.abs(inside - window.losses).max(axis=0) / np.ptp(window.losses, axis=0), 0.9) < 5e-3


@given(seed=st.integers(0, 2**32 - 1))
def test_warm_start_is_no_worse(seed: int) -> None:
    window, sublinear = draw(seed, 0.02)
    low, high = bounds(window)
    earlier = Window(window.iterations[:-2], window.losses[:-2], window.lengths - 2)
    before = fits.fit_curves(earlier, sublinear, low, high, decay=DECAY)
    cold = fits.fit_curves(window, sublinear, low, high, decay=DECAY).sse
    warm = fits.fit_curves(window, sublinear, low, high, decay=DECAY, warm=before).sse
    assert np.mean(warm <= 1.01 * cold + EXACT) >= 0.9


def test_warm_start_survives_arrivals_departures_and_changed_families() -> None:
    window, sublinear = draw(5, 0.02)
    low, high = bounds(window)
    first = fits.fit_curves(window, sublinear, low, high, decay=DECAY)
    jobs = np.array([3, -1, 0, 7])
    part = window.take(np.array([3, 11, 0, 7]))
    family = sublinear[[3, 11, 0, 7]] ^ np.array([False, False, True, False])
    warm = fits.fit_curves(part, family, low[[3, 11, 0, 7]], high[:4], decay=DECAY, warm=first.take(jobs))
    assert np.isfinite(warm.amplitude).all()
    assert warm.sublinear.tolist() == family.tolist()
    nothing = fits.unfitted(0).take([-1, -1])
    assert np.isnan(nothing.amplitude).all()


def test_bounds_on_the_asymptote_hold() -> None:
    window, sublinear = draw(8, 0.05)
    low = np.linspace(0, 2, JOBS)
    found = fits.fit_curves(window, sublinear, low, low, decay=DECAY)
    assert found.asymptote == pytest.approx(low, abs=1e-9)
