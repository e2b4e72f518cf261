"""A round made of choices: legal whatever is chosen, MLF-H's own where its choices are taken, and never stuck."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from mlf_examples import snapshot

from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.heuristics.taskgraph.preemption import QUEUEING
from mlsched.simulation.taskgraph.allocation import FEATURES, FEATURES_OF, GIVE, HOST, LEAVE, NEXT, Allocation, chosen
from mlsched.simulation.taskgraph.competition_features import OF_COMPETITION
from mlsched.simulation.taskgraph.strategies import snapshots


def at_random(rng, features=FEATURES):
    """Any allowed row; on the way, rows and masks are looked at."""

    def choose(due):
        rows, mask = due.rows(), due.mask
        assert rows.shape == (len(mask), features)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        assert (np.abs(rows) <= 1).all()
        assert mask.sum() > 1 or not mask[0]
        return int(rng.choice(np.flatnonzero(mask)))

    return choose


@settings(max_examples=draws(36, 600))
@given(
    seen=snapshots(),
    seed=st.integers(0, 99),
    stopping=st.booleans(),
    most=st.sampled_from([0, 1, 2]),
    queueing=st.sampled_from(QUEUEING),
)
def test_whatever_is_chosen_the_round_is_legal(seen, seed, stopping, most, queueing):
    last = seen.stop_after if stopping else stops_after(seen, "most")
    if queueing == "iteration" and seen.simulator == "iterations":
        seen = seen.replace(pausing="keep")
    due = Allocation(seen, last, stopping=stopping, most=most, queueing=queueing)
    assert seen.violations(chosen(due, at_random(np.random.default_rng(seed), FEATURES_OF[queueing]))) == []


def test_nothing_may_be_chosen_only_while_something_goes_on():
    waits = [({}, [((1,), {})]), ({}, [((1,), {})])]
    due = Allocation(snapshot(0, waits, nodes=[(1,), (1,)]), np.ones(2, dtype=np.int64))
    assert due.kind == NEXT
    assert due.mask.tolist() == [False, True, True]
    due.take(1)
    assert due.kind == HOST
    assert due.mask.tolist() == [False, True, True]
    due.take(2)
    assert due.kind == NEXT
    assert due.mask.tolist() == [True, True]
    due.take(0)
    assert due.kind is None
    assert (due.round().start_task.tolist(), due.round().start_node.tolist()) == ([0], [1])


def crowded(**changes):
    """Two tasks that use more than nine tenths of a node's CPUs, and an empty node."""
    busy = [({}, [((40,), {"node": 0, "usage": (50,)})]), ({}, [((40,), {"node": 0, "usage": (45,)})])]
    return snapshot(5, busy, nodes=[(100,), (100,)], resources=("cpu",), **changes)


def test_a_task_leaves_an_overloaded_node_and_moves_to_another_one():
    due = Allocation(crowded(movement="anytime", pausing="keep"), np.ones(2, dtype=np.int64))
    assert due.kind == LEAVE
    tasks, _ = due.offered()
    due.take(1 + tasks.tolist().index(1))
    assert due.kind == NEXT
    due.take(1)
    tasks, nodes = due.offered()
    assert (tasks.tolist(), nodes.tolist()) == ([1, 1], [0, 1])
    due.take(2)
    round_ = due.round()
    assert (round_.migrate_task.tolist(), round_.migrate_node.tolist()) == ([1], [1])


def test_what_left_and_is_not_placed_pauses_where_that_loses_no_work():
    for pausing, pauses in (("keep", [0]), ("none", [])):
        due = Allocation(crowded(movement="anytime", pausing=pausing), np.ones(2, dtype=np.int64))
        due.take(1 + due.offered()[0].tolist().index(0))
        due.take(0)
        assert due.kind is None
        assert due.round().pause_task.tolist() == pauses
        assert not len(due.round().migrate_task)


def test_nothing_leaves_without_migration_and_overloaded_nodes_are_no_hosts():
    seen = crowded(movement="anytime", pausing="keep")
    assert Allocation(seen, np.ones(2, dtype=np.int64), migration=False).kind is None
    waits = [({}, [((40,), {"node": 0, "usage": (95,)})]), ({}, [((10,), {})])]
    due = Allocation(
        snapshot(5, waits, nodes=[(100,), (100,)], resources=("cpu",)), np.ones(2, dtype=np.int64), migration=False
    )
    due.take(1)
    assert due.offered()[1].tolist() == [1]


def full(waiting, **changes):
    """Two jobs that run and fill a node each, with ten and two iterations left, and jobs that wait for so much."""
    runs = [({"max_iterations": left}, [((4,), {"node": n, "duration": 5})]) for n, left in enumerate((10, 2))]
    waits = [({}, [((amount,), {"duration": 5})]) for amount in waiting]
    fields = {"pausing": "keep", "simulator": "iterations"} | changes
    return snapshot(5, runs + waits, nodes=[(4,), (4,)], resources=("cpu",), **fields)


