"""Second opinions: two engines of different code agree, or their contradiction is an error with both answers saved."""

from __future__ import annotations

import dataclasses
import json
import types

import pytest

from mlsched import api, solvers
from mlsched.api import confirm
from mlsched.core.errors import Contradiction, TooLarge
from mlsched.core.formulation import Outcome
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.solver import Solver

INSTANCE = api.generate("preemption", "surge", seed=0)
BEST = api.solve(INSTANCE, "cp-sat")


@pytest.fixture(autouse=True)
def patient(monkeypatch, tmp_path):
    """No second opinion ends early on a busy machine; what is saved lands in a folder of the test's own."""
    monkeypatch.setattr(confirm, "LEAST_SECONDS", 1000.0)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def says(monkeypatch):
    """`says(outcome)`: every second opinion is that."""

    def start(outcome: Outcome | Exception) -> None:
        def answered(request):
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(confirm, "solvers", types.SimpleNamespace(run=answered))

    return start


@pytest.mark.parametrize(
    ("problem", "first", "second"),
    [
        ("preemption", "cp-sat", "highs:engine=scip"),
        ("preemption", "highs", "cp-sat"),
        ("preemption", "highs:engine=scip", "cp-sat"),
        ("preemption", "brute-force", "cp-sat"),
        ("quality", "dp", "highs:engine=scip"),
        ("quality", "highs", "dp"),
        ("workers", "cp-sat", "dp"),
        ("placement", "cp-sat", "highs"),
        ("placement", "highs", "cp-sat"),
        ("taskgraph", "cp-sat", "highs:engine=scip"),
    ],
)
def test_another_engine_agrees_on_every_objective(problem, first, second):
    instance = api.generate(problem, "small", seed=2)
    for objective in instance.objectives:
        if objective.name in registry().solver(problem, first)[0].objectives:
            found = api.solve(instance, first, objective=objective.name, confirm=True)
            assert (found.status, found.evidence, found.confirmed_by) == ("optimal", "confirmed", second)
            assert found.confirm_seconds > 0


def test_nobody_is_asked_by_default_or_where_nothing_is_proved():
    assert (BEST.evidence, BEST.confirmed_by, BEST.confirm_seconds) == ("unconfirmed", None, None)
    rule = api.solve(INSTANCE, "fitgpp", confirm=True)
    assert (rule.evidence, rule.confirm_seconds) == (None, None)


def test_an_engine_does_not_confirm_itself():
    highs = registry().solvers["preemption", "highs"]
    assert highs.engine_of({}) == highs.engine_of({"engine": "ortools-highs"}) == "highs"
    assert highs.engine_of({"engine": "scip"}) == "scip"
    others = confirm.second_opinions(Request(highs, "total_score", instance=INSTANCE))
    assert [other.solver.engine_of(other.params) for other in others] == ["cp-sat", "scip", "brute-force"]

    def answer(instance, *, objective, limits, hint):
        raise NotImplementedError

    wrapper = Solver("mine", "preemption", "exact", answer, engine="cp-sat", algorithm=answer)
    assert wrapper.engine_of({}) == "cp-sat"


@pytest.mark.parametrize("backend", ["cp-sat", "highs", "highs:engine=scip"])
@pytest.mark.parametrize("problem", ["preemption", "quality", "workers"])
def test_models_find_what_is_better_and_nothing_else(problem, backend):
    """Asked for better than the optimum there is nothing; asked for better than one unit worse there is the optimum."""
    instance = api.generate(problem, "small", seed=3)
    for objective in instance.objectives:
        if problem == "quality" and backend == "cp-sat":
            continue
        best = api.solve(instance, backend, objective=objective.name).sort_key
        solver, values = registry().solver(problem, backend)
        worse = best + (1 if objective.sense == "min" else -1)
        request = Request(solver, objective.name, values, instance=instance)
        assert solvers.run(dataclasses.replace(request, better_than=best)).status == "infeasible"
        found = solvers.run(dataclasses.replace(request, better_than=worse))
        assert instance.evaluate(found.plan)[objective.name] == best


def test_no_time_and_no_opinion_leave_a_claim(says, monkeypatch):
    says(Outcome("unknown", None, None, "time limit"))
    assert api.solve(INSTANCE, "cp-sat", confirm=True).evidence == "unconfirmed"
    says(TooLarge("too large"))
    assert api.solve(INSTANCE, "cp-sat", confirm=True).evidence == "unconfirmed"
    monkeypatch.setattr(confirm, "LEAST_SECONDS", -1.0)
    monkeypatch.setattr(confirm, "SHARE", 0.0)
    found = api.solve(INSTANCE, "cp-sat", confirm=True)
    assert (found.evidence, found.confirmed_by) == ("unconfirmed", None)


NOTHING = INSTANCE.plan_type(te_node=[-1] * len(INSTANCE.te_demand), victims=[])


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (Outcome("feasible", BEST.plan, None), f"has a plan of {BEST.sort_key}"),
        (Outcome("optimal", NOTHING, 10**9), "has a plan of "),
        (Outcome("feasible", INSTANCE.plan_type(te_node=[0], victims=[0, 0]), None), "has an infeasible plan"),
    ],
)
def test_a_contradiction_is_an_error_with_both_answers_saved(says, tmp_path, second, sentence):
    says(second)
    with pytest.raises(Contradiction, match=f"cp-sat proves {BEST.sort_key} optimal, but highs:engine=scip {sentence}"):
        api.solve(INSTANCE, "cp-sat", confirm=True)
    (path,) = tmp_path.iterdir()
    saved = json.loads(path.read_text())
    assert saved["first"]["value"] == BEST.sort_key
    assert saved["second"]["solver"] == "highs:engine=scip"
    assert type(INSTANCE).from_json(saved["instance"]) == INSTANCE


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (Outcome("optimal", NOTHING, 10**9), "proves "),
        (Outcome("infeasible", None, None), "calls the instance infeasible"),
        (Outcome("unknown", None, BEST.sort_key + 1, "time limit"), f"claims the bound {BEST.sort_key + 1}"),
    ],
)
def test_an_algorithm_that_answers_the_whole_question_may_contradict(says, monkeypatch, second, sentence):
    monkeypatch.setattr(confirm, "ORDER", ("brute-force",))
    says(second)
    with pytest.raises(Contradiction, match=f"but brute-force {sentence}"):
        api.solve(INSTANCE, "cp-sat", confirm=True)


def test_a_bound_alone_confirms(says, monkeypatch):
    monkeypatch.setattr(confirm, "ORDER", ("brute-force",))
    says(Outcome("feasible", NOTHING, BEST.sort_key, "time limit"))
    assert api.solve(INSTANCE, "cp-sat", confirm=True).confirmed_by == "brute-force"
