"""Harmony's states and actions: what is seen, what is valid, and that every placement can be reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_examples import small

from mlsched.core.errors import InvalidInput
from mlsched.instances import strategies
from mlsched.simulation.placement.board import Board, Shape

ONLY = np.array([0])


def board_of(instance, new=2, running=3):
    shape = Shape(len(instance.types), len(instance.server_free), len(instance.resources), new, running)
    board = Board(shape, 1, instance.apart)
    board.read(instance, np.arange(len(instance.types)))
    return board


def number(shape, job, kind, server):
    return (2 * job + kind) * shape.servers + server


def test_sizes_are_those_of_the_paper():
    shape = Shape(types=6, servers=6, resources=3, new=6, running=12)
    assert shape.actions == 2 * 6 * 6
    n, m, k, types = 18, 6, 3, 6
    assert shape.features == n * types + n * 2 * (1 + k) + 2 * n + m * k + m * 2 * n
    with pytest.raises(InvalidInput, match="servers"):
        Shape(1, 0, 1, 1, 1)


def test_features_of_a_question_by_hand():
    board = board_of(small(run_type=[1], job_workers=[3, 1]), new=2, running=1)
    board.act(ONLY, np.array([number(board.shape, 0, 1, 1)]))
    seen = board.features(ONLY)[0]
    jobs = seen[: 3 * board.shape.of_job].reshape(3, -1)
    # x | workers, demand of one | PSs, demand of one | w, p; the job that runs has a worker and a PS.
    assert jobs[0].tolist() == pytest.approx([1, 0, 1, 1 / 4, 1 / 3, 1 / 4, 0, 1 / 3])
    assert jobs[1].tolist() == pytest.approx([1, 0, 1 / 3, 1 / 4, 1 / 3, 1 / 4, 0, 0])
    assert jobs[2].tolist() == pytest.approx([0, 1, 1 / 3, 0, 1 / 3, 0, 1 / 3, 1 / 3])
    servers = seen[3 * board.shape.of_job :].reshape(2, -1)
    assert servers[0].tolist() == pytest.approx([1, 0, 0, 0, 0, 0, 0])
    assert servers[1].tolist() == pytest.approx([1 / 4, 0, 1 / 3, 0, 0, 1 / 3, 1 / 3])


def test_a_job_that_is_begun_is_finished_or_taken_back():
    # Two servers with two cores each: the first job's three workers leave no room for both of its PSs.
    board = board_of(small(job_workers=[3, 1], job_ps=[2, 1]))
    shape = board.shape
    for server in (0, 0, 1):
        board.act(ONLY, np.array([number(shape, 0, 0, server)]))
    assert np.flatnonzero(board.valid(ONLY)[0]).tolist() == [number(shape, 0, 1, 1)]
    board.act(ONLY, np.array([number(shape, 0, 1, 1)]))
    # Nothing of it fits any more: it waits, all servers are free again, and the second job is next.
    assert set(np.flatnonzero(board.valid(ONLY)[0]) // (2 * shape.servers)) == {1}
    assert board.free[0].tolist() == [[2], [2]]


def test_caps_and_apart_are_kept():
    board = board_of(small(most_new=0))
    assert not board.valid(ONLY).any()
    board = board_of(small(apart=[[0, 1], [1, 0]]))
    assert set(np.flatnonzero(board.valid(ONLY)[0]) % 2) == {0}


@given(instance=strategies.placement(), seed=st.integers(0, 2**31))
@settings(max_examples=40)
def test_random_actions_lead_to_feasible_plans(instance, seed):
    rng = np.random.default_rng(seed)
    board = board_of(instance, new=2, running=max(2, len(instance.run_type)) + 2)
    if not len(instance.job_type):
        return
    while (valid := board.valid(ONLY)[0]).any():
        board.act(ONLY, np.array([rng.choice(np.flatnonzero(valid))]))
        assert (board.free >= 0).all()
    assert instance.violations(board.plan(instance)) == []


def test_rows_do_not_see_each_other():
    instances = [small(), small(job_type=[1, 0], server_free=[[1], [2]])]
    board = Board(Shape(2, 2, 1, 2, 3), 2)
    for row, instance in enumerate(instances):
        board.read(instance, np.arange(2), row)
    both = np.arange(2)
    alone = [board_of(instance) for instance in instances]
    for row, one in enumerate(alone):
        assert (board.features(both)[row] == one.features(ONLY)[0]).all()
        assert (board.valid(both)[row] == one.valid(ONLY)[0]).all()
