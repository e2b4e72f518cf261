"""What every backend promises: limits with valid bounds, hints, seeds, threads."""

from __future__ import annotations

import dataclasses

import pytest
from draws import draws
from preemption_examples import small

from mlsched import api
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry
from mlsched.instances.preemption import Plan
from mlsched.solvers.backends import cp_sat, highs

BACKENDS = {"cp-sat": cp_sat.minimise, "highs": highs.minimise}
OBJECTIVES = ["total_score", "victim_count", "max_grace_period"]


@pytest.fixture(scope="module")
def crowd():
    """An instance that takes both solvers a while, and its optimum, proved by both without limits."""
    inst = api.generate("preemption", seed=3, nodes=5, jobs=25, tes=5, te_scale=0.8)
    return inst, api.solve(inst, "cp-sat").sort_key


def check(found, instance, best: int) -> None:
    assert found.status in ("optimal", "feasible", "unknown")
    assert found.sort_bound is None or found.sort_bound <= best
    if found.plan is None:
        assert (found.status, found.sort_key, found.gap) == ("unknown", None, None)
    else:
        assert instance.violations(found.plan) == []
        assert found.sort_key >= best
    if found.status == "optimal":
        assert found.sort_key == found.sort_bound == best
        assert found.stopped_by == "proof"


@pytest.mark.parametrize("hint", ["none", None])
@pytest.mark.parametrize("seconds", [1e-6, 0.02, 0.2])
def test_a_time_limit_gives_an_incumbent_or_nothing_and_a_valid_bound(solver, crowd, seconds, hint):
    found = api.solve(crowd[0], solver, time_limit=seconds, hint=hint)
    check(found, *crowd)
    if found.status != "optimal":
        assert found.stopped_by == "time limit"


@pytest.mark.parametrize("work", [1e-6, 1e-3, 1])
def test_a_work_limit_is_reproducible_and_its_bound_valid(solver, crowd, work):
    found = api.solve(crowd[0], solver, work_limit=work, hint="none")
    again = api.solve(crowd[0], solver, work_limit=work, hint="none")
    check(found, *crowd)
    if found.status != "optimal":
        assert found.stopped_by == "work limit"
    assert (found.status, found.sort_key, found.sort_bound, found.work) == (
        again.status,
        again.sort_key,
        again.sort_bound,
        again.work,
    )
    assert found.plan == again.plan


def test_some_limit_really_cuts_the_search(solver, crowd):
    assert api.solve(crowd[0], solver, work_limit=1e-6, hint="none").status != "optimal"


@pytest.mark.parametrize("work", [1e-6, 1])
def test_limits_hold_across_branches(solver, work):
    inst = api.generate("preemption", "single", seed=2, te_scale=1.0, saturation=1.0)
    best = api.solve(inst, solver).sort_key
    check(api.solve(inst, solver, work_limit=work), inst, best)
    check(api.solve(inst, solver, time_limit=1e-6), inst, best)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_solvers_agree_beyond_what_brute_force_can_check(objective):
    for seed in range(draws(2, 3)):
        inst = api.generate("preemption", "surge", seed=seed)
        found = {name: api.solve(inst, name, objective=objective) for name in ("cp-sat", "highs")}
        assert {r.status for r in found.values()} == {"optimal"}
        assert found["cp-sat"].sort_key == found["highs"].sort_key


def test_the_same_seed_gives_the_same_plan(solver):
    inst = api.generate("preemption", "surge", seed=1)
    first, second = (api.solve(inst, solver, seed=3) for _ in range(2))
    assert first.plan == second.plan
    assert first.work == second.work


@pytest.mark.parametrize("seed", [2**31 - 1, 2**31, 2**40])
def test_any_seed_will_do(solver, seed):
    assert api.solve(small(), solver, seed=seed).sort_key == 1_000_000


def test_changing_the_number_of_threads_in_one_process_works(solver):
    inst = api.generate("preemption", "surge", seed=4)
    values = [api.solve(inst, solver, threads=t).sort_key for t in (1, 2, 1)]
    assert len(set(values)) == 1
    assert all(api.solve(inst, solver, threads=t).status == "optimal" for t in (1, 2, 1))


def formulation(solver: str):
    found, values = registry().solver("preemption", solver)
    return found.function(small(), objectives=("total_score",), **{**values, "decompose": False})


def test_a_formulation_that_hints_twice_is_refused(solver):
    good = formulation(solver)
    twice = dataclasses.replace(good, encode=lambda plan: good.encode(plan) * 2)
    plan = Plan(te_node=[1], victims=[2])
    assert BACKENDS[solver](good, "total_score", "min", Limits(), plan).bound == 1_000_000
    with pytest.raises(ValueError, match="hints a variable twice"):
        BACKENDS[solver](twice, "total_score", "min", Limits(), plan)


def test_one_formulation_can_be_solved_again_from_another_hint(solver):
    question = formulation(solver)
    for victims in ([2], [0, 2], []):
        hint = Plan(te_node=[1 if victims else -1], victims=victims)
        found = BACKENDS[solver](question, "total_score", "min", Limits(), hint)
        assert (found.status, found.bound) == ("optimal", 1_000_000)
    if solver == "cp-sat":  # a variable hinted twice makes CP-SAT answer wrongly at once
        hinted = list(question.model.proto.solution_hint.vars)
        assert len(set(hinted)) == len(hinted) > 0


def test_an_infeasible_hint_is_refused(solver):
    with pytest.raises(InvalidInput, match="hint: is infeasible: node 0: its TE jobs need 5 cpu"):
        api.solve(small(), solver, hint=Plan(te_node=[0], victims=[]))


@pytest.mark.parametrize("plan", [([1], [2]), ([0], [0]), ([0], [0, 1, 2]), ([-1], []), ([-1], [0, 1, 2])])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_feasible_hint_however_bad_does_not_change_the_optimum(solver, plan, objective):
    hint = Plan(te_node=plan[0], victims=plan[1])
    best = api.solve(small(), "brute-force", objective=objective).sort_key
    for decompose in (True, False):
        found = api.solve(small(), solver, objective=objective, hint=hint, decompose=decompose)
        assert (found.status, found.sort_key) == ("optimal", best)


def test_a_constant_is_added_to_value_and_bound(solver):
    shifted = dataclasses.replace(formulation(solver), constant={"total_score": 17})
    assert BACKENDS[solver](shifted, "total_score", "min", Limits(), None).bound == 1_000_017


def test_an_infeasible_model_is_called_infeasible(solver):
    question = formulation(solver)
    _close(solver, question.model)
    found = BACKENDS[solver](question, "total_score", "min", Limits(), None)
    assert (found.status, found.plan, found.bound, found.stopped_by) == ("infeasible", None, None, "proof")


def _close(solver: str, model) -> None:
    """Add a contradiction to the model, in its language."""
    if solver == "cp-sat":
        model.add(sum(model.get_bool_var_from_proto_index(i) for i in range(2)) >= 3)
    else:
        import pyomo.environ as pyo

        model.never = pyo.Constraint(expr=sum(model.victim.values()) >= 4)


def test_a_decoder_that_invents_a_plan_is_caught(solver, monkeypatch):
    from mlsched.formulations.preemption._model import Reduced

    monkeypatch.setattr(Reduced, "plan", lambda self, placed, victims: Plan(te_node=[0], victims=[]))
    with pytest.raises(SolverError, match=f"{solver} returned an infeasible plan: node 0"):
        api.solve(small(), solver, decompose=False)
