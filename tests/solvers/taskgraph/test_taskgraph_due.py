"""The model of what can be done by the deadlines, and the objectives it answers, against brute force and the judge."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from contended_examples import contended
from draws import draws
from hypothesis import given

from mlsched import api
from mlsched.core.errors import SolverError
from mlsched.core.fields import UNLIMITED
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph import _due
from mlsched.formulations.taskgraph._due import TIMELESS, DueModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._pools import packed, pools
from mlsched.instances import strategies
from mlsched.solvers.backends.limits import within
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph import one_objective
from mlsched.solvers.taskgraph.bounds.alone import sharpened

OBJECTIVES = sorted(TIMELESS)


def best_of(instance, objective: str):
    """(value, plan) of the model; None where it has no solution or no place for the instance."""
    layout, _ = sharpened(Layout.of(instance))
    if not _due.worth(layout, (objective,)):
        return None
    model = DueModel(layout, (objective,), pools(layout) + packed(layout))
    sign = 1 if instance.objective(objective).sense == "min" else -1
    model.cp.minimize(sign * model.terms[objective])
    solver = within(Limits())
    status = solver.status_name(solver.solve(model.cp))
    if status == "INFEASIBLE":
        return "infeasible"
    assert status == "OPTIMAL"
    plan = model.plan(list(solver.response_proto.solution))
    return sign * round(solver.objective_value) + model.constant[objective], plan


def check(instance) -> list[str]:
    seen = []
    for objective in OBJECTIVES:
        found = best_of(instance, objective)
        if found is None:
            seen.append("no place")
            continue
        expected = api.solve(instance, "brute-force", objective=objective)
        if found == "infeasible":
            assert expected.status == "infeasible"
            seen.append("infeasible")
            continue
        value, plan = found
        assert (expected.status, expected.sort_key) == ("optimal", value), objective
        assert not instance.violations(plan)
        assert instance.evaluate(plan)[objective] == value
        assert int((plan.start + instance.duration[plan.task]).max(initial=0)) <= Layout.of(instance).horizon()
        late = any(job_late(instance, plan, j) for j in range(len(instance.arrival)))
        seen.append("late runs" if late else "in time")
    return seen


def job_late(instance, plan, j: int) -> bool:
    mine = plan.job == j
    return bool(mine.any()) and int((plan.start + instance.duration[plan.task])[mine].max()) > instance.deadline[j]


@given(instance=strategies.taskgraph())
def test_optima_are_those_of_brute_force_on_adversarial_instances(instance):
    check(instance)


def test_optima_are_those_of_brute_force_on_contended_instances(report):
    seen = Counter(kind for number in range(draws(9, 40)) for kind in check(contended(number)))
    report("taskgraph: what can be due against brute force", [f"{n:4}  {name}" for name, n in seen.items()])
    assert seen["late runs"] >= draws(9, 50)
    assert seen["in time"] >= draws(1, 4)


def test_deadlines_beyond_the_horizon_cost_nothing():
    instance = contended(3)
    free = dataclasses.replace(instance, deadline=np.full_like(instance.deadline, UNLIMITED))
    assert "in time" in check(free)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_answers_are_those_of_brute_force_when_the_first_model_has_no_time(monkeypatch, processes_are_kept, objective):
    asked = []
    monkeypatch.setattr(one_objective, "FIRST_DUE", 1e-9)
    run = Apart.run
    monkeypatch.setattr(Apart, "run", lambda self: (asked.append(self), run(self))[1])
    for number in range(draws(3, 6)):
        instance = contended(number)
        expected = api.solve(instance, "brute-force", objective=objective)
        found = api.solve(instance, "cp-sat", objective=objective)
        assert (found.status, found.sort_key, found.sort_bound) == (
            expected.status,
            expected.sort_key,
            expected.sort_key,
        )
    assert asked


def test_an_abort_of_cp_sat_leaves_the_answer_to_the_first_model(monkeypatch):
    monkeypatch.setattr(one_objective, "FIRST_DUE", 1e-9)
    monkeypatch.setattr(Apart, "run", lambda self: Ended("ABORTED"))
    aborted = 0
    for number in range(draws(3, 6)):
        instance = contended(number)
        expected = api.solve(instance, "brute-force", objective="total_accuracy")
        found = api.solve(instance, "cp-sat", objective="total_accuracy")
        assert (found.status, found.sort_key) == (expected.status, expected.sort_key)
        aborted += "aborted_proofs" in found.work
    assert aborted


def test_a_contradiction_between_the_models_is_an_error(monkeypatch):
    monkeypatch.setattr(Apart, "run", lambda self: Ended("INFEASIBLE"))
    instance = api.generate("taskgraph", preset="six-replicas", seed=2)
    monkeypatch.setattr(one_objective, "FIRST_DUE", 1e-9)
    with pytest.raises(SolverError, match="and a plan is known"):
        api.solve(instance, "cp-sat", objective="total_accuracy")


def test_what_intervals_leave_open_is_proved(monkeypatch):
    """By default soon, so that they leave it: in the thorough profile after all the work that they have."""
    monkeypatch.setattr(one_objective, "FIRST_DUE", draws(0.03, one_objective.FIRST_DUE))
    instance = api.generate("taskgraph", preset="six-replicas", seed=2)
    found = api.solve(instance, "cp-sat", objective="total_accuracy")
    assert (found.status, found.sort_key) == ("optimal", 5_008_085)


def test_a_work_limit_is_kept_and_gives_the_same_answer_twice(monkeypatch):
    """The model of what can be due is built whatever the limit, and booked."""
    monkeypatch.setattr(one_objective, "FIRST_DUE", 1e-9)
    instance = api.generate("taskgraph", preset="six-replicas", jobs=4, seed=9)
    answers = [api.solve(instance, "cp-sat", objective="total_accuracy", work_limit=0.05) for _ in range(2)]
    assert answers[0].stopped_by == "work limit"
    assert answers[0].sort_key == answers[1].sort_key
    assert answers[0].sort_bound == answers[1].sort_bound
    assert answers[0].work == answers[1].work
    assert answers[0].work["deterministic_time"] < 0.2
