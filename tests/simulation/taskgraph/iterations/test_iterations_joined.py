"""Traces joined with graphs, measured models and learning curves: what a file says is kept, the rest is drawn."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.simulation.taskgraph.iterations.joined import joined

LOG = """job_id,arrival_s,service_sec,gpu_count
a,0,30,1
b,5,6000,2
c,7,600,0
d,90,12000,3
e,100,200,16
"""
#: Two layers, of which the second takes three times as long: 10 and 20 parameters.
PROFILE = """node1 -- 1 -- forward_compute_time=1.0, backward_compute_time=1.0, activation_size=4.0, parameter_size=40.0
node2 -- 2 -- forward_compute_time=2.0, backward_compute_time=4.0, activation_size=4.0, parameter_size=80.0
\tnode1 -- node2
"""
CURVE = "global_step,accumulated_submission_time,validation/loss\n0,0,8\n10,1,4\n20,2,6\n40,3,2\n"


@pytest.fixture
def files(tmp_path):
    for name, text in (("log.csv", LOG), ("graph.txt", PROFILE), ("curve.csv", CURVE)):
        (tmp_path / name).write_text(text)
    return {"trace": str(tmp_path / "log.csv")}, {
        "profiles": str(tmp_path / "graph.txt"),
        "curves": str(tmp_path / "curve.csv"),
    }


def gpus(load):
    """jobs: GPUs that the workers of each job hold, of which 80 % are asked for."""
    return np.bincount(load.task_template, weights=load.demand[:, 0] / 80)[load.template].round(6).tolist()


def running(load):
    """jobs: seconds of all iterations without transfers; the longest way through a template's graph."""
    found = []
    for first, end in load.tasks:
        ends = {}
        for v in range(first, end):
            into = load.edge_from[(load.edge_to == v) & (load.edge_lag == 0)].tolist()
            ends[v] = int(load.duration[v]) + max((ends[u] for u in into), default=0)
        found.append(max(ends.values()))
    return np.array(found)[load.template] * load.scale / 10**6 * load.max_iterations


@pytest.mark.parametrize("seed", range(3))
def test_arrivals_gpus_and_running_times_are_the_trace_s(files, seed):
    for extra in ({}, files[1]):
        load = joined(**files[0], **extra, seed=seed)
        assert load.job_names == ("a", "b", "d", "e"), "c needs no GPU"
        assert load.arrival.tolist() == [0, 5, 90, 100]
        assert gpus(load) == [1, 2, 3, 16]
        assert running(load) == pytest.approx([30, 6000, 12000, 200], rel=1e-3)
        assert (running(load) / load.max_iterations >= 60 - 0.1)[1:].all(), "iterations of a minute at least"
        assert load.max_iterations[0] == 1
        assert "join: arrivals, GPUs and running times of" in load.source
        assert "(4 jobs, 1 left out)" in load.source
        assert (load.role.astype(bool) == (load.demand[:, 0] == 0)).all(), "parameter servers alone need no GPU"
        final = load.accuracy[load.accuracy_table[load.template], load.max_iterations]
        assert (load.required <= final).all()
        patience = load.deadline - load.arrival
        assert (patience >= 1800).all()
        assert (np.diff(load.accuracy, axis=1) >= 0).all()


def test_a_measured_model_and_curve_by_hand(files, monkeypatch):
    monkeypatch.setattr("mlsched.simulation.taskgraph.iterations.joined.ALGORITHMS", {})
    load = joined(**files[0], **files[1], error=0.0, iterations=4)
    assert "with 0 algorithms' graphs, 1 of" in load.source
    first, end = load.tasks[load.template[1]]
    assert load.role[first:end].tolist() == [0, 0, 0, 0, 1], "two halves of the model, two replicas, a server"
    assert load.parameters[first:end].tolist() == [10, 20, 10, 20, 30]
    assert load.duration[first:end].tolist() == [250, 750, 250, 750, 1]
    inside = load.edge_lag[:] == 0
    ours = inside & (load.edge_from >= first) & (load.edge_from < end)
    pairs = zip((load.edge_from[ours] - first).tolist(), (load.edge_to[ours] - first).tolist(), strict=True)
    assert sorted(pairs) == [(0, 1), (1, 4), (2, 3), (3, 4)]
    row = load.loss_table[load.template[1]]
    assert load.loss[row].tolist() == [10**6, 500_000, 750_000, 500_000, 250_000]
    table = load.accuracy[load.accuracy_table[load.template[1]]] / 10**6
    assert (table - 0.1) / (table[-1] - 0.1) == pytest.approx([0, 2 / 3, 2 / 3, 2 / 3, 1], abs=1e-5)
    assert (load.told == load.scale).all()


def test_same_seed_same_workload_from_the_shipped_sample_and_a_sound_run():
    load = api.workload("synthetic:mlfs-join", seed=5, jobs=12, trace="sample:helios-venus", largest=8)
    assert load == joined(seed=5, jobs=12, trace="sample:helios-venus", largest=8)
    assert load != joined(seed=6, jobs=12, trace="sample:helios-venus", largest=8)
    run = api.simulate(load, "mlf-h", options={"usage": "drawn", "usage_every": 600})
    assert run.violations() == []


def test_made_servers_hold_the_load_or_the_largest_job(files):
    assert len(joined(**files[0]).node_capacity) == 4, "16 GPUs"
    assert len(joined(**files[0], load=0.1).node_capacity) == 11, "51,230 GPU-seconds in 12,000 s at a tenth: 10.7"
    assert len(joined(**files[0], servers=7).node_capacity) == 7


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"trace": "synthetic:gangs"}, "expected a log, sample:NAME or data:NAME"),
        ({"jobs": -1}, "jobs: -1"),
        ({"batch": 0.0}, "batch: 0.0"),
        ({"trace": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_wrong_input_is_refused(given, wrong):
    with pytest.raises(InvalidInput, match=wrong):
        joined(**given)


def test_jobs_that_would_fill_the_memory_are_refused(files, tmp_path):
    (tmp_path / "large.csv").write_text(LOG.replace(",16\n", ",5000\n"))
    with pytest.raises(InvalidInput, match="job 'e' needs 5000 GPUs, expected at most 4096; set largest"):
        joined(trace=str(tmp_path / "large.csv"))
    assert len(joined(trace=str(tmp_path / "large.csv"), largest=8).arrival) == 3


def test_a_curve_that_never_falls_is_refused(files, tmp_path):
    (tmp_path / "up.csv").write_text("global_step,accumulated_submission_time,validation/loss\n0,0,2\n10,1,3\n")
    with pytest.raises(InvalidInput, match="expected runs whose validation loss falls"):
        joined(**files[0], curves=str(tmp_path / "up.csv"))


@pytest.mark.parametrize("trace", ["philly/philly.csv.gz", "helios/helios_venus_gpu_jobs.csv.gz"])
def test_the_real_files(trace):
    data = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
    if not (data / trace).exists():
        pytest.skip(f"{data / trace} is not there; set MLSCHED_DATA")
    load = joined(
        trace=str(data / trace),
        profiles=str(data / "pipedream/pipedream_profiles.tar.gz"),
        curves=str(data / "algoperf_curves/algoperf_v05_baseline_study0.tar.gz"),
        jobs=300,
    )
    assert len(load.arrival) == 300
    assert "14 of" in load.source
    assert "70 learning curves" in load.source
    log = api.read_log(data / trace, limit=300)
    assert gpus(load) == log.gpu_count.tolist()
    assert running(load) == pytest.approx(np.maximum(log.duration_ms / 1000, 1), rel=2e-3)
