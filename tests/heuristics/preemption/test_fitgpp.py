"""FitGpp: Eq. 4 by hand, ties, the random fallback, parameters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from preemption_examples import row, small

from mlsched import api
from mlsched.core.errors import MlschedError
from mlsched.heuristics.preemption.fitgpp import Way, answer_with_ways
from mlsched.instances import strategies


def answer(instance, seed: int = 0, **params):
    plan = api.solve(instance, "fitgpp", seed=seed, **params).plan
    return plan.te_node.tolist(), plan.victims.tolist()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ([1], [2])),  # jobs 0 and 2 suffice alone: scores 2.67 and 1
        ({"job_preemptions": [0, 0, 1]}, ([0], [0])),  # job 2 is at the limit
        ({"te_demand": [[4, 2]], "job_preemptions": [0, 0, 1]}, ([0], [0])),  # 0 and 1 suffice: 2.67 and 4.59
        ({"te_demand": [[4, 2]], "job_preemptions": [1, 0, 1]}, ([0], [1])),
        ({"te_demand": [[5, 2], [5, 2]]}, ([1, 0], [2, 0])),  # the second TE job finds node 1 taken
        ({"te_demand": [[4, 2], [4, 2]]}, ([1, 1], [2])),  # one victim makes room for both
        ({"te_demand": [[9, 1]]}, ([-1], [])),
        ({"te_demand": [[9, 1], [5, 2]]}, ([-1, 1], [2])),  # one that cannot fit does not block the next
        ({"te_demand": [[2, 1]]}, ([1], [])),
        ({"job_grace": [0, 0, 60]}, ([0], [0])),  # now job 2 waits longest: 1 + 4 against 2/3
    ],
)
def test_equation_4_by_hand(changes, expected):
    te_node, victims = answer(small(**changes))
    assert (te_node, sorted(victims)) == (expected[0], sorted(expected[1]))


def test_ties_go_to_the_lowest_index():
    assert answer(row([2, 2], [2])) == ([0], [0])
    assert answer(row([2, 2], [2], job_preemptions=[1, 0, 0, 0])) == ([0], [1])
    assert answer(row([2, 2], [2], job_preemptions=[1, 1, 0, 0])) == ([1], [2])


def test_s_weighs_the_grace_period():
    # Job 0: size 2/3, grace 60 of 120; job 2: size 1, no grace. They tie at s = 2/3.
    inst = small()
    assert answer(inst, s=0) == ([0], [0])
    assert answer(inst, s=0.6) == ([0], [0])
    assert answer(inst, s=0.7) == ([1], [2])
    assert api.solve(inst, "fitgpp:s=0").plan.victims.tolist() == [0]


def test_the_rules_own_p_is_stricter_than_the_instance():
    inst = small(job_preemptions=[0, 0, 2], preemption_limit=5)
    assert answer(inst) == ([1], [2])
    assert answer(inst, P=2) == ([0], [0])
    assert answer(inst, P=3) == ([1], [2])
    assert answer(small(job_preemptions=[1, 1, 1]), P=9) == ([-1], []), "the instance's limit of 1 holds"
    assert api.solve(inst, "fitgpp:P=inf").plan.victims.tolist() == [2]


def until_a_node_fits(instance, order) -> list[int]:
    """Suspend in `order` until some node has room for the only TE job; written without the library's bookkeeping."""
    for k in range(1, len(order) + 1):
        chosen = [int(j) for j in order[:k]]
        for node in range(len(instance.node_capacity)):
            released = sum(instance.job_demand[j] for j in chosen if instance.job_node[j] == node)
            if (instance.te_demand[0] <= instance.node_free[node] + instance.node_draining[node] + released).all():
                return sorted(chosen)
    raise AssertionError("no order of all jobs makes room")


def test_when_no_single_job_suffices_random_jobs_are_suspended_until_a_node_fits():
    inst = row([2, 2, 2], [6])
    found = set()
    for seed in range(12):
        expected = until_a_node_fits(inst, np.random.default_rng(seed).permutation(6))
        te_node, victims = answer(inst, seed)
        assert victims == expected
        assert len(victims) >= 3
        assert inst.job_node[victims].tolist().count(te_node[0]) == 3
        assert answer(inst, seed) == (te_node, victims), "the seed decides"
        found.add(tuple(victims))
    assert len(found) > 1, "the fallback is random"


@pytest.mark.parametrize("fallback", ["random", "again"])
@pytest.mark.parametrize(
    ("instance", "ways"),
    [
        (small(te_demand=[[2, 1], [5, 2], [9, 1]]), [Way.ROOM, Way.ONE_VICTIM, Way.WAITS]),
        (row([2, 2, 2], [6]), [Way.FALLBACK]),
        (row([2, 2], [4, 2, 9]), [Way.FALLBACK, Way.ONE_VICTIM, Way.WAITS]),
    ],
)
def test_it_tells_in_which_way_a_te_job_is_served(instance, ways, fallback):
    plan, found = answer_with_ways(instance, rng=np.random.default_rng(0), fallback=fallback)
    assert plan == api.solve(instance, "fitgpp", fallback=fallback).plan
    assert found[: len(ways)] == ways or fallback == "random"
    assert found[0] == ways[0]


def test_the_fallback_takes_no_job_at_the_limit():
    inst = row([2, 2, 2], [6], job_preemptions=[0, 0, 0, 0, 1, 0])
    for seed in range(12):
        te_node, victims = answer(inst, seed)
        assert te_node == [0]
        assert {0, 1, 2} <= set(victims) <= {0, 1, 2, 3, 5}


def test_a_job_that_can_never_fit_wastes_no_victim():
    assert answer(row([2, 2], [5])) == ([-1], [])


@given(instance=strategies.preemption(tes=1))
def test_the_single_victim_is_the_cheapest_that_suffices(instance):
    """Eq. 4 by exhaustion: where one victim is enough, FitGpp's is of least score."""
    te_node, victims = answer(instance, s=instance.grace_weight / 1000)
    room = instance.node_free + instance.node_draining
    if (room >= instance.te_demand[0]).all(axis=1).any():
        return
    able = [
        j
        for j, (n, used, at) in enumerate(
            zip(instance.job_node, instance.job_demand, instance.job_preemptions, strict=True)
        )
        if at < instance.preemption_limit and (instance.te_demand[0] <= room[n] + used).all()
    ]
    if able:
        best = min(able, key=lambda j: (int(instance.score[j]), j))
        assert (te_node, victims) == ([int(instance.job_node[best])], [best])


@given(instance=strategies.preemption(tes=1))
def test_with_one_te_job_and_one_victim_enough_it_is_optimal_among_single_victims(instance):
    value = api.solve(instance, "fitgpp", s=instance.grace_weight / 1000).sort_key
    singles = [
        instance.evaluate(plan)["total_score"]
        for node, job in itertools.product(range(len(instance.node_capacity)), range(len(instance.job_node)))
        for plan in [instance.plan_type(te_node=[node], victims=[job])]
        if not instance.violations(plan)
    ]
    if singles:
        assert value <= min(singles)


@pytest.mark.parametrize("params", [{"s": "x"}, {"p": 1}, {"P": 1.5}])
def test_wrong_parameters_are_refused(params):
    with pytest.raises(MlschedError):
        api.solve(small(), "fitgpp", **params)
