"""Synthetic task-graph workloads, and those made of a trace."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces.builder import TraceBuilder
from mlsched.simulation import simulations
from mlsched.simulation.taskgraph import Workload
from mlsched.simulation.taskgraph.sources import SOURCES, from_trace


def trace(jobs):
    """jobs: (submit s, run s, GPUs)."""
    made = TraceBuilder()
    for number, (submit, seconds, gpus) in enumerate(jobs):
        made.add(f"job-{number}", submit, 1000 * seconds, gpus)
    return made.build("test")


TRACE = trace([(0, 3600, 1), (60, 1800, 2), (120, 90, 4), (7200, 600, 3)])


@pytest.mark.parametrize("name", list(SOURCES))
def test_synthetic_workloads_are_seeded_and_named(name, tmp_path):
    load = api.workload(f"synthetic:{name}:jobs=6,runs=20,nodes=2", seed=4)
    assert load == api.workload(f"synthetic:{name}:jobs=6,runs=20,nodes=2", "taskgraph", seed=4)
    assert load != api.workload(f"synthetic:{name}:jobs=6,runs=20,nodes=2", seed=5)
    assert load.source.startswith(f"synthetic:{name} jobs=6 seed=4 nodes=2")
    api.save(load, tmp_path / "w.json")
    assert api.load(tmp_path / "w.json") == load


def test_no_other_problem_has_a_source_of_these_names():
    others = {name for s in simulations().values() if s.problem != "taskgraph" for name in s.sources}
    assert not others & set(SOURCES)


def test_estimates_are_off_by_as_much_as_said_and_true_without_error():
    for seen, mean in ((1.0, 0.11), (0.0, 0.30)):
        load = SOURCES["mlfs"](jobs=200, seen=seen)
        long = load.true_duration >= 4
        error = np.abs(load.horizon.duration / load.true_duration - 1)[long].mean()
        assert abs(error - mean) < 0.1 * mean + 0.02, "rounding to ticks adds a little"
        assert abs((load.horizon.duration / load.true_duration)[long].mean() - 1) < 0.05
    exact = SOURCES["mlfs"](jobs=20, error=0.0)
    assert (exact.horizon.duration == exact.true_duration).all()


def test_the_load_stretches_the_arrivals():
    spans = [int(np.ptp(SOURCES["mlfs"](jobs=60, load=load).horizon.arrival)) for load in (0.4, 0.8)]
    assert 1.6 < spans[0] / spans[1] < 2.4


def test_a_trace_gives_arrivals_gpus_and_durations():
    load = from_trace(TRACE, None, seed=1, error=0.0)
    assert load.horizon.arrival.tolist() == [0, 1, 2, 120]
    assert np.bincount(load.horizon.task_job).tolist() == [1, 2, 4, 3], "a worker of one GPU for each of the job's"
    assert (load.horizon.demand[:, 2] == 1000).all()
    assert load.horizon.resources == ("cpu_milli", "memory_mib", "gpu_milli")
    assert "graphs, volumes, deadlines, accuracies and estimates drawn (seed 1)" in load.source
    # Every job alone takes about as long as in the trace: passes x stages x ticks.
    for job, minutes in enumerate((60, 30, 2, 10)):
        alone = np.flatnonzero(load.horizon.task_job == job)
        once = api.simulate(
            Workload.of(load.horizon.replace(arrival=[0 if j == job else 10**6 for j in range(4)])), "fifo"
        ).jobs["completion"][job]
        passes = int(load.horizon.max_iterations[job])
        assert abs(int(once) - minutes) <= passes * len(alone) * 3 + 1


def test_a_share_of_a_gpu_stays_a_share():
    made = TraceBuilder()
    for number, (gpus, milli, cpu) in enumerate([(1, 460, 6000), (0, 0, 4000), (2, 2000, 9000)]):
        made.add(f"pod-{number}", 60 * number, 600_000, gpus, gpus_milli=milli, cpu_milli=cpu, memory_mib=1024)
    load = from_trace(made.build("test"), None, seed=1)
    assert load.horizon.task_job.tolist() == [0, 1, 2, 2]
    assert load.horizon.demand[:, 2].tolist() == [460, 0, 1000, 1000]
    assert load.horizon.demand[:, 0].tolist() == [6000, 4000, 4500, 4500]
    assert (load.horizon.node_capacity[:, 2] == 4000).all()
    assert load.horizon.tick_ms == 60_000
    assert from_trace(made.build("test"), None, tick=30).horizon.tick_ms == 30_000


def test_nodes_are_not_counted_by_gpus_that_nobody_asks_for():
    made = TraceBuilder()
    made.add("pod", 0, 600_000, 0, gpus_milli=0, cpu_milli=4000)
    with pytest.raises(InvalidInput, match="jobs use 0 GPUs, so nodes cannot be counted; give a cluster"):
        from_trace(made.build("test"), None)
    assert len(from_trace(made.build("test"), np.array([[8000, 0, 0]])).horizon.arrival) == 1


def test_a_traces_cluster_follows_its_load_or_is_given():
    full = from_trace(TRACE, None, load=0.1)
    assert len(full.horizon.node_capacity) > len(from_trace(TRACE, None, load=1.0).horizon.node_capacity)
    given = from_trace(TRACE, np.array([[96_000, 2**20, 8000]]))
    assert given.horizon.node_capacity.tolist() == [[96_000, 2**20, 8000]]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"jobs": 0}, "jobs: 0"), ({"load": 0.0}, "load: 0"), ({"seen": 1.5}, "seen: 1.5"), ({"error": 2.0}, "error: 2")],
)
def test_wrong_sizes_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        SOURCES["mlfs"](**options)


def test_the_philly_trace_runs(shared_data):
    load = api.workload(shared_data / "philly" / "philly.csv.gz", "taskgraph", limit=60, seed=1)
    run = api.simulate(load, "fifo")
    assert run.violations() == []
    assert run.summary()["jobs"] == 60
