"""The generator: reproducible, frozen presets, strict about its sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.quality.generate import PRESETS, draw_curves


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets_generate_what_they_say(preset):
    inst = api.generate("quality", preset)
    assert len(inst.most) == PRESETS[preset].sizes["jobs"]
    assert inst.cores == PRESETS[preset].sizes["cores"]
    assert inst.waiting.sum() == 0


def test_brute_force_answers_the_small_preset():
    for seed in range(20):
        assert api.solve(api.generate("quality", "small", seed), "brute-force").status == "optimal"


def test_presets_are_frozen():
    # Benchmarks quote instances by preset and seed: a change here is a change of every published number.
    assert {name: api.generate("quality", name).hash[:16] for name in sorted(PRESETS)} == FROZEN


FROZEN = {
    "contended": "8ce9bb254aadc942",
    "floored": "d734d7aa36008cfe",
    "fluid": "1a0070464ecef0db",
    "large": "d9f2a95fbb0cadae",
    "paper": "609afe1021f2e3f6",
    "small": "fa8b6ef647edafea",
}


def test_the_same_seed_gives_the_same_instance_and_another_another():
    assert api.generate("quality", "floored", 7) == api.generate("quality", "floored", 7)
    assert api.generate("quality", "floored", 7) != api.generate("quality", "floored", 8)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"jobs": 0}, "jobs: 0, expected between 1 and "),
        ({"cores": 0}, "cores: 0, expected between 1 and "),
        ({"cap": -1}, "cap: -1, expected between 0 and "),
        ({"cap": 1, "least": 2}, "cap: 1, expected 0 or at least 2"),
        ({"width": 1, "least": 2}, "width: 1, expected 0 or at least 2"),
        ({"epoch": 0.0}, "epoch: 0.0, expected between"),
        ({"sublinear": 1.5}, "sublinear: 1.5, expected between 0 and 1"),
        ({"reserved_share": -0.1}, "reserved_share: -0.1, expected between 0 and 1"),
        ({"important": math.nan}, "important: nan"),
        ({"speed": 0.0}, "speed: 0.0, expected above 0"),
        ({"age": -1.0}, "age: -1.0, expected between"),
        ({"rounding": "ceil"}, "rounding: 'ceil', expected one of floor, fluid"),
        ({"jobs": 2.5}, "generate quality: jobs: 2.5, expected an integer"),
    ],
)
def test_wrong_sizes_are_refused(sizes, message):
    with pytest.raises(InvalidInput, match=message):
        api.generate("quality", **sizes)


@pytest.mark.parametrize(
    "sizes",
    [
        {"jobs": 1, "cores": 1},
        {"reserved_share": 1.0},
        {"jobs": 30},
        {"least": 0},
        {"least": 3},
        {"age": 0.0},
        {"sublinear": 0.0},
        {"sublinear": 1.0},
        {"important": 1.0},
        {"width": 1},
        {"epoch": 0.001},
    ],
)
def test_the_ends_of_the_knobs_work(sizes):
    inst = api.generate("quality", seed=3, **sizes)
    assert api.solve(inst, "dp").status == "optimal"
    assert (inst.weight >= 2).all() == (sizes.get("important") == 1.0)
    if sizes.get("jobs") == 30:
        assert inst.waiting.tolist() == [0] * 16 + [1] * 14


def test_curves_start_at_their_excess_and_halve_where_they_say():
    curves, halving = draw_curves(np.random.default_rng(0), 500, 0.6)
    start, half = (curves.loss_at(k) - curves.asymptote for k in (np.zeros(500), halving))
    assert half == pytest.approx(start / 2)
    assert start.min() >= 0.2 - 1e-12
    assert start.max() <= 3 + 1e-12
    assert curves.asymptote.min() >= 0
    quadratic = np.array([family == "sublinear" for family in curves.families])
    assert 0.5 < quadratic.mean() < 0.7
    a, b, c, _ = curves.parameters[quadratic].T
    assert 0.25 < (b * b >= a * c).mean() < 0.55, "both convex and bent curves are drawn"
