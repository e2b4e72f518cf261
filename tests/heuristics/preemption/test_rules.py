"""Every registered rule is feasible, pure, reproducible, blind to what it may not see and never beats the optimum.

That is all that the problem demands of a rule, of whatever package. What the rules of mlsched promise beyond it (a TE
job goes to the first node that has room, none waits that could be placed) is asked of those that are named here.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemption_examples import small

from mlsched import api
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.preemption import Instance, Plan

RULES = [a for a in registry().available("preemption") if a.rule is not None and not a.stateful]
SEES_NO_TRUTH = [a for a in registry().available("preemption") if a.information == "observed" and a.called != "offline"]
#: Rules of mlsched that place on the first node with room, in queue order; and of these, those that preempt.
FIRST_FIT = [a for a in RULES if a.name in ("fifo", "fitgpp", "lrtp", "min-max-grace", "rand")]
PREEMPTING = [a for a in FIRST_FIT if a.name != "fifo"]
first_fit_rule = pytest.mark.parametrize("rule", FIRST_FIT, ids=lambda a: a.name)
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda a: a.name)
seeds = st.integers(0, 2**32)


def ask(rule, instance: Instance, seed: int) -> Plan:
    return rule.function(instance, rng=np.random.default_rng(seed), **resolve(rule.name, rule.parameters, {}))


def test_all_rules_are_here():
    assert len(FIRST_FIT) == 5


@every_rule
@given(instance=strategies.preemption(nodes=4, jobs=9, tes=4), seed=seeds)
def test_every_plan_is_feasible_and_the_instance_untouched(rule, instance, seed):
    before = instance.to_json()
    plan = ask(rule, instance, seed)
    assert instance.violations(plan) == []
    assert instance.to_json() == before


@every_rule
@given(instance=strategies.preemption(), seed=seeds)
def test_the_same_generator_gives_the_same_plan(rule, instance, seed):
    assert ask(rule, instance, seed) == ask(rule, instance, seed)


@every_rule
@given(instance=strategies.preemption(), seed=seeds)
def test_no_rule_beats_brute_force(rule, instance, seed):
    values = instance.evaluate(ask(rule, instance, seed))
    for objective, value in values.items():
        assert value >= api.solve(instance, "brute-force", objective=objective).sort_key


@pytest.mark.parametrize("solver", SEES_NO_TRUTH, ids=lambda a: a.name)
@given(data=st.data())
def test_an_observed_answer_does_not_depend_on_true_durations(solver, data):
    instance = data.draw(strategies.preemption())
    count = len(instance.job_node)
    other = instance.replace(job_remaining=data.draw(st.lists(st.integers(0, 9999), min_size=count, max_size=count)))
    first, second = (api.solve(i, solver.name, seed=3, work_limit=None) for i in (instance, other))
    assert first.plan == second.plan
    assert first.sort_keys == second.sort_keys


@first_fit_rule
@given(instance=strategies.preemption(), seed=seeds)
def test_a_te_job_with_room_on_arrival_costs_no_victim(rule, instance, seed):
    first = instance.replace(te_demand=instance.te_demand[:1])
    room = first.node_free + first.node_draining
    fits = np.flatnonzero((room >= first.te_demand[0]).all(axis=1))
    plan = ask(rule, first, seed)
    if fits.size:
        assert plan.te_node.tolist() == [fits[0]]
        assert plan.victims.size == 0


@pytest.mark.parametrize("rule", PREEMPTING, ids=lambda a: a.name)
@given(instance=strategies.preemption(tes=1), seed=seeds)
def test_a_preempting_rule_defers_only_what_cannot_fit(rule, instance, seed):
    deferred = ask(rule, instance, seed).te_node[0] < 0
    possible = api.solve(instance, "brute-force", objective="victim_count").plan.te_node[0] >= 0
    assert deferred != possible


@pytest.mark.parametrize("rule", [a for a in FIRST_FIT if "P" in a.parameters], ids=lambda a: a.name)
@given(instance=strategies.preemption(), limit=st.integers(1, 3))
def test_a_rules_own_limit_is_kept_and_never_laxer_than_the_instances(rule, instance, limit):
    plan = rule.function(instance, rng=np.random.default_rng(0), **resolve(rule.name, rule.parameters, {"P": limit}))
    assert instance.violations(plan) == []
    assert (instance.job_preemptions[plan.victims] < limit).all()


@every_rule
def test_a_cluster_without_nodes_or_te_jobs_is_answered(rule):
    no_nodes = Instance(
        resources=["gpu"],
        node_capacity=[],
        node_free=[],
        node_draining=[],
        job_node=[],
        job_demand=[],
        job_grace=[],
        job_preemptions=[],
        job_remaining=[],
        te_demand=[[1], [0]],
    )
    assert ask(rule, no_nodes, 0).te_node.tolist() == [-1, -1]
    assert ask(rule, small(te_demand=[]), 0).te_node.tolist() == []


@first_fit_rule
def test_te_jobs_are_served_in_queue_order_and_take_room_from_each_other(rule):
    inst = small(te_demand=[[2, 1], [2, 1], [1, 0]], preemption_limit=0)
    assert ask(rule, inst, 0).te_node.tolist() == [1, -1, 0]
