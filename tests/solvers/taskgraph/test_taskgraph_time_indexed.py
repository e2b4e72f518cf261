"""The time-indexed model of total_jct and its cutting planes, against brute force and against the judge."""

from __future__ import annotations

from collections import Counter

import pytest
from contended_examples import contended
from hypothesis import given, settings

from mlsched import api
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph import _bounds, _makespan, _relaxation
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size
from mlsched.instances import strategies
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.plans.attempts import Attempts, possible
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.proofs.cutting_planes import CuttingPlanes, parameters
from mlsched.solvers.taskgraph.total_jct import _mandatory


def known(instance):
    """(layout on mandatory iterations, optimal value) where the model has a place for the instance, else None."""
    least = _mandatory(instance)
    layout, _ = sharpened(Layout.of(least))
    if layout.reason is not None or not layout.jobs:
        return None
    best = api.solve(least, "brute-force", objective="total_jct")
    return None if best.plan is None or not size(layout, best.value) else (layout, best.value)


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
    shared = _bounds.pools(layout) + _bounds.packed(layout)
    for upper in (optimum, optimum + 3):
        relaxed = _relaxation.relax(layout, shared, upper, None)
        for narrowed in (None, relaxed):
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
    seen = Counter(check(contended(number)) for number in range(12))
    report("taskgraph: time-indexed model against brute force", [f"{n:4}  {name}" for name, n in seen.items()])
    assert seen["optimal"] >= 10


def started(preset: str, seed: int, limits: Limits | None = None, decodings: int = 300) -> tuple[Best, list]:
    """What is known before cutting planes: a generated plan, the pools."""
    layout, _ = sharpened(Layout.of(_mandatory(api.generate("taskgraph", preset=preset, seed=seed))))
    best = Best(layout, limits or Limits(), 0.0)
    plan, _ = search(layout, decodings, 0, None)
    best.offer(plan)
    return best, _bounds.pools(layout) + _bounds.packed(layout)


def cut(best: Best, shared: list) -> CuttingPlanes:
    relaxed = _relaxation.relax(best.layout, shared, best.upper, None)
    return CuttingPlanes(TimeIndexed(best.layout, best.upper, relaxed, shared), best.limits, best)


@settings(max_examples=8)
@given(instance=strategies.taskgraph())
def test_cutting_planes_prove_no_more_than_brute_force(instance):
    found = known(instance)
    if found is None:
        return
    layout, optimum = found
    best = Best(layout, Limits(), 0.0)
    best.offer(api.solve(layout.instance, "brute-force", objective="total_jct").plan)
    cut(best, _bounds.pools(layout)).run()
    assert best.lower == optimum


@pytest.mark.parametrize("number", range(3))
def test_cutting_planes_prove_contended_instances(number):
    layout, optimum = known(contended(number))
    best = Best(layout, Limits(), 0.0)
    best.offer(search(layout, 1, 0, None)[0])
    cut(best, _bounds.pools(layout)).run()
    assert best.closed
    assert best.upper == optimum


def test_attempts_find_plans_and_raise_the_bound():
    best, shared = started("six-replicas", 23, decodings=200)
    expected = api.solve(best.layout.instance, "cp-sat", objective="total_jct", time_limit=60)
    assert expected.status == "optimal"
    first = best.upper
    assert first > expected.value
    best.raise_to(expected.value - 2)
    attempts = Attempts(best, shared)
    far = not attempts.close
    for _ in range(30):
        if best.closed:
            break
        attempts.step()
    assert far, "attempts near the incumbent have their turn as well"
    assert (best.lower, best.upper) == (expected.value, expected.value)


def test_an_instance_beyond_the_room_is_not_attempted():
    best, _ = started("six-replicas", 27)
    assert possible(best, 10**6)
    assert not possible(best, 100)


def test_a_better_plan_makes_a_young_search_outdated():
    best, shared = started("six-replicas", 12, Limits(seconds=1e9), decodings=1)
    proof = cut(best, shared)
    assert not proof.outdated
    best.offer(search(best.layout, 2000, 0, None)[0])
    assert proof.outdated


