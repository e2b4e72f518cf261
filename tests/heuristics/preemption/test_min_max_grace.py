"""The min-max rule: exact for one TE job (against enumeration and CP-SAT), feasible for several, ties by score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from preemption_examples import small

from mlsched import api
from mlsched.heuristics.preemption.min_max_grace import answer
from mlsched.instances import strategies

RNG = np.random.default_rng(0)


def ask(instance, **params):
    return answer(instance, rng=RNG, **params)


@given(instance=strategies.preemption(nodes=4, jobs=8, tes=1))
def test_it_is_exact_for_one_te_job(instance):
    plan = ask(instance)
    best = api.solve(instance, "brute-force", objective="max_grace_period")
    assert instance.violations(plan) == []
    assert instance.evaluate(plan)["max_grace_period"] == best.sort_key


@pytest.mark.parametrize("preset", ["single", "paper", "exhausted"])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_exact_on_generated_instances(preset, seed):
    instance = api.generate("preemption", preset, seed=seed, tes=1)
    best = api.solve(instance, "cp-sat", objective="max_grace_period", hint="none")
    assert best.status == "optimal"
    assert instance.evaluate(ask(instance))["max_grace_period"] == best.sort_key


def spares_nobody(instance):
    """Whether the plan is infeasible without any one of its victims."""
    plan = ask(instance)
    chosen = plan.victims.tolist()
    return all(instance.violations(plan.replace(victims=[j for j in chosen if j != v])) for v in chosen)


@given(instance=strategies.preemption(nodes=4, jobs=8, tes=1))
def test_no_victim_can_be_spared(instance):
    assert spares_nobody(instance)


def test_no_victim_of_several_can_be_spared():
    instances = [api.generate("preemption", "single", seed=seed) for seed in range(12)]
    assert all(spares_nobody(instance) for instance in instances)
    assert sum(ask(instance).victims.size > 1 for instance in instances) >= 2


def test_a_small_job_is_spared_where_a_later_one_makes_room_alone():
    # Node 0: jobs of 1 GPU (60 s) and 3 GPUs (120 s); the TE job wants 3. The first alone does not do, the second does.
    instance = small(
        resources=["gpu"],
        node_capacity=[[4]],
        node_free=[[0]],
        node_draining=[[0]],
        job_node=[0, 0],
        job_demand=[[1], [3]],
        job_grace=[60, 120],
        job_preemptions=[0, 0],
        job_remaining=[1, 1],
        te_demand=[[3]],
    )
    assert ask(instance).victims.tolist() == [1]


def test_ties_go_to_the_least_total_score():
    instance = small(
        resources=["gpu"],
        node_capacity=[[4], [4]],
        node_free=[[0], [1]],
        node_draining=[[0], [0]],
        job_node=[0, 0, 1],
        job_demand=[[2], [2], [3]],
        job_grace=[60, 60, 60],
        job_preemptions=[0, 0, 0],
        job_remaining=[1, 1, 1],
        te_demand=[[3]],
    )
    plan = ask(instance)
    assert (plan.te_node.tolist(), plan.victims.tolist()) == ([1], [2])


def test_its_own_limit_is_kept():
    instance = small()
    assert (instance.job_preemptions[ask(instance, P=1).victims] < 1).all()


@given(instance=strategies.preemption(nodes=3, jobs=6, tes=3))
def test_several_te_jobs_are_served_in_turn(instance):
    plan = ask(instance)
    assert instance.violations(plan) == []
    first = instance.replace(te_demand=instance.te_demand[:1])
    assert plan.te_node[0] == ask(first).te_node[0]
