"""Tables of jobs and the cluster over time, of both engines, against examples computed by hand; and their files."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from jobs_examples import jobs_of

import mlsched
from mlsched import api
from mlsched.benchmark.run_pictures import draw_runs
from mlsched.core import tables
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.taskgraph.states import RUNNING, WAITING

#: A job of one GPU for five ticks; a gang of two tasks of two GPUs that arrives a tick later and needs both nodes.
GANG = jobs_of([[(5, 1)], [(2, 2), (2, 2)]], [(0, 0, 1), (1, 1, 1)])


def columns(found, *names):
    return [np.round(found[name], 3).tolist() for name in names]


def test_a_gang_that_waits():
    run = api.simulate(GANG, "fifo")
    assert columns(run.table(), "start_ticks", "waiting_ticks", "jct_ticks", "slowdown", "gpus", "nodes") == [
        [0, 5],
        [0, 4],
        [5, 6],
        [1.0, 3.0],
        [1, 4],
        [1, 2],
    ]
    course = run.over_time()
    assert not course["slowed_jobs"].any()
    assert columns(course, "time_ticks", "running_jobs", "waiting_jobs", "utilisation_gpu", "fragmentation") == [
        [0, 1, 5, 7],
        [1, 1, 1, 0],
        [0, 1, 0, 0],
        [0.25, 0.25, 1, 0],
        [0, 0.333, 0, 0],
    ]


def test_what_shape_costs_a_job_that_needs_a_whole_node():
    """Two nodes of 4, half of each held: 4 are free, and of no use to a job that needs 4 on one node."""
    load = jobs_of([[(6, 2)], [(2, 4)], [(2, 1)]], [(0, 0, 1), (0, 0, 1), (1, 1, 1), (2, 2, 1)], nodes=((4,), (4,)))

    def apart(snapshot, *, rng):
        free = snapshot.node_capacity[:, 0] - snapshot.in_use[:, 0]
        starts = []
        for task in np.flatnonzero(snapshot.state == WAITING).tolist():
            node = int(np.argmax(free))
            if free[node] >= snapshot.demand[task, 0]:
                starts.append((task, node))
                free[node] -= snapshot.demand[task, 0]
        return snapshot.round(start=starts)

    run = api.simulate(load, apart)
    assert run.violations() == []
    course = run.over_time()
    assert columns(course, "time_ticks", "waiting_jobs", "fragmentation", "waiting_for_shape") == [
        [0, 1, 2, 4, 6, 8],
        [0, 1, 1, 1, 0, 0],
        [0, 1, 1, 1, 0, 0],
        [0, 1, 0, 1, 0, 0],
    ], "while three are free, amounts alone make it wait"
    summary = run.summary()
    assert (summary["waiting_for_shape"], summary["fragmentation"]) == (3 / 5, 1.0)


def test_times_are_in_seconds_where_ticks_are_known_and_names_are_those_of_the_log():
    load = GANG.replace(tick_ms=30_000, job_names=("a", "b"), user_names=("ann", "bob"), user=[1, 0])
    run = api.simulate(load, "fifo")
    table = run.table()
    assert (table["job"].tolist(), table["user"].tolist()) == (["a", "b"], ["bob", "ann"])
    assert table["jct_s"].tolist() == [150.0, 180.0]
    assert run.over_time()["time_s"].tolist() == [0, 30, 150, 210]
    assert run.dataframe().jct_s.tolist() == [150.0, 180.0]
    assert run.summary()["tick_seconds"] == 30
    assert list(load.only(np.array([1]))["job_names"]) == ["b"]


def test_pauses_are_no_running_time():
    """The gang takes over as it arrives; the first job goes on when it is done."""

    def takes_over(snapshot, *, rng):
        gang = np.flatnonzero(snapshot.task_job == 1).tolist()
        if gang and (snapshot.state[gang] == WAITING).all():
            return snapshot.round(pause=[0], start=[(gang[0], 0), (gang[1], 1)])
        return snapshot.round(start=[(0, 1)] if not gang and snapshot.state[0] != RUNNING else [])

    run = api.simulate(GANG, takes_over, options={"pausing": "keep"})
    assert run.violations() == []
    table = run.table()
    assert columns(table, "jct_ticks", "waiting_ticks", "slowdown", "pauses") == [[7, 2], [2, 0], [1.4, 1], [1, 0]]
    assert run.over_time()["running_jobs"].tolist() == [1, 1, 1, 0]


def test_the_task_engine_has_the_same_columns():
    run = api.simulate(api.workload("synthetic:mlfs", jobs=5, runs=10), "srpt")
    assert run.simulation.simulator == "tasks"
    other = api.simulate(GANG.replace(tick_ms=60_000), "srpt")
    names = set(other.table()) - {"user"}
    table, course = run.table(), run.over_time()
    assert names == set(table)
    assert (table["jct_s"] == 60 * run.jobs["jct"]).all()
    assert (course["running_jobs"] + course["waiting_jobs"] <= 5).all()
    assert course["running_jobs"][-1] == course["waiting_jobs"][-1] == 0
    spans = np.diff(course["time_s"])
    mean = float((course["utilisation_gpu"][:-1] * spans).sum() / spans.sum())
    held = run.summary()["utilisation"]
    assert mean == pytest.approx(held[next(name for name in held if name.startswith("gpu"))])


def test_worlds_without_a_table_say_so():
    run = api.simulate(api.workload("synthetic:z", jobs=5, nodes=1), "fifo")
    with pytest.raises(InvalidInput, match="table: not available for preemption; use jobs"):
        run.table()
    with pytest.raises(InvalidInput, match="over_time: not available for preemption"):
        run.over_time()
    *distributions, course = draw_runs([run]).axes
    assert [ax.get_xlabel() for ax in distributions] == list(run.series())
    assert course.get_ylabel() == "jobs not yet done"


def test_tables_as_files(tmp_path):
    table = {"job": np.array(["a", "b"]), "jct_s": np.array([1.5, np.nan])}
    tables.write(table, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as stream:
        assert list(csv.reader(stream)) == [["job", "jct_s"], ["a", "1.5"], ["b", "nan"]]
    parquet = pytest.importorskip("pyarrow.parquet")
    tables.write(table, tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").column_names == ["job", "jct_s"]
    with pytest.raises(InvalidInput, match=r"t.txt: expected a name ending in .csv or .parquet"):
        tables.check_target(tmp_path / "t.txt")
    with pytest.raises(InvalidFile, match="cannot be written"):
        tables.check_target(tmp_path / "no" / "t.csv")


def test_policies_that_did_the_same_share_a_line(tmp_path):
    load = GANG.replace(tick_ms=60_000)
    runs = [api.simulate(load, name) for name in ("fifo", "srpt", "fifo")]
    made = draw_runs(runs)
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["fifo, srpt, fifo (2)"]
    assert [ax.get_xlabel() for ax in made.axes] == [
        "completion time, minutes",
        "waiting time, minutes",
        "minutes since the first submit",
        "minutes since the first submit",
    ]
    mlsched.plot_runs({"mine": runs[0]}, tmp_path / "runs.svg")
    assert "mine" in (tmp_path / "runs.svg").read_text()
    with pytest.raises(InvalidInput, match="expected at least one to draw"):
        mlsched.plot_runs([], tmp_path / "runs.svg")


def test_a_rule_of_ones_own_is_an_order():
    def last_first(snapshot, *, rng):
        return mlsched.start_in_order(snapshot, -snapshot.arrival)

    load = jobs_of([[(5, 2)]], [(0, 0, 1), (0, 0, 1), (1, 0, 1), (2, 0, 1)])
    assert api.simulate(load, last_first).jobs["start"].tolist() == [0, 0, 5, 5]
    one = load.replace(node_capacity=[[2]], eligible=[[1]])
    assert api.simulate(one, last_first).jobs["start"].tolist() == [0, 15, 10, 5]

    def wrong(snapshot, *, rng):
        return mlsched.start_in_order(snapshot, [1.0] * 9)

    with pytest.raises(mlsched.SolverError, match=r"key: has shape \(9,\), expected a number for each of 2 jobs"):
        api.simulate(one, wrong)
