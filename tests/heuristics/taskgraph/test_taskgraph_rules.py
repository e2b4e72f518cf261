"""Every registered rule for snapshots is legal, pure, reproducible, blind to the truth and never beats the optimum.

That is all that the problem demands of a rule, of whatever package. The rules of mlsched promise more: they serve every
job in the end, most leave no task that fits, and a parameter `stop` says when jobs end.
"""

from __future__ import annotations

import json

import installed
import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_examples import horizon, play, ready

from mlsched import api
from mlsched.api.adapters import as_rule
from mlsched.core.errors import InvalidInput, Stuck
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.request import Setup
from mlsched.instances import strategies
from mlsched.instances.taskgraph import Instance
from mlsched.simulation.taskgraph.strategies import options, snapshots, wakes, workloads
from mlsched.testing import check_scheduler

RULES = [a for a in registry().available("taskgraph") if a.called == "online"]
OURS = [a for a in RULES if a.function.__module__.startswith("mlsched.")]
BLIND = [a for a in OURS if a.information == "observed"]
#: Those of ours that can be told when jobs stop; MLF-C decides by itself.
STOPPING = [a for a in OURS if "stop" in a.parameters]
#: Those that start whatever fits, as they promise.
CONSERVING = (
    "best-effort-fifo", "drf", "fair", "gandiva", "graphene", "hypersched", "las", "mirhoseini-rl", "mlf-c", "optimus",
    "slaq", "srpt", "srtf", "tiresias", "tiresias-gittins",
)  # fmt: skip
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda a: a.name)
#: Those that count GPU-seconds.
COUNTING = installed.rules("taskgraph", "gavel", "las", "round-by-round", "tiresias", "tiresias-gittins")
OBJECTIVES = [objective.name for objective in Instance.objectives]


def ask(rule, snapshot, **given_):
    call = as_rule(Setup(rule, "total_jct", resolve(rule.name, rule.parameters, given_))).call
    return call(snapshot, None, np.random.default_rng(0))


def given_to(rule, stop):
    """Parameters with which a rule is asked: ours are told when jobs stop, and by which options."""
    asked = {"stop": stop, "options": "evaluation"} if rule in OURS else {}
    return {name: value for name, value in asked.items() if name in rule.parameters}


def solved(instance, rule, stop):
    """Its answer by being rolled out; None for a rule of others that leaves jobs waiting for ever, as it may."""
    try:
        return api.solve(instance, rule.name, **given_to(rule, stop))
    except Stuck:
        assert rule not in OURS
        return None


def test_the_rules_that_promise_something_are_there():
    assert {*CONSERVING, *COUNTING} <= {a.name for a in RULES}


@given(snapshot=snapshots(), stop=st.sampled_from(["most", "least", "required"]))
def test_every_round_is_legal_repeatable_and_the_snapshot_untouched(snapshot, stop):
    before = snapshot.to_json()
    for rule in RULES:
        given_ = given_to(rule, stop)
        plan, memory = ask(rule, snapshot, **given_)
        assert snapshot.violations(plan) == [], rule.name
        assert ask(rule, snapshot, **given_)[0] == plan, rule.name
        assert snapshot.to_json() == before, rule.name
        json.dumps(memory)


@given(snapshot=snapshots(pausing="none"))
def test_rules_that_promise_it_leave_no_task_that_fits(snapshot):
    """After the round no ready task fits where it may go."""
    for rule in (a for a in RULES if a.name in CONSERVING):
        leaves_nothing(snapshot, ask(rule, snapshot)[0])


def leaves_nothing(snapshot, plan):
    free = snapshot.free
    for task, node in zip(plan.start_task.tolist(), plan.start_node.tolist(), strict=True):
        free[node] -= snapshot.demand[task] * (snapshot.duration[task] > 0)
    for task in set(range(len(snapshot.task_job))) - set(plan.start_task.tolist()):
        fits = (free >= snapshot.demand[task]).all(axis=1) | (snapshot.duration[task] == 0)
        assert not (fits & ready(snapshot)[task]).any()


@settings(max_examples=draws(6, 60))
@given(instance=strategies.taskgraph(), stop=st.sampled_from(["most", "least", "required"]))
def test_a_rolled_out_rule_is_feasible_and_never_beats_brute_force(instance, stop):
    results = [found for rule in RULES if (found := solved(instance, rule, stop)) is not None]
    for name in OBJECTIVES:
        best = api.solve(instance, "brute-force", objective=name)
        for result in results:
            assert (result.plan is None) == (best.plan is None)
            if result.plan is not None:
                assert not instance.objective(name).better(result.sort_keys[name], best.sort_key), result.solver


