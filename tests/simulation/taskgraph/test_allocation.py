"""A round made of choices: legal whatever is chosen, MLF-H's own where its choices are taken, and never stuck."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from mlf_examples import snapshot

from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph._measures import stops_after
from mlsched.heuristics.taskgraph.mlf_h import Settings, decided, made_round
from mlsched.simulation.taskgraph.allocation import FEATURES, HOST, LEAVE, NEXT, Allocation, chosen
from mlsched.simulation.taskgraph.strategies import snapshots
from mlsched.training.taskgraph._episodes import episode, follow, nothing, workload


def at_random(rng):
    """Any allowed row; on the way, rows and masks are looked at."""

    def choose(due):
        rows, mask = due.rows(), due.mask
        assert rows.shape == (len(mask), FEATURES)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        assert (np.abs(rows) <= 1).all()
        assert mask.sum() > 1 or not mask[0]
        return int(rng.choice(np.flatnonzero(mask)))

    return choose


@settings(max_examples=draws(60, 600))
@given(seen=snapshots(), seed=st.integers(0, 99), stopping=st.booleans(), most=st.sampled_from([0, 1, 2]))
def test_whatever_is_chosen_the_round_is_legal(seen, seed, stopping, most):
    last = seen.stop_after if stopping else stops_after(seen, "most")
    due = Allocation(seen, last, stopping=stopping, most=most)
    assert seen.violations(chosen(due, at_random(np.random.default_rng(seed)))) == []


def test_the_choices_of_mlf_h_make_its_round():
    counts = {"followed": 0, "all": 0}
    kept = nothing()

    def answer(seen, rng):
        last = stops_after(seen, "most")
        placed, leaving, hosts = decided(seen, last, Settings())
        due = Allocation(seen, last)
        counts["all"] += 1
        expected = made_round(hosts, placed, leaving, last)
        if follow(due, placed, leaving, [hosts.held[task][0] for task in placed], kept):
            counts["followed"] += 1
            assert due.round() == expected
        return expected

    episode(workload(3, 12, 2, 1.0, 2.0, first=True), answer, 0, 0)
    assert counts["followed"] >= 0.9 * counts["all"]
    assert len(kept.rows) == len(kept.row) == len(kept.time) > 0
    assert all(0 <= row < len(rows) for rows, row in zip(kept.rows, kept.row, strict=True))


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


def test_h_r_must_be_above_0():
    with pytest.raises(InvalidInput, match="h_r"):
        Allocation(crowded(), np.ones(2, dtype=np.int64), h_r=0.0)
