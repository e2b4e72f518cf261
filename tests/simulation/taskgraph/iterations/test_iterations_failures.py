"""Nodes that fail: what runs there stops, keeps what it had saved, and goes on elsewhere; the replay holds it all."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.simulation.taskgraph.iterations import SIMULATION, strategies
from mlsched.simulation.taskgraph.iterations.log import FAIL, FINISH

RULES = ("fifo", "best-effort-fifo", "srpt", "srpt:preempt=true", "easy-backfill", "las", "tiresias", "drf")


def by_hand(write, failures: str, log: str = "submit,duration,gpus\n0,600,4\n", cluster: str = "2x(4gpu)", **options):
    jobs = mlsched.workload(write(log), cluster=cluster, failures=str(write(failures, "down.csv")), **options)
    return jobs


@pytest.mark.parametrize(("restart", "end"), [("checkpoint", 5 + 5.5), ("scratch", 5 + 10.5)])
def test_a_job_goes_on_elsewhere_with_what_it_had_saved(write, restart: str, end: float) -> None:
    """Ten minutes, of which five are done when the node fails; then half a minute to load."""
    run = mlsched.simulate(by_hand(write, "node,from,to\n0,330,9000\n"), "fifo", options={"restart": restart})
    assert run.violations() == []
    first, second = run.log.rows
    assert (first[1], first[2], first[-1]) == (0, 5, FAIL), "failures begin at whole ticks: 5, not 5.5"
    assert (second[1], second[2], second[-1]) == (5, int(np.ceil(end)), FINISH)
    assert run.log.places == [(0,), (1,)]
    assert run.summary()["failed_runs"] == 1
    assert run.summary()["pauses"] == 0
    assert "1 node failure;" in run.assumed["failures"]
    assert run.assumed["pause cost"].endswith("occupies its nodes for 30 s without progress")
    assert mlsched.simulate(run.workload, "fifo").bound["total_jct"] <= run.summary()["total_jct"]


def test_a_gang_stops_as_a_whole_and_waits_for_the_node(write) -> None:
    jobs = by_hand(write, "node,from,to\n1,120,600\n1,300,900\n", "submit,duration,gpus\n0,600,8\n", pause_cost=0)
    run = mlsched.simulate(jobs, "fifo")
    assert run.violations() == []
    assert [(row[1], row[2], row[-1]) for row in run.log.rows] == [(0, 2, FAIL), (15, 23, FINISH)]
    assert run.over_time()["waiting_jobs"].tolist() == [0, 1, 0, 0]


def test_a_run_that_is_stuck_says_when_and_which_nodes_are_gone(write) -> None:
    """In seconds, whatever a tick is."""
    nodes = str(write("name,gpus\na,4\nb,4\n", "nodes.csv"))
    jobs = by_hand(write, "node,from\nb,120\n", "submit,duration,gpus\n0,600,8\n", nodes)
    with pytest.raises(SolverError, match=r"fifo: at 120 s jobs wait, .*; the run is stuck \(1 node has failed for "):
        mlsched.simulate(jobs, "fifo")


def test_a_node_that_has_failed_takes_nothing_even_when_it_is_empty(write) -> None:
    log = "submit,duration,gpus\n60,60,4\n60,60,4\n"
    run = mlsched.simulate(by_hand(write, "node,from,to\n0,0,600\n", log), "fifo")
    assert run.violations() == []
    assert run.log.places == [(1,), (1,)]


def test_files_of_failures(write) -> None:
    nodes = str(write("name,gpus\na,4\nb,4\n", "nodes.csv"))
    dates = "submit,duration,gpus\n2024-01-01 10:00:00,600,4\n"
    rows = "node;down;up\nb;2024-01-01 10:02:00;2024-01-01 10:05:00\na;2024-01-01 10:05:00;\nb;2023-01-01;2023-01-02\n"
    jobs = by_hand(write, rows, dates, nodes)
    assert jobs.failure_node.tolist() == [1, 0]
    assert jobs.failure_from.tolist() == [2, 5]
    assert jobs.failure_to.tolist() == [5, 2**31 - 1]
    for text, log, message in (
        (
            "node,from,to\nc,1,2\n",
            "submit,duration,gpus\n0,600,4\n",
            "line 2: node 'c' is not one of the cluster's 2 nod",
        ),
        (
            "node,from,to\na,5,2\n",
            "submit,duration,gpus\n0,600,4\n",
            "line 2: to: '2', expected after from; fix or remove",
        ),
        (
            "node,to\na,5\n",
            "submit,duration,gpus\n0,600,4\n",
            "column 'from' is missing; name its columns node, from, to",
        ),
        ("node,from\na,5\n", dates, "from is a number, and the log's times are dates without a zone; write them alike"),
        ("node,from\na,2024-01-01 10:00:00Z\n", dates, "from is a time of day with a zone, and the log's times"),
        (
            "node,from,to\na,2024-01-01 10:00:00+01:00,2024-01-01 10:05:00\n",
            dates.replace("10:00:00", "10:00:00Z"),
            "to is a time of day, and the log's times are dates with a zone; write them alike",
        ),
        ("node,from\na,\n", dates, "line 2: from: '', expected a time"),
    ):
        with pytest.raises(InvalidInput) as caught:
            by_hand(write, text, log, nodes)
        assert message in str(caught.value)


@st.composite
def failing(draw: st.DrawFn):
    """Workloads whose nodes fail for some time."""
    jobs = draw(strategies.workloads(gpus=True))
    count = len(jobs.node_capacity)
    times = st.tuples(st.integers(0, count - 1), st.integers(0, 20), st.integers(1, 6))
    rows = np.array(draw(st.lists(times, min_size=1, max_size=5)), dtype=np.int64)
    node, start, length = rows.T
    return jobs.replace(failure_node=node, failure_from=start, failure_to=start + length, movement="anytime")


@settings(max_examples=draws(25, 1500), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(failing(), st.sampled_from(RULES), st.sampled_from(["checkpoint", "scratch"]), st.sampled_from(["none", "keep"]))
def test_every_run_passes_the_replay_and_every_snapshot_is_valid(jobs, rule: str, restart: str, pausing: str) -> None:
    implied = "keep" if rule in ("srpt:preempt=true", "las", "tiresias") else pausing
    run = mlsched.simulate(jobs, rule, options={"restart": restart, "pausing": implied}, record=1.0)
    assert run.violations() == []
    for decision in run.recorded:
        decision.instance.check()
    found = run.summary()
    assert found["failed_runs"] == sum(row[-1] == FAIL for row in run.log.rows)
    for name, bound in run.bound.items():
        assert found[name] >= bound


@settings(max_examples=draws(12, 500), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(failing(), st.data())
def test_the_replay_notices_what_is_not_so(jobs, data) -> None:
    run = mlsched.simulate(jobs, "best-effort-fifo")
    failed = [number for number, row in enumerate(run.log.rows) if row[-1] == FAIL]
    if not failed:
        return
    number = data.draw(st.sampled_from(failed))
    row = run.log.rows[number]
    run.log.rows[number] = (*row[:2], row[2] + 1, *row[3:])
    assert SIMULATION.violations(jobs, run.options, run.scheduling_events, run.log), "it stayed a tick longer"
    run.log.rows[number] = (*row[:-1], 0)
    assert SIMULATION.violations(jobs, run.options, run.scheduling_events, run.log), "it did not pause by itself"
    run.log.rows[number] = row
    without = jobs.replace(failure_node=(), failure_from=(), failure_to=())
    assert SIMULATION.violations(without, run.options, run.scheduling_events, run.log), "nothing failed"
