"""The time-indexed model of total_jct and its cutting planes, against brute force and against the judge."""

from __future__ import annotations

from collections import Counter

import pytest
from contended_examples import contended
from draws import draws
from hypothesis import given, settings

from mlsched import api
from mlsched.core.deadline import Deadline
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph import _pools
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.instances import strategies
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph import one_objective
from mlsched.solvers.taskgraph.bounds import relaxation
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.one_objective import _mandatory
from mlsched.solvers.taskgraph.plans import annealed_lists
from mlsched.solvers.taskgraph.plans.improvement import Improvement
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.proofs import values as values_module
from mlsched.solvers.taskgraph.proofs.cutting_planes import parameters
from mlsched.solvers.taskgraph.proofs.values import Values, worth_placing
from mlsched.solvers.taskgraph.state import State


def known(instance):
    """(layout on mandatory iterations, optimal value) where the model has a place for the instance, else None."""
    least = _mandatory(instance)
    layout, _ = sharpened(Layout.of(least))
    if layout.reason is not None or not layout.jobs:
        return None
    best = api.solve(least, "brute-force", objective="total_jct")
    return None if best.plan is None or not worth_placing(layout) else (layout, best.sort_key)


def least_of(model: TimeIndexed):
    """(value, plan) of the model's optimum; None where it has no solution."""
    solver = within(Limits())
    if model.reason is not None:
        return None
    model.cp.minimize(model.terms["total_jct"])
    status = solver.status_name(solver.solve(model.cp))
    if status == "INFEASIBLE":
        return None
    assert status == "OPTIMAL"
    value = round(solver.objective_value) + model.constant["total_jct"]
    return value, model.plan(list(solver.response_proto.solution))


def check(instance) -> str:
    """Hold the model against brute force: with and without the linear relaxation, with room and without."""
    found = known(instance)
    if found is None:
        return "no place"
    layout, optimum = found
    shared = _pools.pools(layout) + _pools.packed(layout)
    for upper in (optimum, optimum + 3):
        linear, _ = relaxation.relax(layout, shared, upper, None)
        for narrowed in (None, linear and linear.windows(upper)):
            model = TimeIndexed(layout, upper, narrowed, shared)
            value, plan = least_of(model)
            assert value == optimum
            assert not layout.instance.violations(plan)
            assert layout.instance.evaluate(plan)["total_jct"] == optimum
    # Windows for better plans than there are: none, or worse ones that fit into the windows.
    beyond = least_of(TimeIndexed(layout, optimum - 1, None, shared))
    assert beyond is None or beyond[0] >= optimum
    return "optimal"


@given(instance=strategies.taskgraph())
def test_the_optimum_is_that_of_brute_force_on_adversarial_instances(instance):
    check(instance)


def test_the_optimum_is_that_of_brute_force_on_contended_instances(report):
    seen = Counter(check(contended(number)) for number in range(draws(4, 12)))
    report("taskgraph: time-indexed model against brute force", [f"{n:4}  {name}" for name, n in seen.items()])
    assert seen["optimal"] >= draws(3, 10)


def started(preset: str, seed: int, limits: Limits | None = None, decodings: int = 300) -> tuple[State, list]:
    """What is known before cutting planes: a generated plan, the pools."""
    layout, _ = sharpened(Layout.of(_mandatory(api.generate("taskgraph", preset=preset, seed=seed))))
    limits = limits or Limits()
    state = State(layout, "total_jct", limits, Deadline(limits.seconds))
    plan, _ = search(layout, decodings, 0)
    state.offer(plan)
    return state, _pools.pools(layout) + _pools.packed(layout)


def climb(state: State, shared: list) -> None:
    """Values from the bound on until the state is closed."""
    linear, _ = relaxation.relax(state.layout, shared, state.upper, None)
    if linear is not None:
        state.raise_lower(linear.bound)
    values = Values(state, shared, linear)
    while not state.closed:
        assert values.ask(values.next_value())


@settings(max_examples=8)
@given(instance=strategies.taskgraph())
def test_values_are_refuted_up_to_the_optimum_of_brute_force(instance):
    found = known(instance)
    if found is None:
        return
    layout, optimum = found
    state = State(layout, "total_jct", Limits(), Deadline())
    state.offer(api.solve(layout.instance, "brute-force", objective="total_jct").plan)
    climb(state, _pools.pools(layout))
    assert state.lower == state.upper == optimum


def test_values_are_refuted_until_one_is_attained():
    closed = 0
    for number in range(draws(4, 12)):
        if (found := known(contended(number))) is None:
            continue
        layout, optimum = found
        state = State(layout, "total_jct", Limits(), Deadline())
        state.offer(search(layout, 1, 0)[0])
        climb(state, _pools.pools(layout))
        assert state.upper == optimum
        closed += 1
    assert closed >= draws(2, 5)


