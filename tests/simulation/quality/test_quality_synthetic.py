"""Workloads: what the sources promise, and what a workload refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED
from mlsched.instances.traces import Trace
from mlsched.simulation.quality import Workload
from mlsched.simulation.quality.synthetic import from_trace, recorded, table1
from mlsched.simulation.quality.workload import NO_TARGET, never_start, offered_load, overload


def test_the_papers_workload():
    load = api.workload("synthetic:table1", "quality")
    assert (len(load.submit), load.cores, load.submit[0]) == (160, 640, 0)
    assert set(load.iterations.tolist()) == {100}
    assert set(load.most.tolist()) == {UNLIMITED}
    assert load == api.workload("synthetic:table1", "quality")
    assert load != api.workload("synthetic:table1:noise=0", "quality")
    assert never_start(load) == []


def test_mean_arrival_and_load_are_met():
    gaps = np.concatenate([np.diff(table1(jobs=2000, seed=s, mean_arrival=15).submit) for s in range(2)])
    assert gaps.mean() == pytest.approx(15, rel=0.05)
    assert gaps.std() == pytest.approx(15, rel=0.1)
    assert offered_load(table1(jobs=4000, load=0.8)) == pytest.approx(0.8, rel=0.1)


def test_only_the_scale_depends_on_the_load_and_only_the_pace_on_the_arrivals():
    base, heavy, often = table1(), table1(load=1.6), table1(mean_arrival=7.5, load=1.6)
    assert (heavy.loss == base.loss).all()
    assert (heavy.submit == base.submit).all()
    assert heavy.work / base.work == pytest.approx(2, rel=1e-3)
    assert (often.work == base.work).all()
    assert (np.abs(2 * often.submit - base.submit) <= 1).all()


def test_convergence_by_the_change_of_loss():
    converged = table1(threshold=0.01, noise=0.0)
    assert (converged.iterations < 100).any()
    changes = np.abs(np.diff(converged.loss[0]))
    k = int(converged.iterations[0])
    assert changes[k - 1] < 0.01 * changes.max()
    assert (changes[: k - 1] >= 0.01 * changes.max()).all()


def test_knobs():
    load = table1(jobs=40, cap=8, important=1.0, other_jobs=3)
    assert set(load.most.tolist()) == {8}
    assert (load.weight >= 2).all()
    assert load.other_cores.tolist() == [64] * 3
    burst = table1(jobs=5, mean_arrival=0)
    assert burst.submit.tolist() == [0] * 5
    assert offered_load(burst) == float("inf")
    assert "inf" in overload(burst)[0]
    assert overload(table1(load=0.5)) == []
    with pytest.raises(InvalidInput, match="load"):
        table1(load=0)
    with pytest.raises(InvalidInput, match="jobs"):
        table1(jobs=0)


def test_target_losses():
    """Nine tenths of the reduction: every job reaches it, and leaves with the first report that does."""
    plain, load = table1(noise=0.0), table1(noise=0.0, target=0.9)
    assert (plain.target == NO_TARGET).all()
    assert (plain.last == plain.iterations).all()
    assert (load.loss == plain.loss).all()
    left = (load.target - plain.lowest) / (plain.loss[:, 0] - plain.lowest)
    assert left == pytest.approx(0.1, abs=1e-6)
    jobs = np.arange(len(load.submit))
    assert (load.loss[jobs, load.last] <= load.target).all()
    assert (load.loss[jobs, load.last - 1] > load.target).all()
    assert offered_load(load) < 0.8 * offered_load(plain)
    some = table1(target=0.9, hinted="nonconvex").target != NO_TARGET
    assert 0 < some.sum() < len(some)
    with pytest.raises(InvalidInput, match="hinted: 'some'"):
        table1(target=0.9, hinted="some")
    with pytest.raises(InvalidInput, match="target"):
        table1(target=1.1)


def test_recorded_curves(tmp_path):
    path = tmp_path / "eval_measurements.csv"
    lines = ["global_step,accumulated_submission_time,train/loss", "0,0,3.0", "50,1,2.0", "100,2,1.0"]
    path.write_text("\n".join(lines) + "\n")
    load = recorded(path=str(path), jobs=4, iterations=10)
    assert load.loss[0].tolist() == [round((3 - 0.2 * k) * 10**9) for k in range(11)]
    assert set(recorded(path=str(path), jobs=4, iterations=10, target=0.5).last.tolist()) == {5}
    path.write_text("\n".join([lines[0], "0,0,1.0", "50,1,2.0"]) + "\n")
    with pytest.raises(InvalidInput, match="expected curves whose loss falls"):
        recorded(path=str(path))


def test_a_traces_jobs():
    column = np.array
    trace = Trace(
        ids=("a", "b", "c"),
        submit=column([0, 30, 60]),
        duration_ms=column([50_000, 10_000, 10_000]),
        gpu_count=column([2, 0, 1]),
        gpus_milli=column([2000, 0, 500]),
        cpu_milli=column([-1, -1, -1]),
        memory_mib=column([-1, -1, -1]),
        qos=("", "", ""),
        group=("", "", ""),
        status=("", "", ""),
        source="test",
    )
    load = from_trace(trace, None)
    assert load.submit.tolist() == [0, 60]
    assert load.work.tolist() == [1000, 50]  # half a GPU for 10 s is half of the work
    assert load.most.tolist() == [2, 1]
    assert "1 jobs without one left out" in load.source
    assert load.cores == 2
    assert from_trace(trace, np.array([[1, 1, 8000]] * 3), capped=False).cores == 24
    hinted = from_trace(trace, None, target=0.5)
    assert (hinted.last < hinted.iterations).all()
    assert (hinted.work == load.work).all()
    assert "stop at 0.5" in hinted.source
    assert from_trace(trace, None, arrivals=2.0).submit.tolist() == [0, 30]
    assert api.simulate(load, "slaq").violations() == []
    with pytest.raises(InvalidInput, match="its 3 jobs use 0 GPUs"):
        from_trace(dataclasses.replace(trace, gpus_milli=column([0, 0, 0])), None)


FIELDS = {
    "cores": 2,
    "submit": [0],
    "work": [1],
    "iterations": [1],
    "loss": [[1, 0]],
    "family": [0],
    "weight": [1],
    "most": [1],
    "other_submit": [],
    "other_seconds": [],
    "other_cores": [],
}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"iterations": [2]}, "entries for 1 iterations"),
        ({"work": [2**53], "iterations": [2], "loss": [[2, 1, 0]]}, "below 2^53"),
        (
            {
                "submit": [3, 1],
                "work": [1, 1],
                "iterations": [1, 1],
                "loss": [[1, 0]] * 2,
                "family": [0, 0],
                "weight": [1, 1],
                "most": [1, 1],
            },
            "expected at least",
        ),
        ({"cores": 0}, "cores: 0"),
        ({"target": [1]}, "target[0]: 1, expected below the job's loss before its first iteration"),
    ],
)
def test_a_workload_refuses(change, rule):
    with pytest.raises(InvalidInput) as caught:
        Workload(**{**FIELDS, **change})
    assert rule in str(caught.value)
    assert Workload(**FIELDS).cluster == "2 cores"
