"""A proof of a model with continuous columns is made twice, and a point refutes any proof."""

from __future__ import annotations

import random
from functools import partial

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from draws import draws
from mip_examples import formulation
from mixed_examples import drawn, witness

from mlsched.core.errors import Contradiction
from mlsched.core.formulation import Limits, Term
from mlsched.solvers import enumerate_front
from mlsched.solvers.backends import highs, math_opt, pyomo_solver, second_opinion

ENGINES = {
    "highs": highs.minimise,
    "scip": partial(math_opt.minimise, solver="scip"),
    "ortools-highs": partial(math_opt.minimise, solver="ortools-highs"),
    "appsi_highs": partial(pyomo_solver.minimise, solver="appsi_highs"),
}
#: Pairs of objectives of the witness, as its reader drew them.
PAIRS = [(i, j) for i in range(0, 50, 10) for j in range(1, 50, 10)]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_witness_of_highs_3090_is_feasible(engine):
    model, whole = witness()
    found = ENGINES[engine](formulation(model, Term(1, sum(whole[:5]))), "o", "min", Limits(), None)
    assert found.status == "optimal"


@pytest.mark.parametrize("pair", PAIRS[:: draws(6, 1)])
def test_a_front_of_the_witness_is_not_empty(pair):
    model, whole = witness()
    front = enumerate_front(
        model, [sum(whole[pair[0] : pair[0] + 9]), sum(whole[pair[1] : pair[1] + 7])], ["min", "max"]
    )
    assert front.status == "complete"
    assert len(front) > 0
    assert front.verify() == []
    assert front.confirmed("scip").confirmed_by == "scip"


def test_a_front_of_one_presolve_is_denied_by_scip(monkeypatch):
    """As it was: an empty front, called complete."""
    monkeypatch.setattr("mlsched.solvers.front.highs.proved_twice", lambda m, c, *_: second_opinion.Ruling(c))
    model, whole = witness()
    front = enumerate_front(model, [sum(whole[:9]), sum(whole[9:20])], ["min", "max"])
    assert front.status == "infeasible"
    assert any("scip says optimal" in sentence for sentence in front.verify("scip"))
    with pytest.raises(Contradiction, match="scip denies the front of highs"):
        front.confirmed()


