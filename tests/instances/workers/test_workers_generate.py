"""The generator: reproducible, frozen presets, strict about its sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.workers import NEVER, PROBLEM
from mlsched.instances.workers.models import MODELS, RESOURCES
from mlsched.instances.workers.presets import PRESETS
from mlsched.instances.workers.tables import from_models


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets_generate_what_they_say(preset):
    inst = api.generate("workers", preset)
    sizes = PRESETS[preset].sizes
    assert len(inst.waiting) == sizes["jobs"]
    assert inst.capacity[0] == round(10 * sizes["scale"])
    plan = api.solve(inst, "cp-sat").plan
    assert (plan.workers == 0).any() == (preset == "crowded")


def test_brute_force_answers_the_small_preset():
    for seed in range(20):
        assert api.solve(api.generate("workers", "small", seed), "brute-force").status == "optimal"


def test_presets_are_frozen():
    # Benchmarks quote instances by preset and seed: a change here is a change of every published number.
    assert {name: api.generate("workers", name).hash[:16] for name in sorted(PRESETS)} == FROZEN


FROZEN = {
    "asynchronous": "81807b0bc6c55d6c",
    "cpu-bound": "339e93a7d9a6a92d",
    "crowded": "e1560a9c0f37ca9d",
    "measured": "6368cecd1757ecb6",
    "paper": "e7b0576dcce05c42",
    "paper-10": "0e4a8c251391e9a3",
    "small": "0b49663c1689d142",
    "x16": "948bb0a708a3c669",
    "x40": "77c074e0cdc81faa",
}


def test_the_same_seed_gives_the_same_instance_and_another_another():
    assert api.generate("workers", "paper-10", 7) == api.generate("workers", "paper-10", 7)
    assert api.generate("workers", "paper-10", 7) != api.generate("workers", "paper-10", 8)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"jobs": -1}, "jobs: -1, expected between 0 and "),
        ({"kinds": 0}, "kinds: 0, expected between 1 and "),
        ({"most_workers": 0}, "most_workers: 0, expected between 1 and 1000"),
        ({"most_ps": 1001}, "most_ps: 1001, expected between 1 and 1000"),
        ({"scale": -1.0}, "scale: -1.0, expected between"),
        ({"cpu_factor": math.nan}, "cpu_factor: nan"),
        ({"gaps": 1.5}, "gaps: 1.5, expected between 0 and 1"),
        ({"running": -0.1}, "running: -0.1, expected between 0 and 1"),
        ({"delay": -1.0}, "delay: -1.0, expected between"),
        ({"speed": "fast"}, "speed: 'fast', expected one of paper, synchronous, asynchronous, table"),
        ({"waiting": "none"}, "waiting: 'none', expected one of slowest, pair"),
        ({"jobs": 2.5}, "generate workers: jobs: 2.5, expected an integer"),
    ],
)
def test_wrong_sizes_are_refused(sizes, message):
    with pytest.raises(InvalidInput, match=message):
        api.generate("workers", **sizes)


@pytest.mark.parametrize(
    "sizes",
    [
        {"jobs": 0},
        {"scale": 0.0},
        {"most_workers": 1, "most_ps": 1},
        {"running": 0.0},
        {"running": 1.0},
        {"speed": "table", "gaps": 1.0},
        {"kinds": 1, "speed": "asynchronous"},
        {"jobs": 30},
        {"memory_factor": 0.1},
    ],
)
def test_the_ends_of_the_knobs_work(sizes):
    inst = api.generate("workers", seed=3, **sizes)
    assert api.solve(inst, "dp").sort_key == api.solve(inst, "cp-sat").sort_key
    if "running" in sizes:
        assert (inst.current_workers > 0).all() == (sizes["running"] == 1.0)
        assert (inst.current_workers == 0).all() == (sizes["running"] == 0.0)
    if sizes.get("gaps") == 1.0:
        assert (inst.cost == NEVER).all()


def test_jobs_are_those_of_the_paper():
    inst = PROBLEM.generate(np.random.default_rng(0), jobs=300, running=0.0)
    assert inst.resources == RESOURCES
    assert inst.models == tuple(model.name for model in MODELS)
    assert (inst.remaining.min(), inst.remaining.max()) == (100, 200)
    assert set(inst.model.tolist()) == {0, 1, 2}
    for j in range(20):
        model = MODELS[inst.model[j]]
        assert inst.worker_demand[j].tolist() == list(model.worker)
        g = model.speed.seconds(3, 5)
        assert inst.cost[j, 2, 4] == math.ceil(1000 * int(inst.remaining[j]) * g)


def test_from_models_refuses_what_does_not_match():
    with pytest.raises(InvalidInput, match="remaining: has 1 entries, expected 2"):
        from_models(MODELS, RESOURCES, [1, 1, 1], model=[0, 1], remaining=[5])
    with pytest.raises(InvalidInput, match=r"model: \[0, 3\], expected indices of the 3 models"):
        from_models(MODELS, RESOURCES, [1, 1, 1], model=[0, 3], remaining=[5, 5])
