"""Every registered rule is feasible, pure and never beats the optimum; the greedy rules equal their plain loops."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from quality_examples import generated, small

from mlsched import api
from mlsched.core.registry import registry
from mlsched.heuristics.quality import _select
from mlsched.instances import strategies
from mlsched.instances.quality import PROBLEM, Instance
from mlsched.testing import check_scheduler

RULES = [a for a in registry().available("quality") if a.rule is not None]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda a: a.name)


def ask(rule, instance: Instance) -> list[int]:
    return rule.function(instance, rng=np.random.default_rng(0)).cores.tolist()


def plain_greedy(instance: Instance, key) -> list[int]:
    """Algorithm 1 as it is printed: a queue of jobs by `key(job, cores)`, one core at a time; ties: first arrival."""
    given = [0] * len(instance.most)
    left = instance.available
    queue: list[tuple[int, int]] = []
    for j in instance.running.tolist():
        given[j] = instance.least
        left -= instance.least
        if given[j] < instance.most[j]:
            heapq.heappush(queue, (-key(j, given[j]), j))
    while left > 0 and queue:
        _, j = heapq.heappop(queue)
        given[j] += 1
        left -= 1
        if given[j] < instance.most[j]:
            heapq.heappush(queue, (-key(j, given[j]), j))
    return given


def plain_slaq(instance: Instance) -> list[int]:
    weight, gain = instance.weight.tolist(), instance.gain.tolist()
    return plain_greedy(instance, lambda j, a: weight[j] * (gain[j][a + 1] - gain[j][a]))


def plain_max_min(instance: Instance) -> list[int]:
    weight, loss = instance.weight.tolist(), instance.loss.tolist()
    return plain_greedy(instance, lambda j, a: weight[j] * loss[j][a])


def plain_fair(instance: Instance) -> list[int]:
    """One core at a time to the job with the fewest."""
    return plain_greedy(instance, lambda j, a: -a)


PLAIN = {"slaq": plain_slaq, "slaq-max-min": plain_max_min, "fair": plain_fair}


@every_rule
@settings(max_examples=4 * settings().max_examples)
@given(instance=strategies.quality(jobs=6, cores=14))
def test_every_plan_is_feasible_and_the_instance_untouched(rule, instance):
    before = instance.to_json()
    plan = rule.function(instance, rng=np.random.default_rng(0))
    assert instance.violations(plan) == []
    assert instance.to_json() == before


@pytest.mark.parametrize("rule", sorted(a.name for a in RULES))
def test_the_public_checks_pass(rule, scale):
    assert check_scheduler(rule, "quality", examples=scale).instances == scale


@pytest.mark.parametrize("name", sorted(PLAIN))
@settings(max_examples=draws(60, 10_000))
@given(instance=strategies.quality(jobs=7, cores=30))
def test_greedy_rules_equal_their_plain_loops(name, instance):
    assert api.solve(instance, name).plan.cores.tolist() == PLAIN[name](instance)


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_greedy_rules_equal_their_plain_loops_on_realistic_instances(name, scale):
    for number in range(scale):
        instance = generated(number)
        assert api.solve(instance, name).plan.cores.tolist() == PLAIN[name](instance)
    for preset in ("floored", "fluid", "contended", "paper"):
        instance = api.generate("quality", preset)
        assert api.solve(instance, name).plan.cores.tolist() == PLAIN[name](instance)


@pytest.mark.parametrize("name", ["slaq", "slaq-max-min"])
@given(instance=strategies.quality(jobs=6, cores=40), narrow=st.integers(1, 3))
def test_reading_in_steps_changes_nothing(name, instance, narrow):
    """With columns cut to a few, jobs that want more are read further, several times over."""
    whole = api.solve(instance, name).plan
    before = _select._AT_LEAST, _select._HEADROOM
    try:
        _select._AT_LEAST, _select._HEADROOM = narrow, 0
        assert api.solve(instance, name).plan == whole
    finally:
        _select._AT_LEAST, _select._HEADROOM = before


def test_one_hungry_job_among_many_is_read_to_the_end():
    jobs, cores = 50, 400
    gain = np.minimum(np.arange(cores), 3) * np.ones((jobs, 1), dtype=np.int64)
    gain[17] = 100 * np.arange(cores)
    inst = Instance(
        cores=cores, gain=gain, loss=np.zeros_like(gain), weight=[1] * jobs, most=[cores - 1] * jobs, waiting=[0] * jobs
    )
    assert api.solve(inst, "slaq").plan.cores[17] == cores - jobs + 1


def concave(instance: Instance) -> Instance:
    """The instance with every job's steps of gain sorted, the largest first."""
    steps = -np.sort(-np.diff(instance.gain, axis=1), axis=1)
    gain = np.hstack([np.zeros((len(steps), 1), dtype=np.int64), np.cumsum(steps, axis=1)])
    return instance.replace(gain=gain)


