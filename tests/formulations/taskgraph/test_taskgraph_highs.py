"""The time-indexed MIP has columns for the times that matter to what is asked, and loses no best plan by it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlsched
from mlsched import api
from mlsched.formulations.taskgraph import highs
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances import strategies
from mlsched.instances.taskgraph import Instance

OBJECTIVES = tuple(o.name for o in Instance.objectives)


def columns(instance: Instance, *objectives: str) -> int:
    made = highs.model(Layout.of(instance), objectives)
    return len(made.model.start) if hasattr(made.model, "start") else 0


@given(instance=strategies.taskgraph(), objective=st.sampled_from(OBJECTIVES))
def test_a_best_plan_is_a_start_of_the_model_and_keeps_its_value(instance, objective):
    """What a late run's start was is forgotten; what the plan is worth is not."""
    best = api.solve(instance, "brute-force", objective=objective)
    if best.plan is None:
        return
    made = highs.build(instance, objectives=(objective,))
    values = {id(variable): value for variable, value in made.encode(best.plan)}
    plan = made.decode(lambda variable: values[id(variable)])
    assert instance.violations(plan) == []
    assert instance.evaluate(plan)[objective] == best.sort_key


@settings(max_examples=2 * settings().max_examples)
@given(instance=strategies.taskgraph(), objective=st.sampled_from(["total_jct", "makespan"]))
def test_list_schedules_are_plans_and_exist_where_plans_do(instance, objective):
    best = api.solve(instance, "brute-force", objective=objective)
    layout = Layout.of(instance)
    if best.plan is None:
        assert layout.reason is not None or highs.good_plan(layout, objective) is None
        return
    plan = highs.good_plan(layout, objective)
    assert plan is not None
    assert instance.violations(plan) == []
    assert instance.evaluate(plan)[objective] >= best.sort_key


def test_only_times_that_matter_have_columns():
    """A training workload with deadlines: traffic needs no time, accuracies the deadlines, a front every tick."""
    instance = mlsched.generate("taskgraph", preset="small", seed=6).replace(accuracy_at="deadline")
    places = sum(len(Layout.of(instance).nodes_of(k, i)) for _, i, k in Layout.of(instance).runs())
    assert columns(instance, "traffic") == places
    every = columns(instance, "total_jct", "makespan")
    assert places < columns(instance, "deadlines_met") < every
    assert columns(instance, "deadlines_met") == columns(instance, "total_accuracy", "traffic")
    assert max(columns(instance, "total_jct"), columns(instance, "makespan")) < every
    assert columns(instance, "traffic", "makespan") == every


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_of_a_small_instance_is_proved_quickly(objective):
    """Seed 6 took HiGHS longer than 3 s in every objective while the model had all times up to the horizon."""
    instance = mlsched.generate("taskgraph", preset="small", seed=6)
    found = api.solve(instance, "highs", objective=objective, work_limit=50)
    assert (found.status, found.sort_key) == ("optimal", api.solve(instance, "cp-sat", objective=objective).sort_key)
