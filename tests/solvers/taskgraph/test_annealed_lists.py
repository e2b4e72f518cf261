"""Annealed lists: every plan is legal, has the value that the compiled code reports, and is no worse than its start."""

from __future__ import annotations

import dataclasses

import pytest
from draws import draws
from hypothesis import given, settings

from mlsched import api
from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances import strategies
from mlsched.solvers.taskgraph.plans import annealed_lists
from mlsched.solvers.taskgraph.plans.annealed_lists import AnnealedLists, list_model
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.state import State

needs_compiled = pytest.mark.skipif(
    annealed_lists.compiled() is None, reason="installed without a C compiler: there are no compiled lists"
)


def lists_of(instance, seed=0):
    """A search from a first schedule, and the state that owns it; None for an instance without lists."""
    layout = Layout.of(instance)
    model = list_model(layout)
    plan, _ = search(layout, 1, seed) if model is not None else (None, 0)
    if model is None or plan is None:
        return None
    return AnnealedLists(layout, model, plan, seed), State(layout, "total_jct", Limits(), Deadline()), plan


@needs_compiled
@settings(max_examples=draws(60, 2000))
@given(instance=strategies.taskgraph())
def test_plans_are_legal_and_no_better_than_the_optimum(instance):
    found = lists_of(instance)
    if found is None:
        return
    lists, state, start = found
    first = lists.value
    lists.anneal(4000, None, state)
    plan = lists.plan()
    assert instance.violations(plan) == []
    value = instance.evaluate(plan)["total_jct"]
    assert value <= lists.value - int(instance.arrival.sum()) <= first - int(instance.arrival.sum())
    assert first - int(instance.arrival.sum()) <= instance.evaluate(start)["total_jct"]
    try:
        best = api.solve(instance, "brute-force", objective="total_jct").value
    except TooLarge:
        return
    assert value >= best


@needs_compiled
@pytest.mark.parametrize("preset", ["fractional", "ten-replicas"])
def test_lists_improve_first_schedules_of_large_instances(preset):
    better = 0
    for seed in range(3):
        lists, state, start = lists_of(api.generate("taskgraph", preset, seed=40 + seed))
        lists.anneal(20_000, None, state)
        better += (
            lists.layout.instance.evaluate(lists.plan())["total_jct"]
            < (lists.layout.instance.evaluate(start)["total_jct"])
        )
    assert better == 3


@needs_compiled
def test_a_seed_gives_one_answer():
    def plan(seed):
        lists, state, _ = lists_of(api.generate("taskgraph", "fractional", seed=5), seed)
        lists.anneal(10_000, None, state)
        return lists.plan()

    assert plan(3) == plan(3)


@needs_compiled
def test_a_work_limit_is_reproducible():
    instance = api.generate("taskgraph", "fractional", seed=6)
    first, again = (api.solve(instance, "cp-sat", objective="total_jct", work_limit=0.1, hint="none") for _ in range(2))
    assert first.work["decodings"] > 0
    assert (first.plan, first.sort_bound, first.work) == (again.plan, again.sort_bound, again.work)


def test_without_compiled_code_the_search_goes_on_without_lists(monkeypatch):
    monkeypatch.setattr(annealed_lists, "compiled", lambda: None)
    instance = api.generate("taskgraph", "small", seed=3)
    found = api.solve(instance, "cp-sat", objective="total_jct")
    assert found.sort_key == api.solve(instance, "brute-force", objective="total_jct").sort_key


def test_a_missing_library_is_no_error(monkeypatch, tmp_path):
    annealed_lists.compiled.cache_clear()
    monkeypatch.setattr(annealed_lists, "LIBRARY", tmp_path / "nothing.so")
    assert annealed_lists.compiled() is None
    annealed_lists.compiled.cache_clear()


def test_instances_that_lists_cannot_describe_have_none():
    moving = api.generate("taskgraph", "moving", seed=1)
    assert moving.movement != "none"
    assert list_model(Layout.of(moving)) is None


def test_numbers_beyond_the_compiled_code_are_left_to_the_other_searches():
    layout = Layout.of(api.generate("taskgraph", "small", seed=1))
    assert list_model(layout) is not None
    long = dataclasses.replace(layout, duration=[2**31] * layout.tasks)
    assert list_model(long) is None
