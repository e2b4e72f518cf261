"""HiGHS alone: several terms, both senses, safe bounds, statuses that are errors, life beside OR-Tools."""

from __future__ import annotations

import subprocess
import sys

import pyomo.environ as pyo
import pytest
from mip_examples import formulation, knapsack

from mlsched.core import deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.formulation import Limits, Term, safe_bound
from mlsched.solvers.backends import highs


def test_a_textbook_optimum():
    model, profit = knapsack()
    found = highs.minimise(
        formulation(model, Term(1, profit), variables=list(model.v.values())), "o", "max", Limits(), None
    )
    assert (found.status, found.bound, found.plan.victims.tolist()) == ("optimal", 13, [2, 0, 1])


def test_equalities_and_lower_bounds_are_compiled():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), domain=pyo.Integers, bounds=(-5, 5))
    model.same = pyo.Constraint(expr=model.x[0] + model.x[1] == 3)
    model.low = pyo.Constraint(expr=model.x[0] - model.x[1] >= -1)
    model.both = pyo.Constraint(expr=(-4, model.x[0], 4))
    question = formulation(model, Term(1, model.x[0]))
    assert highs.minimise(question, "o", "min", Limits(), None).bound == 1
    assert highs.minimise(question, "o", "max", Limits(), None).bound == 4


def test_a_small_term_is_not_drowned_by_a_big_one():
    """The second term decides although its weight is far below the first term's rounding in a single float sum."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.Binary)
    model.one = pyo.Constraint(expr=model.x[0] + model.x[1] + model.x[2] >= 2)
    big = Term(2**52, model.x[0] + model.x[1] + model.x[2])
    low = Term(1, 3 * model.x[0] + 2 * model.x[1] + model.x[2])
    question = formulation(model, big, low, variables=list(model.x.values()))
    found = highs.minimise(question, "o", "min", Limits(), None)
    assert (found.bound, found.plan.victims.tolist()) == (2 * 2**52 + 3, [0, 1, 1])
    found = highs.minimise(question, "o", "max", Limits(), None)
    assert found.bound == 3 * 2**52 + 6


def test_a_continuous_unbounded_model_is_an_error_never_infeasible():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Reals)
    with pytest.raises(BackendError, match=r"highs ended with k.*: neither a proof nor a limit"):
        highs.minimise(formulation(model, Term(1, model.x)), "o", "min", Limits(), None)


def test_an_objective_that_is_not_linear_is_refused():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Binary)
    with pytest.raises(BackendError, match="an objective is not linear"):
        highs.minimise(formulation(model, Term(1, model.x * model.x)), "o", "min", Limits(), None)


def test_a_model_without_variables_and_terms_that_are_numbers():
    found = highs.minimise(formulation(pyo.ConcreteModel(), Term(3, 2), Term(1, 0)), "o", "min", Limits(), None)
    assert (found.status, found.bound) == ("optimal", 6)


@pytest.mark.parametrize(
    ("bound", "safe"), [(2.0, 2), (1.9999999, 2), (2.0000001, 2), (2.1, 3), (-0.5, 0), (float("-inf"), None)]
)
def test_float_bounds_are_rounded_the_safe_way(bound, safe):
    assert safe_bound(bound) == safe


def test_work_counts_nodes_and_iterations():
    model, profit = knapsack()
    assert set(highs.minimise(formulation(model, Term(1, profit)), "o", "max", Limits(), None).work) == {
        "nodes",
        "simplex_iterations",
    }


def test_every_term_has_what_is_left_of_the_time(ticking, monkeypatch):
    import highspy

    told, set_option = [], highspy.Highs.setOptionValue

    def note(solver, name, value):
        if name == "time_limit":
            told.append(value - solver.getRunTime())  # HiGHS counts from the first solve on
        return set_option(solver, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", note)
    ticking(deadline, seconds=1000.0)
    model, profit = knapsack()
    question = formulation(model, Term(1, profit), Term(1, -model.v[0]))
    assert highs.minimise(question, "o", "max", Limits(seconds=3000.0), None).status == "optimal"
    assert told == pytest.approx([2000.0, 1000.0])


@pytest.mark.parametrize(("seconds", "expected"), [(1.9, "off"), (2.1, "choose")])
def test_presolve_is_left_out_where_it_may_take_longer_than_is_left(seconds, expected, monkeypatch):
    """It looks at no clock. This model has two nonzeros."""
    import highspy

    told, set_option = [], highspy.Highs.setOptionValue

    def note(solver, name, value):
        told.extend([value] if name == "presolve" else [])
        return set_option(solver, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", note)
    monkeypatch.setattr(highs, "PRESOLVING", 1.0)
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    question = formulation(model, Term(1, model.x + model.y))
    found = highs.minimise(question, "o", "min", Limits(seconds=seconds), None)
    assert (found.status, told) == ("optimal", [expected])


@pytest.mark.parametrize("order", [("cp-sat", "highs"), ("highs", "cp-sat")])
def test_both_solvers_work_in_one_process_in_either_order(order):
    """HiGHS 1.15 and OR-Tools 9.15 could not be imported together; a fresh process shows which wins."""
    code = (
        "from mlsched import api\n"
        "inst = api.generate('preemption')\n"
        f"values = [api.solve(inst, name).value for name in {order!r} * 2]\n"
        "assert len(set(values)) == 1, values\n"
        "print('confirmed')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "confirmed", found.stderr


@pytest.mark.parametrize("most", [None, 100])
def test_integer_and_continuous_variables_together(most):
    """min 2x + 3z, x + z >= 4.5, z integer: 9 at (4.5, 0). HiGHS 1.14.0 certifies 15 where x <= 100; it is excluded."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeReals, bounds=(0, most))
    model.z = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.row = pyo.Constraint(expr=model.x + model.z >= 4.5)
    found = highs.minimise(formulation(model, Term(1, 2 * model.x + 3 * model.z)), "o", "min", Limits(), None)
    assert (found.status, found.bound) == ("optimal", 9)