def giving_way(seen):
    """The round begins with who gives way: the jobs that are offered, in order of their priority, the lowest first."""
    due = Allocation(seen, seen.max_iterations, queueing="iteration")
    assert due.kind == GIVE
    assert due.mask.tolist() == [True, True, True]
    assert due.offered()[0].tolist() == [0, 1]
    assert due.rows()[:, GIVE].tolist() == [1, 1, 1]
    return due


def test_what_gives_way_pauses_where_another_takes_its_place():
    due = giving_way(full([4]))
    due.take(1)
    assert (due.kind, due.offered()[0].tolist()) == (GIVE, [1])
    due.take(0)
    assert (due.kind, due.mask.tolist()) == (NEXT, [True, True])
    due.take(1)
    assert due.offered()[1].tolist() == [0]
    due.take(1)
    assert due.kind is None
    round_ = due.round()
    assert (round_.start_task.tolist(), round_.start_node.tolist(), round_.pause_task.tolist()) == ([2], [0], [0])


def test_what_gives_way_goes_on_where_nobody_takes_its_place_and_others_start_beside_it():
    seen = full([4, 1], node_capacity=[[4], [5]])
    due = giving_way(seen)
    due.take(2)
    due.take(0)
    assert due.kind == NEXT
    due.take(0)  # nobody before what gave way, which returns; what still fits is offered once more
    assert (due.kind, due.offered()[0].tolist(), due.away) == (NEXT, [3], [])
    due.take(1)
    due.take(1)
    round_ = due.round()
    assert (round_.start_task.tolist(), round_.start_node.tolist(), round_.pause_task.tolist()) == ([3], [1], [])


def test_where_all_gave_way_nothing_may_be_chosen_and_all_go_on():
    due = giving_way(full([4, 1], node_capacity=[[4], [5]]))
    due.take(1)
    due.take(1)
    assert (due.kind, due.mask[0], due.away) == (NEXT, True, [0, 1])
    due.take(0)
    assert (due.kind, due.mask.tolist(), due.away) == (NEXT, [True, True], [])
    due.take(0)  # they go on, so that nothing must start
    round_ = due.round()
    assert (round_.start_task.tolist(), round_.pause_task.tolist()) == ([], [])


def test_of_those_that_gave_way_the_highest_priority_goes_on_where_there_is_room():
    """Both held half of the first node; what starts takes a half."""
    runs = [({"max_iterations": left}, [((2,), {"node": 0, "duration": 5})]) for left in (10, 2)]
    fields = {"resources": ("cpu",), "pausing": "keep", "simulator": "iterations"}
    seen = snapshot(5, [*runs, ({}, [((2,), {"duration": 5})])], nodes=[(4,)], **fields)
    due = giving_way(seen)
    for row in (1, 1, 1, 1):
        due.take(row)
    round_ = due.round()
    assert (round_.start_task.tolist(), round_.pause_task.tolist()) == ([2], [0])


def test_nobody_is_asked_to_give_way_where_nothing_waits_or_a_job_holds_its_nodes():
    assert Allocation(full([]), full([]).max_iterations, queueing="iteration").kind is None
    assert Allocation(full([4]), full([4]).max_iterations).kind is None
    with pytest.raises(InvalidInput, match=r"queueing = iteration: .* \(pausing = 'none'\)"):
        Allocation(full([4], pausing="none"), full([4]).max_iterations, queueing="iteration")
    with pytest.raises(InvalidInput, match="queueing"):
        Allocation(full([4]), full([4]).max_iterations, queueing="always")


def test_rows_say_how_jobs_stand_to_each_other():
    """By what is left: the second running job (10 ticks), the waiting one (5), the first (50), of a cluster of 8."""
    seen = full([4])
    due = Allocation(seen, seen.max_iterations, queueing="iteration")
    rows = dict(zip(OF_COMPETITION, due.rows()[1:, FEATURES:].T.tolist(), strict=True))
    assert rows["waits, of the cluster"] == pytest.approx([np.log2(1.5) / 6] * 2)
    assert rows["ahead by what is left, of the cluster"] == [0.5, 0.25]
    assert rows["within the cluster by what is left"] == [0, 1]
    assert rows["gave way, of the cluster"] == [0, 0]
    due.take(1)
    assert due.rows()[:, FEATURES + 1].tolist() == [0.5, 0.5]


def test_h_r_must_be_above_0():
    with pytest.raises(InvalidInput, match="h_r"):
        Allocation(crowded(), np.ones(2, dtype=np.int64), h_r=0.0)
