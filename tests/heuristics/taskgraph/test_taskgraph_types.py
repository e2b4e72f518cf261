"""Rules that see the rates of types of nodes: where they start jobs, when they wait, and when they move.

Node 0 is of the fast type, node 1 of the slow one, a GPU each, unless a test says otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from gang_examples import gang_workloads
from gangs_exhausted import typed, typed_workload
from hypothesis import given, settings
from jobs_examples import jobs_of, rows

from mlsched import api
from mlsched.core.registry import registry

pytestmark = pytest.mark.filterwarnings("ignore:the offered load")
M = 10**6


def made(jobs, slow, **changes):
    """Jobs of one GPU, (arrival, ticks on the fast type); on the slow one they take `slow` times as long, each its own.

    0: they cannot run there.
    """
    return jobs_of(
        [[(1, 1)]] * len(jobs),
        [(arrival, k, ticks) for k, (arrival, ticks) in enumerate(jobs)],
        **{
            "nodes": ((1,), (1,)),
            "eligible": [[1, int(times > 0)] for times in slow],
            "task_class": list(range(len(jobs))),
            "node_type": [0, 1],
            "slowness": [[M, int(max(times, 1) * M)] for times in slow],
            "tick_ms": 1000,
            "movement": "anytime",
            **changes,
        },
    )


def played(load, rule):
    run = api.simulate(load, rule)
    assert run.violations() == []
    return sorted((row["job"], row["start"], row["end"], row["nodes"][0]) for row in rows(run.log))


def test_the_shortest_job_takes_the_fastest_type():
    load = made([(0, 9), (0, 4)], [2, 3])
    assert played(load, "fastest-first") == [(0, 0, 18, 1), (1, 0, 4, 0)]
    assert played(load, "fastest-first:order=arrival") == [(0, 0, 9, 0), (1, 0, 12, 1)]


def test_a_job_is_as_long_as_where_it_is_fastest():
    """Job 0 takes 8 ticks as stated, and 2 on the other type; job 1 takes 4, and cannot run there."""
    load = made([(0, 8), (0, 4), (0, 3)], [2, 0, 0], slowness=[[M, M // 4], [M, M], [M, M]])
    assert played(load, "fastest-first") == [(0, 0, 2, 1), (1, 3, 7, 0), (2, 0, 3, 0)]


@pytest.mark.parametrize(("cost", "moved"), [(0, True), (2, True), (40, False)])
def test_a_running_job_goes_over_to_a_faster_type_if_that_pays(cost, moved):
    """At 3 the fast node is free: job 1 has 37 of 40 ticks left, or 9 1/4 there and what a move costs."""
    load = made([(0, 3), (0, 10)], [4, 4], pause_cost=[cost * M] * 2)
    found = played(load, "fastest-first:preempt=true")
    assert found[:2] == [(0, 0, 3, 0), (1, 0, 3 if moved else 40, 1)]
    assert found[2:] == ([(1, 3, 3 + cost + 10, 0)] if moved else [])


def test_what_goes_over_leaves_its_node_to_others_at_once():
    """Job 2 cannot run on the fast node."""
    load = made([(0, 3), (0, 10), (0, 20)], [4, 4, 2], eligible=[[1, 1], [1, 1], [0, 1]])
    assert played(load, "fastest-first:preempt=true")[-1] == (2, 3, 43, 1)


def test_the_earliest_finish_may_be_worth_waiting_for():
    """Job 1 would take 20 ticks on the slow node; from 4 on it takes 5 on the fast one. Job 2 takes 6 there, or 8."""
    load = made([(0, 4), (0, 5), (0, 6)], [3, 4, 4 / 3])
    assert played(load, "earliest-finish") == [(0, 0, 4, 0), (1, 4, 9, 0), (2, 0, 8, 1)]
    assert played(load, "fifo")[1][0] == 1
    assert (
        api.simulate(load, "earliest-finish").summary()["total_jct"] < api.simulate(load, "srpt").summary()["total_jct"]
    )


def test_the_earliest_finish_with_the_shortest_first():
    load = made([(0, 8), (0, 2)], [1.5, 3])
    assert played(load, "earliest-finish:order=shortest") == [(0, 2, 10, 0), (1, 0, 2, 0)]
    assert played(load, "earliest-finish") == [(0, 0, 8, 0), (1, 0, 6, 1)]


def test_a_gang_takes_the_fastest_type_that_has_room_for_all_of_it():
    """Two nodes of each type; a job of one GPU holds one of the fast nodes."""
    load = jobs_of(
        [[(1, 1)], [(1, 1), (1, 1)]],
        [(0, 0, 4), (1, 1, 6)],
        nodes=((1,),) * 4,
        eligible=[[1] * 4],
        node_type=[0, 0, 1, 1],
        slowness=[[M, 2 * M]],
        tick_ms=1000,
    )
    for rule, start, end, nodes in (("fastest-first", 1, 13, {2, 3}), ("earliest-finish", 4, 10, {0, 1})):
        row = next(row for row in rows(api.simulate(load, rule).log) if row["job"] == 1)
        assert (row["start"], row["end"], set(row["nodes"])) == (start, end, nodes)


SEEN = ("fastest-first", "fastest-first:order=arrival", "fastest-first:preempt=true", "earliest-finish")


@pytest.mark.parametrize("seed", range(draws(5, 300)))
def test_runs_on_types_are_sound_and_not_below_the_bound(seed):
    load = typed_workload(*typed(np.random.default_rng(5000 + seed)))
    for rule in (*SEEN, "earliest-finish:order=shortest", "fastest-first:preempt=true,size=time"):
        run = api.simulate(load, rule)
        assert run.violations() == []
        assert run.bound["total_jct"] <= run.summary()["total_jct"]
        assert run.bound["makespan"] <= run.summary()["makespan"]


@settings(max_examples=draws(6, 500))
@given(load=gang_workloads())
def test_where_nodes_are_alike_the_fastest_is_as_any(load):
    pairs = [("fastest-first", "srpt"), ("fastest-first:preempt=true", "srpt:preempt=true")]
    for rule, plain in [*pairs, ("fastest-first:order=arrival", "best-effort-fifo")]:
        found, known = api.simulate(load, rule), api.simulate(load, plain)
        assert (found.log.rows, found.log.places) == (known.log.rows, known.log.places)


@pytest.mark.parametrize("name", ["fastest-first", "earliest-finish"])
def test_what_they_see_is_declared(name):
    assert registry().solver("taskgraph", name)[0].information == "profiled"