def test_an_infeasible_model_on_which_presolve_breaks_down():
    """HiGHS 1.13.1 ends with kSolveError: its presolve reduces the model to nothing."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(-2, 2))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(-2, 2))
    model.z = pyo.Var(domain=pyo.Integers, bounds=(-1, 1))
    model.row = pyo.Constraint(expr=2 * model.x + model.y + 2 * model.z == 0)
    model.fixed = pyo.ConstraintList()
    model.fixed.add(model.x == 0)
    model.fixed.add(model.y == -1)
    assert highs.minimise(formulation(model, Term(1, model.x)), "o", "min", Limits(), None).status == "infeasible"


@pytest.mark.parametrize(("high", "expected"), [(2, "infeasible"), (3, "optimal")])
def test_what_is_fixed_is_a_constant_of_its_rows(high, expected):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(domain=pyo.Integers, bounds=(0, 5)), pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.x.fix(3)
    model.no_variable_left = pyo.Constraint(expr=model.x <= high)
    model.row = pyo.Constraint(expr=(5, 2 * model.y + model.x + model.y, 9))
    found = highs.minimise(formulation(model, Term(1, model.y)), "o", "min", Limits(), None)
    assert (found.status, found.bound) == (expected, 1 if expected == "optimal" else None)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_only_what_is_better(sense):
    """Of two terms the last is bounded; a plan that a limit leaves before that is none."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), domain=pyo.Integers, bounds=(0, 5))
    model.row = pyo.Constraint(expr=(3, model.x[0] + model.x[1], 7))
    terms = (Term(10, model.x[0] + model.x[1]), Term(1, model.x[0]))
    question = formulation(model, *terms, variables=list(model.x.values()))
    best, plan = (30, [0, 3]) if sense == "min" else (75, [5, 2])
    worse = best + (1 if sense == "min" else -1)

    def solved(better_than):
        return highs.minimise(question, "o", sense, Limits(), None, better_than)

    assert solved(best).status == "infeasible"
    found = solved(worse)
    assert (found.status, found.bound, found.plan.victims.tolist()) == ("optimal", best, plan)


def test_a_plan_that_a_limit_leaves_before_the_last_term_is_no_better_one(monkeypatch):
    from mlsched.solvers.backends import staged

    class Stopped:
        def __init__(self):
            self.work = {}

        def solve(self, term, sign):
            return staged.Stage("time limit", [1], 1, 0)

        def decode(self, solution):
            raise AssertionError("nothing is to be decoded")

    question = formulation(None, Term(10, "first"), Term(1, "second"))
    found = staged.minimise_terms(Stopped(), question, "o", "min", better_than=5)
    assert (found.status, found.plan) == ("unknown", None)


def test_a_constant_objective_is_never_better():
    question = formulation(pyo.ConcreteModel(), Term(3, 2))
    assert highs.minimise(question, "o", "min", Limits(), None, 6).status == "infeasible"
    assert highs.minimise(question, "o", "min", Limits(), None, 7).bound == 6


def test_an_objective_that_makes_no_row_is_refused():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Binary)
    with pytest.raises(InvalidInput, match=r"a coefficient of 1e\+09 in the objective is beyond 1e\+08"):
        highs.minimise(formulation(model, Term(1, 10**9 * model.x)), "o", "min", Limits(), None, 5)