@settings(max_examples=draws(6, 60))
@given(rule=st.sampled_from(RULES), load=workloads(), readings=options(), wake=wakes())
def test_every_run_is_sound_and_repeatable_and_decisions_replay(rule, load, readings, wake):
    try:
        finished = api.simulate(load, rule.name, scheduling_events=wake, options=readings, record=1.0)
    except Stuck:
        assert rule not in OURS
        return
    assert finished.violations() == []
    assert all(finished.replay(d) == d.plan for d in finished.recorded)
    again = api.simulate(load, rule.name, scheduling_events=wake, options=readings)
    assert again.log.rows == finished.log.rows
    assert (finished.jobs["iterations"] == load.horizon.max_iterations).all() or len(finished.log.stops)


@settings(max_examples=draws(6, 60))
@given(rule=st.sampled_from(BLIND), load=workloads(), other=st.integers(1, 5))
def test_no_rule_sees_true_durations_before_the_first_run_has_ended(rule, load, other):
    changed = load.replace(true_duration=load.true_duration + other * (load.true_duration > 0))
    first, second = (api.simulate(w, rule.name, record=1.0) for w in (load, changed))
    until = min((row[5] for run in (first, second) for row in run.log.rows if row[5] > row[4]), default=0)
    plans = [[d.plan for d in run.recorded if d.time < until] for run in (first, second)]
    assert plans[0] == plans[1]


@every_rule
def test_the_library_checks_it(rule):
    assert check_scheduler(rule.name, "taskgraph", examples=draws(4, 12)).instances >= draws(2, 6)


@pytest.mark.parametrize("rule", STOPPING, ids=lambda a: a.name)
def test_jobs_stop_by_the_parameter(rule):
    """Accuracy 0, 200,000, ... ppm; 500,000 are required: three iterations of at most five, two at least."""
    inst = horizon([(0, 5, [(2, 1)])], min_iterations=[2])
    counts = {stop: len(api.solve(inst, rule.name, stop=stop).plan.job) for stop in ("most", "least", "required")}
    assert counts == {"most": 5, "least": 2, "required": 3}
    none = inst.replace(min_iterations=[0])
    assert len(api.solve(none, rule.name, stop="least").plan.job) == 0
    with pytest.raises(InvalidInput, match="stop: 'soon', expected one of most, least, required"):
        api.solve(inst, rule.name, stop="soon")


@pytest.mark.parametrize("rule", OURS, ids=lambda a: a.name)
def test_a_cluster_without_resources_is_served(rule):
    inst = horizon([(0, 1, [(2,)]), (0, 1, [(2,)])], nodes=[(), ()], resources=())
    if rule.name in COUNTING:
        with pytest.raises(InvalidInput, match="resources = none"):
            api.solve(inst, rule.name)
        return
    assert api.solve(inst, rule.name).sort_keys["makespan"] == 2


def test_tasks_go_where_their_neighbours_are_then_to_the_node_with_the_least_work_bound_to_it():
    """Node 1 has room for task 1 as well, but what task 0 sends is on node 0; job 1 goes to the emptier node."""
    inst = horizon([(0, 1, [(2, 1), (2, 1)]), (1, 1, [(2, 1)])], edges=[(0, 1, 0, 5, 0)], nodes=[(2,), (2,)])
    plan = api.solve(inst, "fifo").plan
    assert dict(zip(plan.task.tolist(), plan.node.tolist(), strict=True)) == {0: 0, 1: 0, 2: 1}
    _, _, asked = play(inst, as_rule(Setup(registry().solvers["taskgraph", "fifo"], "")))
    assert asked[1].job_id.tolist() == [0, 1]


@pytest.mark.parametrize(("nodes", "node"), [("least-work", 1), ("balance", 0)])
def test_balanced_tasks_ignore_their_neighbours(nodes, node):
    """Task 2 reads from task 1 on node 1, to which more work is bound by then."""
    jobs = [(0, 1, [(5, 1)]), (0, 1, [(2, 1), (2, 1)]), (1, 1, [(9, 1)])]
    inst = horizon(jobs, edges=[(1, 2, 0, 5, 0)], nodes=[(2,), (2,)])
    plan = api.solve(inst, f"fifo:nodes={nodes}").plan
    assert dict(zip(plan.task.tolist(), plan.node.tolist(), strict=True)) == {0: 0, 1: 1, 2: node, 3: 1}
