"""Every bound holds on instances whose optimum brute force knows, and some are attained."""

from __future__ import annotations

from collections import Counter

import pytest
from contended_examples import contended
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from mlsched import api
from mlsched.formulations.taskgraph import _pools
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import windows_of
from mlsched.instances import strategies
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.bounds.relaxation import relax
from mlsched.solvers.taskgraph.plans.schedule import search


def optimum(instance, objective):
    return api.solve(instance, "brute-force", objective=objective)


def check_bounds(instance) -> dict[str, bool]:
    """Hold every bound against brute force; which of them are attained."""
    layout = Layout.of(instance)
    best, short = optimum(instance, "total_jct"), optimum(instance, "makespan")
    if best.plan is None:
        return {}
    value, last = best.sort_key, short.sort_key
    shared = _pools.pools(layout) + _pools.packed(layout)
    arrivals = sum(layout.arrival)
    found = {
        "paths": sum(layout.earliest_completion(j) for j in range(layout.jobs)) - arrivals,
        "srpt": _pools.total_completion_bound(layout, shared) - arrivals,
    }
    before = len(shared)
    linear, _ = relax(layout, shared, value, None)
    if linear is not None:
        relaxed = linear.windows(value)
        found["relaxation"] = linear.bound
        runs = zip(best.plan.task.tolist(), best.plan.iteration.tolist(), best.plan.start.tolist(), strict=True)
        for k, i, start in runs:
            if (k, i) in relaxed.earliest:
                assert relaxed.earliest[k, i] <= start <= relaxed.latest[k, i], (k, i, start)
    sharp, _ = sharpened(layout)
    _check_heads(instance, sharp, best.plan)
    _check_heads(instance, sharp, short.plan)
    found["jobs alone"] = sum(sharp.earliest_completion(j) for j in range(layout.jobs)) - arrivals
    for name, bound in found.items():
        assert bound <= value, (name, bound, value)
    least = _pools.makespan_bound(layout, shared) - min(layout.arrival, default=0)
    assert least <= last or not layout.jobs
    for plan in (best.plan, short.plan):
        for pool in shared:
            assert _peak(instance, plan, pool) <= pool.capacity
    return {
        **{name: bound == value for name, bound in found.items()},
        "makespan": least == last,
        "a violated pool": len(shared) > before,
    }


def _check_heads(instance, layout, plan) -> None:
    """No run of a plan starts before its head, and no job ends sooner after a run than its tail says."""
    rows = zip(plan.task.tolist(), plan.iteration.tolist(), plan.start.tolist(), strict=True)
    ends = {(k, i): s + layout.duration[k] for k, i, s in rows}
    last: dict[int, int] = {}
    for (k, _), end in ends.items():
        last[layout.job[k]] = max(last.get(layout.job[k], 0), end)
    for (k, i), end in ends.items():
        j = layout.job[k]
        assert last[j] >= layout.earliest_completion(j)
        if i < layout.mandatory[j]:
            assert end - layout.duration[k] >= layout.head[k][i], (k, i)
            assert last[j] - end >= layout.tail[k][i], (k, i)


def _peak(instance, plan, pool) -> int:
    rows = zip(plan.task.tolist(), plan.start.tolist(), strict=True)
    runs = [(s, s + int(instance.duration[k]), pool.demand[k]) for k, s in rows if k in pool.demand]
    return max((sum(q for a, b, q in runs if a <= t < b) for t, _, _ in runs), default=0)


@given(instance=strategies.taskgraph())
def test_bounds_hold_on_adversarial_instances(instance):
    check_bounds(instance)


def test_bounds_hold_on_contended_instances(report):
    seen: Counter[str] = Counter()
    tried = draws(7, 12)
    for number in range(tried):
        seen.update(name for name, attained in check_bounds(contended(number)).items() if attained)
    report("taskgraph: bounds that equal the optimum", [f"{n / tried:6.1%}  {name}" for name, n in seen.items()])
    assert seen["relaxation"] >= seen["srpt"] >= seen["paths"] > 0


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 6)), min_size=1, max_size=5))
def test_srpt_is_the_least_sum_of_completions_tick_by_tick(jobs):
    release, work = [r for r, _ in jobs], [w for _, w in jobs]
    left, time, total = list(work), 0, 0
    while any(left):
        able = [j for j, w in enumerate(left) if w and release[j] <= time]
        if able:
            j = min(able, key=lambda j: left[j])
            left[j] -= 1
            total += (time + 1) * (left[j] == 0)
        time += 1
    assert _pools.srpt(release, work) == total


@given(capacity=st.integers(1, 12), data=st.data())
def test_dual_feasible_weights_of_what_fits_are_at_most_one(capacity, data):
    demands = data.draw(st.lists(st.integers(0, capacity), max_size=6))
    while sum(demands) > capacity:
        demands.pop()
    for k in (1, 2, 3):
        assert sum(_pools._stepped(d, capacity, k) for d in demands) <= k * (k + 1)


@given(instance=strategies.taskgraph())
def test_the_horizon_holds_some_optimum_of_every_objective(instance):
    """A horizon cut at a heuristic's makespan would not."""
    layout = Layout.of(instance)
    for objective in instance.objectives:
        best = optimum(instance, objective.name)
        if best.plan is not None:
            ends = best.plan.start + instance.duration[best.plan.task]
            assert int(ends.max(initial=0)) <= layout.horizon()


def test_an_upper_value_below_the_optimum_is_refuted():
    refuted = 0
    for number in range(6):
        instance = contended(number)
        best = optimum(instance, "total_jct")
        if best.plan is not None:
            layout = Layout.of(instance)
            linear, _ = relax(layout, _pools.pools(layout), best.sort_key - 1, None)
            nowhere = windows_of(layout, best.sort_key - 1) is None
            refuted += nowhere or (linear is not None and linear.bound > best.sort_key - 1)
    assert refuted > 0


@pytest.mark.parametrize("number", range(4))
def test_generated_schedules_are_plans(number):
    instance = contended(number)
    plan, used = search(Layout.of(instance), 60, seed=number)
    again, _ = search(Layout.of(instance), 60, seed=number)
    if optimum(instance, "total_jct").plan is not None:
        assert used <= 60
        assert instance.violations(plan) == []
        assert plan == again
