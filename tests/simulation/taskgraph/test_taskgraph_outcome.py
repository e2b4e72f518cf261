"""Figures of merit of a task-graph run, worked out by hand; the world's test has their agreement with the judge."""

from __future__ import annotations

from snapshot_examples import horizon, play, scripted
from taskgraph_examples import OF_JOBS

from mlsched.simulation.taskgraph import Workload, outcome
from mlsched.simulation.taskgraph.log import Log
from mlsched.simulation.taskgraph.strategies import PAST

#: Job 0: two iterations of a task; job 1: one. One node with one GPU.
TWO = horizon([(0, 2, [(2, 1)]), (1, 1, [(4, 1)])], nodes=[(1,)], deadline=[7, 9], required=[200_000, 300_000])
SCRIPT = {0: {"start": [(0, 0)]}, 2: {"start": [(1, 0)]}, 6: {"start": [(0, 0)]}}


def test_jobs_and_summary():
    load, world, _ = play(TWO, scripted(SCRIPT))
    table = {name: column.tolist() for name, column in outcome.jobs(load, world.log).items()}
    assert table == {
        "arrival": [0, 1],
        "start": [0, 2],
        "completion": [8, 6],
        "jct": [8, 5],
        "waiting": [4, 1],
        "iterations": [2, 1],
        "on_time": [1, 1],
        "met": [0, 1],
        "accuracy": [200_000, 200_000],
        "traffic": [0, 0],
        "pauses": [0, 0],
        "migrations": [0, 0],
    }
    summary = outcome.summary(load, world.log)
    assert summary["total_jct"] == 13
    assert summary["accuracy_met"] == 1
    assert summary["total_accuracy"] == 400_000
    assert summary["makespan"] == 8
    assert summary["mean_waiting"] == 2.5
    assert summary["utilisation"] == {"gpu": 1.0}
    assert summary["runs"] == 3
    assert {name: values.tolist() for name, values in outcome.series(load, world.log).items()} == {
        "job completion time": [8, 5],
        "waiting time": [4, 1],
    }


def test_the_final_accuracy_counts_late_iterations():
    load, world, _ = play(TWO.replace(accuracy_at="final"), scripted(SCRIPT))
    assert outcome.jobs(load, world.log)["accuracy"].tolist() == [400_000, 200_000]


def test_an_empty_run():
    empty = horizon([(0, 1, [(1, 1)])]).replace(**dict.fromkeys((*OF_JOBS, *PAST), ()))
    summary = outcome.summary(Workload.of(empty), Log())
    assert summary["jobs"] == 0
    assert summary["total_jct"] == 0
    assert summary["jct_percentiles"] is None
