"""LRTP: longest true remaining time first, cluster-wide, no roll-back."""

from __future__ import annotations

import pytest
from preemption_examples import row, small

from mlsched import api


def answer(instance, **params):
    plan = api.solve(instance, "lrtp", **params).plan
    return plan.te_node.tolist(), plan.victims.tolist()


def test_victims_that_turn_out_useless_are_not_rolled_back():
    # Job 1 has the longest remaining time but frees too little on node 0; then job 2 makes room on node 1.
    inst = small()
    assert answer(inst) == ([1], [1, 2])
    assert inst.violations(inst.plan_type(te_node=[1], victims=[2])) == [], "job 1 was suspended for nothing"


@pytest.mark.parametrize(
    ("remaining", "expected"),
    [
        ([300, 200, 100], ([0], [0])),
        ([100, 200, 300], ([1], [2])),
        ([200, 300, 100], ([0], [0, 1])),
        ([7, 7, 7], ([0], [0])),  # ties: the lowest index
    ],
)
def test_the_longest_remaining_goes_first(remaining, expected):
    assert answer(small(job_remaining=remaining)) == expected


def test_jobs_at_the_limit_are_passed_over():
    assert answer(small(job_preemptions=[0, 1, 0])) == ([1], [2])
    assert answer(small(job_preemptions=[0, 0, 1], preemption_limit=2), P=1) == ([0], [0, 1])


def test_room_made_in_vain_serves_the_next_te_job():
    # TE 0 suspends jobs 1 (useless) and 2; TE 1 then fits into what job 1 left on node 0: no further victim.
    assert answer(small(te_demand=[[5, 2], [4, 2]])) == ([1, 0], [1, 2])


def test_nothing_is_suspended_when_it_cannot_help():
    assert answer(row([2, 2], [5])) == ([-1], [])


def test_no_randomness():
    assert len({str(answer(small(), seed=s)) for s in range(5)}) == 1


def test_it_declares_that_it_knows_the_truth():
    from mlsched.core.registry import registry

    assert registry().solvers["preemption", "lrtp"].information == "oracle"
