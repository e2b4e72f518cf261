"""Clusters by the recipe of MLFS, Section 4.1: what it says is what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.simulation.taskgraph.iterations.mlfs import HOUR, mlfs


def test_the_recipe():
    load = mlfs(jobs=400, seed=3, servers=20)
    assert load.gpu_unit == 100
    assert load.node_capacity[0].tolist() == [400, 32, 244, 10_000]
    column = load.demand[:, 0]
    assert set(column.tolist()) == {0, 40, 80}
    assert ((column == 0) == (load.role == 1)).all(), "parameter servers alone need no GPU"
    gpus = np.bincount(load.task_template, weights=column / 80).round(6)
    assert set(gpus.tolist()) == {1, 2, 4, 8, 16, 32}
    assert (load.urgency >= 1).all()
    assert (load.urgency <= 10).all()
    patience = load.deadline - load.arrival
    assert (patience >= HOUR // 2).all()
    assert (load.option == 1).all()
    assert (load.permits == 4).all()
    final = load.accuracy[load.accuracy_table[load.template], load.max_iterations]
    assert (load.required <= final).all(), "every requirement can be met"
    assert (np.diff(load.accuracy, axis=1) >= 0).all()


def test_the_load_is_what_was_asked_for():
    """GPU work over what the cluster's GPUs do while jobs arrive; of many jobs, since both ends are random."""
    load = mlfs(jobs=3000, seed=1, servers=20, load=0.7)
    tasks = np.bincount(load.task_template, weights=load.demand[:, 0] / 80)
    spans = []
    for template, (first, end) in enumerate(load.tasks):
        ends = {}
        for v in range(first, end):
            into = load.edge_from[(load.edge_to == v) & (load.edge_lag == 0)].tolist()
            ends[v] = int(load.duration[v]) + max((ends[u] for u in into), default=0)
        spans.append(max(ends.values()) * tasks[template])
    work = (np.array(spans)[load.template] * (load.scale / 10**6) * load.max_iterations).sum()
    assert work / (load.arrival[-1] * 80) == pytest.approx(0.7, rel=0.05)


def test_estimates_are_off_as_said_or_true():
    load = mlfs(jobs=1000, seed=0)
    off = np.abs(load.told / load.scale - 1)
    assert off.mean() == pytest.approx((0.11 + 0.30) / 2, rel=0.1)
    assert (mlfs(jobs=50, error=0.0).told == mlfs(jobs=50, error=0.0).scale).all()


def test_same_seed_same_workload_and_a_sound_run():
    load = api.workload("synthetic:mlfs-cluster", seed=5, jobs=8, servers=2)
    assert load == mlfs(seed=5, jobs=8, servers=2)
    assert load != mlfs(seed=6, jobs=8, servers=2)
    run = api.simulate(load, "mlf-h", options={"usage": "drawn", "usage_every": 600, "movement": "anytime"})
    assert run.violations() == []


@pytest.mark.parametrize(("given", "wrong"), [({"jobs": 0}, "jobs: 0"), ({"iterations": 1}, "iterations: 1")])
def test_wrong_sizes_are_refused(given, wrong):
    with pytest.raises(InvalidInput, match=wrong):
        mlfs(**given)
