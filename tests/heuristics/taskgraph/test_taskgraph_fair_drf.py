"""Fair and DRF: who is served next, by running tasks and by dominant share."""

from __future__ import annotations

import pytest
from jobs_examples import jobs_of
from snapshot_examples import greedy, horizon, play

from mlsched import api
from mlsched.core.errors import InvalidInput


def started(snapshot, rule) -> list[int]:
    """Jobs in the order in which their tasks are started."""
    plan = api.solve(snapshot, rule).plan
    return snapshot.task_job[plan.start_task].tolist()


def test_fair_gives_every_job_as_many_running_tasks():
    inst = horizon([(0, 1, [(9, 1)] * 4), (0, 1, [(9, 1)] * 4), (0, 1, [(9, 1)])], nodes=[(6,)])
    assert started(play(inst, greedy())[2][0], "fair") == [0, 1, 2, 0, 1, 0]


def test_fair_counts_what_runs_already():
    """Job 0 holds both nodes' first GPUs when job 1 comes: two tasks of it come first, then they take turns."""
    inst = horizon([(0, 1, [(9, 1)] * 2 + [(1, 3)]), (1, 1, [(9, 1)] * 4)], nodes=[(3,), (2,)])
    first = play(inst, greedy())[2][1]
    assert first.state.tolist()[:3] == [1, 1, 0]
    assert started(first, "fair") == [1, 1, 1]


#: Ghodsi et al.'s example (Section 4.1): 9 CPUs and 18 GB; A's tasks need (1, 4), B's (3, 1).
PAPER = horizon([(0, 1, [(9, 1, 4)] * 9), (0, 1, [(9, 3, 1)] * 9)], nodes=[(9, 18)], resources=("cpu", "memory"))


def test_drf_gives_the_allocation_of_its_paper():
    snapshot = play(PAPER, greedy())[2][0]
    order = started(snapshot, "drf")
    assert (order.count(0), order.count(1)) == (3, 2)
    # Table 1: B's first task comes second, as A has 4/18 by then, B nothing.
    assert order == [0, 1, 0, 1, 0] or order == [0, 1, 0, 0, 1]


def test_drf_differs_from_fair_where_tasks_differ():
    inst = horizon([(0, 1, [(9, 4)] * 2), (0, 1, [(9, 1)] * 8)], nodes=[(8,)])
    snapshot = play(inst, greedy())[2][0]
    assert started(snapshot, "drf") == [0, 1, 1, 1, 1]
    assert started(snapshot, "fair") == [0, 1, 1, 1, 1] or started(snapshot, "fair") == [0, 1, 0]


def test_per_user_the_jobs_of_a_user_share_what_is_its():
    """Users 7 and 3: the first two jobs are one user's, the third another's; all ask for single GPUs."""
    inst = horizon([(0, 1, [(9, 1)] * 3), (0, 1, [(9, 1)] * 3), (0, 1, [(9, 1)] * 3)], nodes=[(6,)])
    snapshot = play(inst, greedy())[2][0].replace(user=[7, 7, 3])
    for rule in ("fair", "drf"):
        assert started(snapshot, f"{rule}:per=user") == [0, 2, 0, 2, 0, 2]
        assert sorted(started(snapshot, rule)) == [0, 0, 1, 1, 2, 2]


def test_what_a_users_other_jobs_hold_counts_for_it():
    """Job 0 runs on 2 of 5 GPUs when two more jobs come, of its user and of another: the other has two tasks first."""
    inst = horizon([(0, 1, [(9, 1)] * 2), (1, 1, [(9, 1)] * 2), (1, 1, [(9, 1)] * 3)], nodes=[(5,)])
    snapshot = play(inst, greedy())[2][1].replace(user=[1, 1, 2])
    for rule in ("fair", "drf"):
        assert started(snapshot, f"{rule}:per=user") == [2, 2, 1]
        assert started(snapshot, rule) == [1, 2, 1]


def test_gangs_of_a_user_are_served_whole():
    load = jobs_of([[(9, 1)] * 2], [(0, 0, 1), (0, 0, 1), (0, 0, 1)], nodes=[(4,)], user=[1, 1, 2])
    assert api.simulate(load, "fair:per=user").jobs["start"].tolist() == [0, 9, 0]
    assert api.simulate(load, "drf:per=user").jobs["start"].tolist() == [0, 9, 0]


def test_shares_are_of_jobs_or_of_users():
    inst = horizon([(0, 1, [(9, 1)])])
    with pytest.raises(InvalidInput, match="per: 'group', expected one of job, user"):
        api.solve(inst, "fair:per=group")
