"""Where placement workloads come from: arrival patterns, job variants, loads; and traces joined with the profiles."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.placement.models import MODELS
from mlsched.instances.traces import read_trace
from mlsched.simulation.placement import SIMULATION
from mlsched.simulation.placement.traces import from_trace
from mlsched.simulation.placement.workload import INTERVAL, offered_load

PATTERNS = sorted(SIMULATION.sources)


def made(pattern, **options):
    return api.workload(f"synthetic:{pattern}", **options)


def batches(workload):
    return np.bincount(workload.submit // INTERVAL)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_workload_is_what_its_options_say(pattern):
    load = made(pattern, jobs=90, seed=4, servers=7)
    assert (len(load.submit), load.cluster, load.interval) == (90, "7x(8 cpu, 2 gpu, 48 ram)", 1200)
    assert load.submit[0] == 0
    assert not (load.submit % INTERVAL).any()
    assert set(load.job_type) <= set(range(len(MODELS)))
    assert set(load.job_workers) == set(load.job_ps) == {1, 2, 3}
    assert load == made(pattern, jobs=90, seed=4, servers=7)
    assert load != made(pattern, jobs=90, seed=5, servers=7)
    assert f"synthetic:{pattern}" in load.source
    assert "jobs=90 seed=4" in load.source


def test_the_google_pattern_says_that_it_is_a_stand_in():
    assert "a stand-in" in made("google").source


@pytest.mark.parametrize(("pattern", "mean"), [("uniform", 3), ("poisson", 2), ("google", 2)])
def test_the_mean_rate_is_the_papers(pattern, mean):
    found = [batches(made(pattern, jobs=600, seed=seed)).mean() for seed in range(12)]
    assert np.mean(found) == pytest.approx(mean, rel=0.15 if pattern == "google" else 0.07)


def test_patterns_differ_in_their_spread():
    """Variance of the batches over their mean: 1 for Poisson, 4/3 for 0 to 6, more for the daily cycle with bursts."""
    spread = {
        p: np.mean([np.var(b) / b.mean() for b in (batches(made(p, jobs=900, seed=s)) for s in range(6))])
        for p in PATTERNS
    }
    assert spread["poisson"] == pytest.approx(1, abs=0.2)
    assert spread["uniform"] == pytest.approx(4 / 3, abs=0.25)
    assert spread["google"] > 2
    assert batches(made("uniform", jobs=900)).max() == 6
    calm = [batches(made("google", jobs=900, daily=0, burst=0, seed=s)) for s in range(6)]
    assert np.mean([np.var(b) / b.mean() for b in calm]) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("wanted", [0.2, 0.5])
def test_the_load_is_what_was_asked_for(pattern, wanted):
    found = [offered_load(made(pattern, jobs=800, load=wanted, seed=seed))["cpu"] for seed in range(6)]
    assert np.mean(found) == pytest.approx(wanted, rel=0.2 if pattern == "google" else 0.08)


def test_all_patterns_and_loads_of_a_seed_draw_the_same_jobs():
    one, other = made("uniform", load=0.2), made("poisson", load=0.4, model="linear")
    for name in ("job_type", "job_workers", "job_ps"):
        assert (getattr(one, name) == getattr(other, name)).all()


def test_all_reduce_jobs_and_interference():
    load = made("poisson", all_reduce=1.0, model="quadratic", sigma_scale=2.0)
    assert not load.job_ps.any()
    assert load.quadratic.any()
    assert not load.sigma_worker.any()
    assert (load.quadratic == 2 * made("poisson", model="quadratic").quadratic).all()


@pytest.mark.parametrize(
    ("pattern", "wrong", "rule"),
    [
        ("uniform", {"jobs": 0}, "jobs: 0"),
        ("uniform", {"mean": 0.2}, "mean: 0.2"),
        ("poisson", {"mean": 0.0}, "mean: 0.0, expected above 0"),
        ("poisson", {"load": 0.0}, "load: 0.0, expected above 0"),
        ("google", {"daily": 2.0}, "daily: 2.0"),
        ("google", {"burst": -1.0}, "burst: -1.0"),
        ("uniform", {"servers": 0}, "servers: 0"),
        ("uniform", {"model": "x"}, "model: 'x', expected one of pairwise, linear, quadratic"),
        ("uniform", {"most_tasks": 0}, "most_tasks: 0"),
        ("uniform", {"all_reduce": 1.5}, "all_reduce: 1.5"),
    ],
)
def test_a_wrong_option_is_refused(pattern, wrong, rule):
    with pytest.raises(InvalidInput) as caught:
        made(pattern, **wrong)
    assert rule in str(caught.value)


# -- traces -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def philly(tmp_path):
    """Six jobs; gaps of 5, 1, 2, 4 and 8 minutes; 1, 8, 2, 1, 4, 1 GPUs; durations 60 to 600 s."""
    path = tmp_path / "philly.csv"
    minutes, gpus, seconds = [0, 5, 6, 8, 12, 20], [1, 8, 2, 1, 4, 1], [60, 600, 120, 180, 60, 180]
    rows = zip(minutes, gpus, seconds, strict=True)
    lines = [f"2017-10-09 07:{m:02}:00,{d}.0,{g},{d * g}.0,11cb48" for m, g, d in rows]
    path.write_text("timestamp,duration,num_gpus,gpu_time,cluster\n" + "\n".join(lines) + "\n")
    return path


def test_arrivals_keep_their_pattern_at_another_rate(philly):
    load = api.workload(philly, "placement", rate=2.5)
    assert (load.submit / load.submit[-1]).tolist() == pytest.approx([0, 5 / 20, 6 / 20, 8 / 20, 12 / 20, 1])
    assert load.submit[-1] == 2 * INTERVAL  # 5 jobs after the first, 2.5 per interval
    assert api.workload(philly, "placement", rate=0.0).submit.tolist() == [0, 300, 360, 480, 720, 1200]
    assert api.workload(philly, "placement", rate=0.0, skip=2).submit.tolist() == [0, 120, 360, 840]


def test_the_source_says_that_it_is_a_join(philly):
    source = api.workload(philly, "placement").source
    assert source.startswith("a join: arrivals of ")
    assert "models and PSs drawn (seed 0)" in source


def test_workers_and_lengths_by_reading(philly):
    load = api.workload(philly, "placement", lengths="trace", load=0.5, rate=1.0)
    assert load.job_workers.tolist() == [1, 3, 2, 1, 3, 1]
    lengths = 1e6 / load.job_speed
    assert lengths[1] == pytest.approx(10 * lengths[0], rel=0.3)  # 600 s against 60 s, in whole epochs
    assert offered_load(load)["cpu"] == pytest.approx(0.5 * 6 / 6, rel=0.2)
    drawn = api.workload(philly, "placement", workers="drawn", seed=1)
    assert drawn.job_workers.tolist() != load.job_workers.tolist()


def test_servers_come_from_the_cluster(philly):
    assert api.workload(philly, "placement").cluster == "6x(8 cpu, 2 gpu, 48 ram)"
    load = api.workload(philly, "placement", cluster="3x(16cpu,96gb,4gpu)")
    assert load.cluster == "3x(16 cpu, 4 gpu, 96 ram)"


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"skip": 5}, "skip: 5 leaves 1 of 6 jobs"),
        ({"workers": "x"}, "workers: 'x'"),
        ({"lengths": "x"}, "lengths: 'x'"),
        ({"rate": -1.0}, "rate: -1.0"),
        ({"load": 0.0}, "load: 0.0"),
        ({"model": "x"}, "model: 'x'"),
    ],
)
def test_a_wrong_use_of_a_trace_is_refused(philly, wrong, rule):
    with pytest.raises(InvalidInput) as caught:
        from_trace(read_trace(philly), None, **wrong)
    assert rule in str(caught.value)


@pytest.mark.parametrize(("name", "skip"), [("philly/philly.csv.gz", 0), ("helios/helios_venus_gpu_jobs.csv.gz", 200)])
def test_real_arrivals(shared_data, name, skip):
    path = shared_data / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    load = api.workload(path, "placement", limit=skip + 60, skip=skip, load=0.2)
    assert len(load.submit) == 60
    run = api.simulate(load, "bin-packing")
    assert run.violations() == []
