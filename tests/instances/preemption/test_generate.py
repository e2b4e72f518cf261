"""The generator: reproducible, within its stated distributions, strict about its sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.instances.preemption.demand import NODE, draw_demand, truncated_normal
from mlsched.instances.preemption.generate import PRESETS


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets_generate_what_they_say(preset):
    inst = api.generate("preemption", preset)
    assert len(inst.node_capacity) == PRESETS[preset].sizes["nodes"]
    assert len(inst.job_node) == PRESETS[preset].sizes["jobs"]
    assert len(inst.te_demand) == PRESETS[preset].sizes["tes"]
    assert (inst.te_demand <= NODE).all()
    assert (inst.job_grace % 60 == 0).all()


def test_the_same_seed_gives_the_same_instance_and_another_another():
    assert api.generate("preemption", "surge", 7) == api.generate("preemption", "surge", 7)
    assert api.generate("preemption", "surge", 7) != api.generate("preemption", "surge", 8)


def test_presets_are_frozen():
    # Benchmarks quote instances by preset and seed: a change here is a change of every published number.
    hashes = {name: api.generate("preemption", name).hash[:16] for name in sorted(PRESETS)}
    assert hashes == FROZEN


FROZEN = {
    "exhausted": "449d39fdfd24e4d2",
    "paper": "e3230d0b29bc3708",
    "paper-surge": "9e334284548280a9",
    "single": "e659759edd033625",
    "small": "72e088356cc83ed4",
    "surge": "83403d29a1994452",
}


def test_sizes_change_a_preset():
    assert len(api.generate("preemption", "small", jobs=4).job_node) == 4


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"nodes": 0}, "nodes: 0, expected between 1 and "),
        ({"jobs": -1}, "jobs: -1, expected between 0 and "),
        ({"tes": 0}, "tes: 0, expected between 1 and "),
        ({"limit": 0}, "limit: 0, expected between 1 and "),
        ({"longest_grace": 0}, "longest_grace: 0, expected between 1 and "),
        ({"saturation": 1.1}, "saturation: 1.1, expected between 0 and 1"),
        ({"limit_share": -0.1}, "limit_share: -0.1, expected between 0 and 1"),
        ({"te_scale": -1.0}, "te_scale: -1.0, expected between 0 and 1000"),
        ({"te_scale": math.nan}, "te_scale: nan"),
        ({"te_scale": math.inf}, "te_scale: inf, expected between 0 and 1000"),
        ({"nodes": 1, "jobs": 500}, "1 nodes are full after .*; use fewer jobs or more nodes"),
        ({"fill": "full"}, "fill: 'full', expected one of packed, first-fit"),
        (
            {"fill": "first-fit", "nodes": 1, "jobs": 12},
            "jobs = 12: first fit keeps about 1 BE job on 1 node .* draw as many, or use fill=packed",
        ),
        ({"nodes": 2.5}, "generate preemption: nodes: 2.5, expected an integer"),
        ({"nodes": "many"}, "generate preemption: nodes: 'many', expected an integer"),
    ],
)
def test_wrong_sizes_are_refused(sizes, message):
    with pytest.raises(InvalidInput, match=message):
        api.generate("preemption", **sizes)


def test_wrong_names_are_refused():
    with pytest.raises(UnknownName, match="generate preemption: unknown parameter 'node'; it has nodes, jobs"):
        api.generate("preemption", node=3)
    with pytest.raises(UnknownName, match="unknown preset 'huge' of preemption; there are small, single"):
        api.generate("preemption", "huge")
    with pytest.raises(UnknownName, match="unknown problem 'chess'"):
        api.generate("chess")


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0", None])
def test_a_seed_is_an_integer_from_0_on(seed):
    with pytest.raises(InvalidInput, match=r"seed: .*, expected (an integer|at least 0)"):
        api.generate("preemption", seed=seed)


@pytest.mark.parametrize(
    "sizes", [{"saturation": 0.0}, {"saturation": 1.0}, {"jobs": 0}, {"limit_share": 1.0}, {"te_scale": 0.0}]
)
def test_the_ends_of_the_knobs_work(sizes):
    inst = api.generate("preemption", seed=3, **sizes)
    if sizes.get("limit_share") == 1.0:
        assert not inst.preemptible.any()
    if sizes.get("saturation") == 1.0:
        assert inst.node_free.sum() == 0
    if "te_scale" in sizes:
        assert inst.te_demand.sum() == 0


@pytest.mark.parametrize("preset", [name for name, preset in PRESETS.items() if "fill" in preset.sizes])
def test_a_state_of_the_clock_is_one_in_which_a_te_job_asks(preset):
    sizes = {"nodes": 12, "jobs": 30} if PRESETS[preset].sizes["nodes"] == 84 else {}
    for seed in range(5):
        inst = api.generate("preemption", preset, seed=seed, **sizes)
        assert not (inst.node_free >= inst.te_demand[0]).all(axis=1).any()
        running = np.zeros_like(inst.node_free)
        np.add.at(running, inst.job_node, inst.job_demand)
        assert (inst.node_free + running <= inst.node_capacity).all()
        assert 0.7 < running.sum(axis=0)[2] / inst.node_capacity.sum(axis=0)[2] <= 1


def test_text_sizes_are_parsed():
    assert len(api.generate("preemption", nodes="4").node_capacity) == 4


def test_demands_stay_on_a_node_and_truncation_holds():
    rng = np.random.default_rng(0)
    demand = draw_demand(rng, ((4.4, 14.9), (73.5, 21.4), (0.34, 1.36)), 500)
    assert (demand >= [1, 1, 0]).all()
    assert (demand <= NODE).all()
    drawn = truncated_normal(rng, 3, 1.25, 0, 5, 500)
    assert drawn.min() >= 0
    assert drawn.max() <= 5
    assert abs(drawn.mean() - 2.9) < 0.2
