"""GPUs inside nodes: brute force, CP-SAT and HiGHS agree, models that know pools refuse, pools promise too much."""

from __future__ import annotations

from collections import Counter

import pytest
from contended_examples import sharing
from draws import THOROUGH, draws
from hypothesis import given, settings
from taskgraph_examples import small

import mlsched
from mlsched.core.errors import TooLarge
from mlsched.formulations.taskgraph import highs
from mlsched.formulations.taskgraph._gpu_columns import roomy_plans
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances import strategies
from mlsched.instances.taskgraph import PROBLEM, Instance
from mlsched.solvers.taskgraph import brute_force

OBJECTIVES = tuple(o.name for o in Instance.objectives)
#: Instances that brute force soon has examined; one is residual.
QUICK = (1, 3, 6, 7)


def check(instance: Instance) -> None:
    for objective in OBJECTIVES:
        found = [mlsched.solve(instance, name, objective=objective, hint="none") for name in ("brute-force", "cp-sat")]
        assert found[0].status == found[1].status, f"{objective}: {instance!r}"
        assert found[0].sort_key == found[1].sort_key == found[1].sort_bound, f"{objective}: {instance!r}"


@settings(max_examples=draws(10, 1000))
@given(instance=strategies.taskgraph(tasks=4, runs=6, apart=True))
def test_agreement_on_adversarial_instances(instance):
    check(instance)


def test_agreement_on_instances_that_share_and_what_binds(report):
    """Where all are asked, a third of them are residual: runs under way hold parts of GPUs."""
    numbers, binds = range(300) if THOROUGH else QUICK, Counter()
    for instance in map(sharing, numbers):
        check(instance)
        best = mlsched.solve(instance, "brute-force")
        if best.status == "optimal":
            binds["feasible"] += 1
            for name, relaxed in PROBLEM.relaxations(instance).items():
                assert relaxed.violations(best.plan) == [], name
                binds[name] += mlsched.solve(relaxed, "cp-sat", hint="none").sort_key < best.sort_key
    lines = [f"{times / binds['feasible']:6.1%}  binds: {name}" for name, times in binds.items() if name != "feasible"]
    report(f"taskgraph: {len(numbers)} instances whose tasks share GPUs", lines)
    assert binds["GPUs apart"] > 0


def with_highs(instance: Instance) -> None:
    for objective in OBJECTIVES:
        found = [mlsched.solve(instance, name, objective=objective, hint="none") for name in ("cp-sat", "highs")]
        assert found[0].status == found[1].status, f"{objective}: {instance!r}"
        assert found[0].sort_key == found[1].sort_key == found[1].sort_bound, f"{objective}: {instance!r}"


@settings(max_examples=draws(4, 300))
@given(instance=strategies.taskgraph(tasks=4, runs=6, apart=True))
def test_highs_agrees_on_adversarial_instances(instance):
    with_highs(instance)


def test_highs_agrees_on_instances_that_share_and_takes_plans_as_hints():
    for instance in map(sharing, range(100) if THOROUGH else QUICK[1:]):
        with_highs(instance)
        known = mlsched.solve(instance, "cp-sat")
        if known.plan is not None:
            model = highs.build(instance, objectives=("total_jct",))
            values = {variable.name: value for variable, value in model.encode(known.plan)}
            decoded = model.decode(lambda variable, values=values: values[variable.name])
            assert instance.violations(decoded) == []
            assert instance.evaluate(decoded)["total_jct"] == known.sort_key


def test_a_plan_in_which_each_part_has_a_gpu_for_itself_holds():
    plans = roomy_plans(Layout.of(mlsched.generate("taskgraph", "sharing", seed=1)))
    inst = mlsched.generate("taskgraph", "sharing", seed=1)
    assert [inst.violations(plan) for plan in plans] == [[]] * 4


@settings(max_examples=draws(5, 200))
@given(instance=strategies.taskgraph(tasks=3, runs=4, apart=True))
def test_fronts_are_those_of_brute_force(instance):
    names = ("total_jct", "traffic", "total_accuracy")
    front = mlsched.pareto(instance, names, "cp-sat")
    assert front.complete
    assert [tuple(row) for row in front.sort_keys.tolist()] == brute_force.front(instance, names)


@pytest.mark.parametrize("name", ["moulded", "moulded-highs"])
def test_models_of_pools_refuse_where_it_matters_and_answer_where_not(name):
    """Node 1 of `small()` has two GPUs, of which tasks need parts; with one GPU each, a pool is as good."""
    parts = {"resources": ["gpu_percent"], "demand": [[60], [60], [80]], "gpu_unit": 100}
    inst = small(**parts, node_capacity=[[100], [200]])
    with pytest.raises(TooLarge, match=r"gpu_unit = 100 and tasks that need parts of GPUs.*: use cp-sat"):
        mlsched.solve(inst, name)
    single = small(**parts, node_capacity=[[100], [100]])
    assert mlsched.solve(single, name).sort_key == mlsched.solve(single, "brute-force").sort_key


def test_machines_that_are_not_told_apart_name_a_gpu():
    """Two identical nodes of one GPU each, no transfers: one cumulative, as without `gpu_unit`."""
    nothing = {f"edge_{name}": [] for name in ("from", "to", "lag", "volume", "delay")}
    parts = {"resources": ["gpu_percent"], "node_capacity": [[100], [100]], "demand": [[60], [60], [80]]}
    inst = small(**parts, **nothing, gpu_unit=100, eligible=[[1, 1]] * 3, max_iterations=[1, 1])
    assert not Layout.of(inst).gpus_apart
    check(inst)
