"""Fits: exact points give the model back, noise costs what it should, bad points are named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlsched.core.errors import InvalidInput
from mlsched.instances.workers.fit import fit
from mlsched.instances.workers.models import MODELS
from mlsched.instances.workers.speed import Asynchronous, Synchronous

GRID = [(w, p) for w in (1, 2, 3, 5, 8, 12) for p in (1, 2, 4, 7, 10)]


def points(model, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return [(w, p, float(model.seconds(w, p)) * (1 + noise * float(rng.uniform(-1, 1)))) for w, p in GRID]


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("model", [*(m.speed for m in MODELS), Asynchronous(30, 2.5, 0.25, 0.125)])
def test_exact_points_give_the_model_back(model, relative):
    mode = "synchronous" if isinstance(model, Synchronous) else "asynchronous"
    found = fit(points(model), mode=mode, relative=relative)
    assert found.model == model
    assert found.largest_error < 1e-9
    assert found.points == len(GRID)


def test_noise_shows_in_the_error_and_hardly_in_the_model():
    model = MODELS[0].speed
    found = fit(points(model, noise=0.05))
    assert 0.005 < found.mean_error < 0.05
    assert found.largest_error < 0.11
    off = [abs(float(found.model.seconds(w, p) / model.seconds(w, p)) - 1) for w, p in GRID]
    assert max(off) < 0.05


def test_relative_errors_keep_one_slow_point_from_deciding_everything():
    model = Synchronous(1, 0.1, 0.2, 0.05, 0.02)
    given = [*points(model, 0.02), (1, 1, 10.0)]  # one straggler among the slowest points
    relative, absolute = fit(given), fit(given, relative=False)
    assert relative.mean_error < absolute.mean_error
    thetas = vars(relative.model).values()
    assert min(thetas) >= 0


def test_no_parameter_is_negative_whatever_the_points():
    # Times that fall with p: a plain least-squares fit has theta4 < 0.
    found = fit([(w, p, 10 / w + 5 / p) for w, p in GRID])
    assert all(value >= 0 for value in vars(found.model).values())
    assert vars(found.model)["theta4"] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "points: expected at least one"),
        ([(1, 1, 0.0)], r"points\[0\]: \(1.0, 1.0, 0.0\), expected finite numbers > 0"),
        ([(1, 1, 1.0), (1, math.nan, 1.0)], r"points\[1\]"),
        ([(1, 1)], "points: expected at least one of"),
    ],
)
def test_bad_points_are_named(given, message):
    with pytest.raises(InvalidInput, match=message):
        fit(given)


def test_mode_is_one_of_two():
    with pytest.raises(InvalidInput, match="mode: 'both', expected one of synchronous, asynchronous"):
        fit([(1, 1, 1)], mode="both")