def test_a_refuted_value_bounds_no_better_plan_away(processes_are_kept):
    """Where the incumbent is worse than the optimum: else it hides a bound that is too high."""
    worse = 0
    for number in range(draws(6, 12)):
        if (found := known(contended(number))) is None:
            continue
        layout, optimum = found
        state = State(layout, "total_jct", Limits(), Deadline())
        state.offer(search(layout, 1, 0)[0])
        if state.upper > optimum:
            assert Values(state, _pools.pools(layout), None).ask(optimum - 1)
            assert state.lower == optimum
            worse += 1
    assert worse


def test_attempts_find_plans_and_raise_the_bound():
    state, shared = started("six-replicas", 23, decodings=200)
    expected = api.solve(state.layout.instance, "cp-sat", objective="total_jct")
    assert expected.status == "optimal"
    assert state.upper > expected.sort_key
    state.raise_lower(expected.sort_key - 2)
    improvement = Improvement(state, shared, None)
    for _ in range(30):
        if state.closed:
            break
        improvement.step()
    assert (state.lower, state.upper) == (expected.sort_key, expected.sort_key)


def test_a_model_beyond_the_room_is_not_made(monkeypatch):
    state, shared = started("six-replicas", 27)
    assert Values(state, shared, None).possible(state.upper)
    monkeypatch.setattr(values_module, "MOST", 100)
    assert not Values(state, shared, None).possible(state.upper)


def test_prices_narrow_windows_the_more_the_smaller_the_value(report):
    """Windows of plans of at most a value, from prices that were found for a larger one, hold all such plans."""
    narrower = 0
    for number in range(draws(4, 12)):
        if (found := known(contended(number))) is None:
            continue
        layout, optimum = found
        linear, _ = relaxation.relax(layout, _pools.pools(layout), optimum + 6, None)
        assert linear.windows(optimum + 7) is None
        plan = api.solve(layout.instance, "brute-force", objective="total_jct").plan
        for value in (optimum, optimum + 6):
            windows = linear.windows(value)
            for k, i, s in zip(plan.task.tolist(), plan.iteration.tolist(), plan.start.tolist(), strict=True):
                assert windows.earliest[k, i] <= s <= windows.latest[k, i]
        widths = [
            sum(linear.windows(v).latest[run] - linear.windows(v).earliest[run] for run in windows.earliest)
            for v in (optimum, optimum + 6)
        ]
        assert widths[0] <= widths[1]
        narrower += widths[0] < widths[1]
    report("taskgraph: windows from prices", [f"{narrower} narrower at the optimum"])
    assert narrower


def test_the_same_work_gives_the_same_bound(processes_are_kept):
    bounds = []
    for _ in range(2):
        state, shared = started("six-replicas", 12, Limits(work=draws(0.1, 0.3)), decodings=50)
        values = Values(state, shared, None)
        state.raise_lower(74)
        while not state.over:
            values.ask(values.next_value())
        bounds.append((state.lower, state.work["deterministic_time"]))
    assert bounds[0] == bounds[1]
    assert bounds[0][0] >= 74


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("objective", ["total_jct", "total_accuracy"])
def test_aborts_of_cp_sat_are_counted_and_leave_the_answer_to_intervals(monkeypatch, objective, threads):
    monkeypatch.setattr(one_objective, "FIRST", 1e-9)
    monkeypatch.setattr(one_objective, "FIRST_DUE", 1e-9)
    monkeypatch.setattr(annealed_lists, "improve", lambda state: None)  # its plans meet the bounds here
    monkeypatch.setattr(Apart, "run", lambda self: Ended("ABORTED"))
    aborted = 0
    for number in range(draws(3, 6)):
        instance = contended(number)
        best = api.solve(instance, "brute-force", objective=objective)
        found = api.solve(instance, "cp-sat", objective=objective, threads=threads)
        assert (found.status, found.sort_key) == (best.status, best.sort_key)
        aborted += "aborted_proofs" in found.work
    # Beside a second thread the intervals may end first, so that there is no proof to abort.
    assert aborted or threads == 2


def test_a_value_that_a_plan_attains_cannot_be_refuted():
    state, _ = started("six-replicas", 27)
    state.raise_lower(state.upper + 1)
    assert state.lower == state.upper, "a bound beyond a plan is none"


def test_parameters_are_those_that_cutting_planes_need():
    chosen = parameters(Limits(threads=4))
    assert chosen.use_pb_resolution
    assert (chosen.num_workers, chosen.cp_model_presolve, chosen.linearization_level) == (1, False, 0)


def test_a_limit_ends_the_search_for_a_makespan():
    instance = api.generate("taskgraph", preset="six-replicas", seed=12)
    found = api.solve(instance, "cp-sat", objective="makespan", work_limit=draws(0.05, 0.3))
    assert found.sort_bound <= found.sort_key
    assert found.status in ("optimal", "feasible")
