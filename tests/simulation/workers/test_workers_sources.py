"""Workers workloads: the paper's synthetic one, and joins of public traces with speed models."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces import Trace
from mlsched.instances.workers.models import MODELS
from mlsched.simulation.nodes import parse_cluster
from mlsched.simulation.workers.sources import AUTO_LOAD, from_trace
from mlsched.simulation.workers.synthetic import chic
from mlsched.simulation.workers.workload import offered_load


def trace(count: int = 4, **columns) -> Trace:
    """`count` jobs a minute apart, each of an hour on 2 GPUs, unless said otherwise."""
    fields = {
        "ids": [f"j{i}" for i in range(count)],
        "submit": [60 * i for i in range(count)],
        "duration_ms": [3_600_000] * count,
        "gpu_count": [2] * count,
        "gpus_milli": [2000] * count,
        "cpu_milli": [-1] * count,
        "memory_mib": [-1] * count,
        "qos": [""] * count,
        "group": [""] * count,
        "status": [""] * count,
        "source": "hand-made",
    }
    return Trace(**{**fields, **columns})


# -- the paper's workload ---------------------------------------------------------------------------------------------


def test_the_papers_numbers():
    load = chic(jobs=20_000, seed=1, rate=1.8)
    assert load.models == ("ResNet-50", "VGG-16", "ResNext-110")
    assert load.capacity.tolist() == [10, 120, 600]
    assert (load.iterations.min(), load.iterations.max()) == (100, 200)
    assert load.iterations.mean() == pytest.approx(150, abs=1)
    gaps = np.diff(load.submit, prepend=0) / 1000
    assert gaps.mean() == pytest.approx(2000, rel=0.03)
    assert gaps.std() == pytest.approx(2000, rel=0.03)
    assert np.bincount(load.model, minlength=3) / 20_000 == pytest.approx([1 / 3] * 3, abs=0.02)


def test_iterations_are_timed_in_nanoseconds_rounded_up():
    """VGG-16 with 7 workers and 3 PSs: 45/7 + 2 + 6 7/3 + 0.3 7 + 0.2 3 = 25.12857142857... s."""
    assert chic(jobs=1).iteration[1, 6, 2] == 25_128_571_429
    assert chic(jobs=1).iteration[0, 0, 0] == 43_750_000_000


def test_one_seed_draws_the_same_jobs_at_every_rate():
    slow, fast, burst = (chic(seed=5, rate=rate) for rate in (0.9, 1.8, 0.0))
    assert slow.iterations.tolist() == fast.iterations.tolist() == burst.iterations.tolist()
    assert slow.model.tolist() == fast.model.tolist()
    assert np.abs(slow.submit - 2 * fast.submit).max() <= 2
    assert not burst.submit.any()
    assert chic(seed=6).submit.tolist() != chic(seed=5).submit.tolist()
    assert chic(seed=5) == chic(seed=5)


def test_the_settings_are_named():
    load = api.workload("synthetic:chic:rate=2.7", jobs=3, seed=4, scale=2)
    assert load.source == "synthetic:chic jobs=3 seed=4 rate=2.7 scale=2 least=100 most=200 most_workers=10 most_ps=20"
    assert load.capacity.tolist() == [20, 240, 1200]


@pytest.mark.parametrize(
    "wrong", [{"jobs": 0}, {"rate": -1.0}, {"scale": 0.0}, {"least": 9, "most": 8}, {"most_ps": 0}]
)
def test_bad_settings_are_refused(wrong):
    with pytest.raises(InvalidInput, match=f"{list(wrong)[-1]}: "):
        chic(**wrong)


# -- traces -----------------------------------------------------------------------------------------------------------


def test_a_trace_is_joined_with_the_speed_models():
    load = from_trace(trace(), parse_cluster("2x(8cpu,16gb,4gpu)"))
    assert load.capacity.tolist() == [8, 16, 32]
    assert load.submit.tolist() == [0, 60_000, 120_000, 180_000]
    for job, kind in enumerate(load.model.tolist()):
        assert load.iterations[job] == round(3600 / float(MODELS[kind].speed.seconds(2, 2)))
    assert "a join: models drawn from the Chic paper's three (seed 0)" in load.source


def test_what_nodes_do_not_give_is_the_papers():
    assert from_trace(trace(), np.array([[-1, 0, 20_000]])).capacity.tolist() == [20, 240, 1200]
    with pytest.raises(InvalidInput, match="cluster: 0 GPUs"):
        from_trace(trace(), np.array([[8000, 16384, 0]]))


def test_jobs_without_gpus_are_left_out_and_counted():
    load = from_trace(trace(gpus_milli=[0, 500, 2000, 0], gpu_count=[0, 1, 2, 0]), None)
    assert load.submit.tolist() == [0, 60_000]
    assert "2 jobs without GPUs left out" in load.source
    with pytest.raises(InvalidInput, match="jobs use 0 GPUs"):
        from_trace(trace(gpus_milli=[0] * 4, gpu_count=[0] * 4), None)


def test_without_nodes_the_papers_cluster_grows_to_the_load():
    load = from_trace(trace(200), None)
    assert (load.capacity % [10, 120, 600] == 0).all()
    assert max(x for x, _ in offered_load(load).values()) <= AUTO_LOAD
    smaller = load.replace(capacity=load.capacity - [10, 120, 600])
    assert max(x for x, _ in offered_load(smaller).values()) > AUTO_LOAD


def test_arrivals_can_be_sped_up():
    assert from_trace(trace(), None, arrivals=2.0).submit.tolist() == [0, 30_000, 60_000, 90_000]


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("path", ["philly/philly.csv.gz", "helios/helios_venus_gpu_jobs.csv.gz"])
def test_public_traces_run(shared_data, path):
    load = api.workload(shared_data / path, "workers", limit=40)
    run = api.simulate(load, "fair")
    assert run.violations() == []
    assert "a join" in load.source