def test_the_same_work_gives_the_same_bound():
    bounds = []
    for _ in range(2):
        best, shared = started("six-replicas", 12, Limits(work=3.0))
        cut(best, shared).run()
        bounds.append((best.lower, best.work["deterministic_time"]))
    assert bounds[0] == bounds[1]
    assert bounds[0][0] >= 78


def test_an_abort_of_cp_sat_is_counted_and_costs_only_the_proof(monkeypatch):
    monkeypatch.setattr(Apart, "run", lambda self: Ended("ABORTED"))
    instance = api.generate("taskgraph", preset="six-replicas", seed=27)
    found = api.solve(instance, "cp-sat", objective="total_jct", threads=2, time_limit=30)
    assert found.status == "optimal"
    assert found.work["aborted_proofs"] >= 1


def test_an_impossible_answer_is_an_error(monkeypatch):
    best, shared = started("six-replicas", 27)
    monkeypatch.setattr(Apart, "run", lambda self: Ended("INFEASIBLE"))
    with pytest.raises(SolverError, match="which a plan attains"):
        cut(best, shared).run()


def test_parameters_are_those_that_cutting_planes_need():
    chosen = parameters(Limits(threads=4))
    assert chosen.use_pb_resolution
    assert (chosen.num_workers, chosen.cp_model_presolve, chosen.linearization_level) == (1, False, 0)


@given(instance=strategies.taskgraph())
def test_the_least_makespan_is_that_of_brute_force(instance):
    layout, _ = sharpened(Layout.of(instance))
    best = api.solve(instance, "brute-force", objective="makespan")
    if best.plan is None or not layout.jobs or not size(layout, best.value, "makespan"):
        return
    for upper in (best.value, best.value + 3):
        made = TimeIndexed(layout, upper, None, _bounds.pools(layout), "makespan")
        solver = within(Limits())
        made.cp.minimize(made.terms["makespan"])
        assert solver.status_name(solver.solve(made.cp)) == "OPTIMAL"
        assert round(solver.objective_value) + made.constant["makespan"] == best.value
        plan = made.plan(list(solver.response_proto.solution))
        assert instance.evaluate(plan)["makespan"] == best.value


def test_attempts_prove_the_makespan_when_the_full_model_has_no_time(monkeypatch):
    asked = []
    anywhere = Attempts.anywhere
    monkeypatch.setattr(_makespan, "FULL_WORK", 1e-4)
    monkeypatch.setattr(Attempts, "anywhere", lambda self: (asked.append(self), anywhere(self)))
    for number in range(6):
        instance = contended(number)
        best = api.solve(instance, "brute-force", objective="makespan")
        found = api.solve(instance, "cp-sat", objective="makespan")
        assert (found.status, found.value) == (best.status, best.value)
    assert asked


def test_an_abort_of_cp_sat_leaves_the_makespan_to_the_full_model(monkeypatch):
    monkeypatch.setattr(_makespan, "FULL_WORK", 1e-4)
    monkeypatch.setattr(Apart, "run", lambda self: Ended("ABORTED"))
    aborted = 0
    for number in range(6):
        instance = contended(number)
        best = api.solve(instance, "brute-force", objective="makespan")
        found = api.solve(instance, "cp-sat", objective="makespan")
        assert (found.status, found.value) == (best.status, best.value)
        aborted += "aborted_proofs" in found.work
    assert aborted


def test_a_limit_ends_attempts_at_a_makespan():
    found = api.solve(
        api.generate("taskgraph", preset="six-replicas", seed=12), "cp-sat", objective="makespan", work_limit=6.0
    )
    assert found.bound <= found.value
    assert found.status in ("optimal", "feasible")


def test_values_are_refuted_from_below_until_one_is_attained():
    closed = 0
    for number in range(12):
        if (found := known(contended(number))) is None:
            continue
        layout, optimum = found
        best = Best(layout, Limits(), 0.0)
        best.offer(search(layout, 1, 0, None)[0])
        Attempts(best, _bounds.pools(layout)).from_below()
        assert best.closed
        assert best.upper == optimum
        closed += 1
    assert closed >= 5