def within_a_tolerance():
    """x = 3.00000003 by the rows: no integer within 1e-9, one within 1e-7."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.c = pyo.Var(bounds=(0, 5))
    model.link = pyo.Constraint(expr=0.33333333 * model.x - model.c == 0)
    model.one = pyo.Constraint(expr=model.c == 1)
    return model


def test_feasible_only_within_a_looser_tolerance_is_not_infeasible():
    model = within_a_tolerance()
    found = highs.minimise(formulation(model, Term(1, model.x + model.y)), "o", "min", Limits(), None)
    assert (found.status, found.bound) == ("unknown", None)
    assert "feasible only within 1e-07" in found.doubt
    front = enumerate_front(model, [model.x, model.y], ["min", "min"])
    assert (front.status, front.complete) == ("failed", False)
    assert "feasible only within 1e-07" in front.failures[0]


@pytest.mark.parametrize("engine", ["highs", "scip"])
def test_random_mixed_programs_have_the_optima_of_brute_force(engine):
    rng = random.Random(63)
    for _ in range(draws(25, 10_000)):
        program = drawn(rng)
        values = program.values()
        model, (first, second) = program.pyomo()
        found = ENGINES[engine](formulation(model, Term(1, 2 * first + second)), "o", "min", Limits(), None)
        best = min((2 * a + b for a, b in values), default=None)
        assert (found.status, found.bound) == (("infeasible", None) if best is None else ("optimal", best)), program


def test_random_mixed_programs_have_the_fronts_of_brute_force():
    rng = random.Random(64)
    for _ in range(draws(15, 10_000)):
        program = drawn(rng)
        model, goals = program.pyomo()
        front, expected = enumerate_front(model, goals, ["min", "min"]), program.front()
        assert front.status == ("complete" if expected else "infeasible"), program
        assert front.sort_keys.tolist() == expected, program
        assert front.verify("scip") == []


def claims(*said):
    """Engines that say what they are told, in turn."""
    left = list(said)
    return lambda engine, model, limits, tolerance=1e-9: left.pop(0)


def test_two_proofs_that_a_point_refutes_are_in_doubt(monkeypatch):
    claim = second_opinion.Claim
    point = np.zeros(1)
    said = claims(claim("scip", "optimal", 3.0, 3.0, point), claim(second_opinion.PLAIN, "infeasible"))
    monkeypatch.setattr(second_opinion, "asked", said)
    ruling = second_opinion.proved_twice(None, claim("highs", "infeasible"), Limits(), 0.0)
    assert ruling.doubt == "highs says infeasible; scip says optimal 3; highs without presolve says infeasible"
    assert ruling.claim.solution is point


OPTIMA = {
    "the same": ((10.0, 10.0), (10.0, 10.0), True),
    "the next better value excluded": ((10.0, 9.001), (10.0, 10.0), True),
    "the next better value not excluded": ((10.0, 9.0), (10.0, 10.0), False),
    "no bound": ((10.0, None), (10.0, 10.0), False),
    "another value": ((10.0, 10.0), (12.0, 12.0), False),
    "another value, a bound below both": ((10.0, 10.0), (12.0, 10.0), False),
    "a bound that the other's point refutes": ((10.0, 10.0), (10.0, 12.0), False),
    "large, the same": ((1e9, 1e9 - 0.4), (1e9, 1e9), True),
    "large, the next better value not excluded": ((1e9, 1e9 - 2), (1e9, 1e9), False),
    "large, another value": ((1e9, 1e9), (1e9 + 1, 1e9 + 1), False),
}


@pytest.mark.parametrize("case", OPTIMA)
def test_two_optima_agree_only_on_one_value_that_both_prove(case):
    (value, bound), (other, its_bound), agreed = OPTIMA[case]
    one = second_opinion.Claim("highs", "optimal", value, bound)
    two = second_opinion.Claim("scip", "optimal", other, its_bound)
    assert (second_opinion._agreed(one, two) is not None) == agreed
    assert (second_opinion._agreed(two, one) is not None) == agreed


def test_a_first_proof_whose_point_breaks_the_model_does_not_count(monkeypatch):
    """x >= 2, and the first engine says that x = 1 is optimal."""
    one = np.ones(1)
    whole = np.ones(1, dtype=bool)
    start, index = np.array([0, 1]), np.array([0])
    model = second_opinion.Mixed(one, 0.0, 2 * one, 9 * one, whole, start, index, one, 0 * one, 9 * one)
    said = second_opinion.Claim("highs", "optimal", 1.0, 1.0, np.ones(1))
    ruling = second_opinion.proved_twice(model, said, Limits(), 0.0)
    assert (ruling.doubt, ruling.claim.value) == ("", 2.0)
    assert ruling.claim.engine in second_opinion.OTHERS["highs"]


def test_a_second_proof_that_a_limit_ends_proves_nothing(monkeypatch):
    claim = second_opinion.Claim
    monkeypatch.setattr(second_opinion, "asked", claims(*[claim("scip", "limit")] * 3))
    ruling = second_opinion.proved_twice(None, claim("highs", "infeasible"), Limits(work=1), 0.0)
    assert (ruling.out_of, ruling.claim.status) == ("work limit", "failed")


@pytest.mark.parametrize("form", ["columns", "rows"])
def test_a_model_that_highs_keeps_by_rows_is_read(form):
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 3, 2
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.ones(3), np.zeros(3), np.full(3, 9.0)
    lp.row_lower_, lp.row_upper_ = np.ones(2), np.full(2, 5.0)
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    formats = {"columns": highspy.MatrixFormat.kColwise, "rows": highspy.MatrixFormat.kRowwise}
    lp.a_matrix_.format_ = formats[form]
    lines = dense.T if form == "columns" else dense
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum((lines != 0).sum(axis=1))])
    lp.a_matrix_.index_, lp.a_matrix_.value_ = np.nonzero(lines)[1], lines[lines != 0]
    held = second_opinion._columns_of(lp)
    assert [part.tolist() for part in held] == [[0, 1, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0]]
