"""The models for HiGHS by SCIP and OR-Tools' own HiGHS, and by whatever Pyomo finds."""

from __future__ import annotations

import shutil

import pyomo.environ as pyo
import pytest
from mip_examples import formulation, knapsack

from mlsched import api, solvers
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.formulation import Limits, Term
from mlsched.solvers.backends import highs, math_opt, pyomo_solver

#: CBC where the system has it.
INSTALLED = ["scip", "ortools-highs", "appsi_highs", *(["cbc"] if shutil.which("cbc") else [])]


def minimise(solver, question, sense="min", limits=None, better_than=None):
    if solver == "highs":
        return highs.minimise(question, "o", sense, limits or Limits(), None, better_than)
    module = pyomo_solver if solver in ("appsi_highs", "cbc") else math_opt
    return module.minimise(question, "o", sense, limits or Limits(), None, better_than, solver=solver)


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("problem", ["preemption", "quality", "workers"])
def test_they_say_what_highs_says(problem, name, capfd):
    instance = api.generate(problem, "small", seed=4)
    for objective in instance.objectives:
        ours = api.solve(instance, "highs", objective=objective.name)
        theirs = api.solve(instance, f"highs:engine={name}", objective=objective.name)
        assert (theirs.status, theirs.sort_key, theirs.sort_bound) == ("optimal", ours.sort_key, ours.sort_bound)
        assert theirs.params["engine"] == name
        assert "engine" not in ours.params
    assert capfd.readouterr() == ("", ""), "nor do they write anything themselves"


@pytest.mark.parametrize("name", INSTALLED)
def test_a_textbook_optimum_and_what_is_better(name):
    model, profit = knapsack()
    question = formulation(model, Term(1, profit), variables=list(model.v.values()))
    found = minimise(name, question, "max")
    assert (found.status, found.bound, found.plan.victims.tolist()) == ("optimal", 13, [2, 0, 1])
    assert minimise(name, question, "max", better_than=13).status == "infeasible"


@pytest.mark.parametrize("name", INSTALLED)
def test_several_terms(name):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.Binary)
    model.one = pyo.Constraint(expr=model.x[0] + model.x[1] + model.x[2] >= 2)
    big = Term(2**52, model.x[0] + model.x[1] + model.x[2])
    low = Term(1, 3 * model.x[0] + 2 * model.x[1] + model.x[2])
    found = minimise(name, formulation(model, big, low, variables=list(model.x.values())))
    assert (found.bound, found.plan.victims.tolist()) == (2 * 2**52 + 3, [0, 1, 1])


@pytest.mark.parametrize("name", INSTALLED)
def test_infeasible_and_unbounded(name):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.row = pyo.Constraint(expr=2 * model.x == 3)
    assert minimise(name, formulation(model, Term(1, model.x))).status == "infeasible"
    free = pyo.ConcreteModel()
    free.x = pyo.Var(domain=pyo.Reals)
    with pytest.raises(BackendError, match="neither a proof nor a limit"):
        minimise(name, formulation(free, Term(1, free.x)))


def test_a_model_without_variables():
    assert minimise("scip", formulation(pyo.ConcreteModel(), Term(3, 2))).bound == 6


@pytest.mark.parametrize("name", ["scip", "ortools-highs"])
def test_a_start_is_taken_and_limits_leave_valid_answers(name):
    instance = api.generate("workers", "crowded", seed=0)
    best = api.solve(instance, "dp").sort_key
    found = api.solve(instance, f"highs:engine={name}", work_limit=1)
    assert found.sort_bound <= best <= found.sort_key
    assert api.solve(instance, f"highs:engine={name}", time_limit=1e-6).plan is not None


def test_a_limit_of_work_and_an_unknown_solver_are_refused():
    instance = api.generate("workers", "small", seed=0)
    with pytest.raises(InvalidInput, match="work_limit: not available for appsi_highs"):
        api.solve(instance, "highs:engine=appsi_highs", work_limit=5)
    with pytest.raises(InvalidInput, match="solver: 'nobody', expected highs, scip, ortools-highs, or a solver that"):
        api.solve(instance, "highs:engine=nobody")


def test_a_solver_without_known_options_must_prove_its_value(monkeypatch):
    monkeypatch.setattr(pyomo_solver, "EXACT", {})
    model, profit = knapsack()
    assert minimise("appsi_highs", formulation(model, Term(1, profit)), "max").bound == 13
    monkeypatch.setattr(pyomo_solver, "safe_bound", lambda bound: -99)
    with pytest.raises(BackendError, match="reports optimal with -13 and the bound -99: its gap is not known to be 0"):
        minimise("appsi_highs", formulation(model, Term(1, profit)), "max")


def test_a_front_is_highs_own():
    instance = api.generate("preemption", "small", seed=0)
    with pytest.raises(InvalidInput, match="fronts are enumerated by highs itself"):
        api.pareto(instance, ["total_score", "victim_count"], solver="highs:engine=scip")
    assert solvers.SOLVERS["highs"].endswith("highs")


@pytest.mark.parametrize("name", ["highs", "scip", "appsi_highs"])
def test_a_solution_that_breaks_a_row_is_no_answer(monkeypatch, name):
    # SCIP did this to models of admission: a row parallel to the objective was gone, and the answer "optimal".
    model, profit = knapsack()
    question = formulation(model, Term(1, profit), variables=list(model.v.values()))
    module = {"highs": highs, "scip": math_opt, "appsi_highs": pyomo_solver}[name]
    monkeypatch.setattr(module._Run, "fix", lambda run, term, sign, value: None)
    with pytest.raises(BackendError, match=f"{name} returns a solution that breaks a row"):
        minimise(name, question, "max", better_than=13)