@pytest.mark.parametrize("name", ["slaq", "envelope-greedy"])
@settings(max_examples=4 * settings().max_examples)
@given(instance=strategies.quality(jobs=5, cores=10))
def test_greedy_is_optimal_where_gains_are_concave(name, instance):
    inst = concave(instance)
    assert api.solve(inst, name).sort_key == api.solve(inst, "brute-force").sort_key


@settings(max_examples=4 * settings().max_examples)
@given(instance=strategies.quality(jobs=6, cores=12))
def test_envelope_greedy_loses_less_than_one_jump(instance):
    best = api.solve(instance, "dp").sort_key
    lost = best - api.solve(instance, "envelope-greedy").sort_key
    values = instance.weight * instance.gain[:, -1]
    assert lost == 0 or lost < values.max(initial=0)


def test_slaq_by_hand():
    # 4 cores: one each, the last one where one more brings most: 1 everywhere, so to the first arrival.
    assert ask(RULES[[r.name for r in RULES].index("slaq")], small()) == [2, 1, 1]
    assert api.solve(small(weight=[1, 1, 2]), "slaq").plan.cores.tolist() == [1, 1, 2]


def test_looking_one_core_ahead_misses_the_jump():
    inst = small(reserved=1)
    assert api.solve(inst, "slaq").plan.cores.tolist() == [2, 2, 1]
    assert api.solve(inst, "envelope-greedy").plan.cores.tolist() == [1, 3, 1]
    assert [api.solve(inst, name).sort_key for name in ("slaq", "envelope-greedy", "dp")] == [12, 18, 18]


def test_the_example_of_the_documentation():
    inst = Instance(
        cores=4, gain=[[0, 1, 2, 2], [0, 0, 0, 9]], loss=[[0] * 4] * 2, weight=[1, 1], most=[3, 3], waiting=[0, 0]
    )
    assert [api.solve(inst, name).sort_key for name in ("slaq", "envelope-greedy", "dp")] == [2, 10, 10]


def test_the_core_goes_to_the_largest_loss_not_the_smallest():
    # Losses with a core each: 4, 8, 2. The printed argmin would feed job 2.
    assert api.solve(small(), "slaq-max-min").plan.cores.tolist() == [1, 2, 1]
    assert api.solve(small(reserved=1), "slaq-max-min", objective="worst_loss").sort_key == 4
    assert api.solve(small(reserved=1, weight=[3, 1, 1]), "slaq-max-min").plan.cores.tolist() == [3, 1, 1]


def test_fair_shares_what_a_cap_leaves():
    assert api.solve(small(reserved=0), "fair").plan.cores.tolist() == [2, 2, 2]
    assert api.solve(small(reserved=0, most=[1, 3, 3]), "fair").plan.cores.tolist() == [1, 3, 2]
    assert api.solve(small(reserved=0, most=[1, 2, 2]), "fair").plan.cores.tolist() == [1, 2, 2]


def test_waiting_jobs_get_nothing_from_anyone():
    inst = small(waiting=[1, 0, 0])
    for rule in RULES:
        assert ask(rule, inst)[0] == 0


@every_rule
@pytest.mark.parametrize("jobs", [0, 3])
def test_no_job_or_no_core_is_answered(rule, jobs):
    inst = Instance(
        cores=0,
        gain=np.zeros((jobs, 1), dtype=int),
        loss=np.ones((jobs, 1), dtype=int),
        weight=[1] * jobs,
        most=[0] * jobs,
        waiting=[1] * jobs,
    )
    assert ask(rule, inst) == [0] * jobs
    assert ask(rule, inst.replace(least=0, waiting=[0] * jobs)) == [0] * jobs


def test_a_rule_of_the_problem_exists_for_each_objective():
    aimed = {name for rule in RULES for name in rule.objectives}
    assert aimed == {o.name for o in PROBLEM.instance_type.objectives}
