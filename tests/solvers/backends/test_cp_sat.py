"""CP-SAT alone: its statuses and its work."""

from __future__ import annotations

import pytest
from preemption_examples import small

from mlsched import api
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Formulation, Limits, Term
from mlsched.instances.preemption import Plan
from mlsched.solvers.backends import cp_sat
from mlsched.solvers.backends.limits import WORK, stopped_by, within

NOTHING = Plan(te_node=[], victims=[])


def formulation(model, expression) -> Formulation:
    return Formulation(model, {"o": (Term(1, expression),)}, lambda value_of: NOTHING, lambda plan: [])


def test_work_is_deterministic_time():
    found = api.solve(api.generate("preemption", "surge"), "cp-sat")
    assert set(found.work) == {"deterministic_time"}
    assert found.work["deterministic_time"] > 0


def test_limits_are_those_of_the_solver():
    set_up = within(Limits(seconds=7.5, work=0.25, threads=3, seed=2**31 + 5)).parameters
    assert (set_up.max_time_in_seconds, set_up.max_deterministic_time) == (7.5, 0.25)
    assert (set_up.num_workers, set_up.random_seed) == (3, 5)


def test_why_it_stopped_follows_from_the_limits():
    assert stopped_by(True, Limits(seconds=1, work=1), {WORK: 2.0}) == "proof"
    assert stopped_by(False, Limits(seconds=1, work=1), {WORK: 2.0}) == "work limit"
    assert stopped_by(False, Limits(seconds=1, work=3), {WORK: 2.0}) == "time limit"
    assert stopped_by(False, Limits(), {WORK: 2.0}) == "backend"


def test_a_model_it_calls_invalid_is_an_error():
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = model.new_int_var(-(2**62), 2**62, "x")
    model.add(4 * x <= 1)
    with pytest.raises(BackendError, match="cp-sat calls the model invalid"):
        cp_sat.minimise(formulation(model, x), "o", "min", Limits(), None)


def test_both_senses_and_several_solves_of_one_model():
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = model.new_int_var(-3, 8, "x")
    question = formulation(model, 2 * x)
    assert cp_sat.minimise(question, "o", "min", Limits(), None).bound == -6
    assert cp_sat.minimise(question, "o", "max", Limits(), None).bound == 16
    assert cp_sat.minimise(question, "o", "min", Limits(), None).bound == -6


def test_a_constant_objective():
    assert api.solve(small(te_demand=[[9, 9]]), "cp-sat", decompose=False).status == "optimal"
