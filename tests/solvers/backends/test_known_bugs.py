"""Known-bug models: optima proved in fractions, installed solvers asked, and who is wrong is not believed."""

from __future__ import annotations

from fractions import Fraction

import pyomo.environ as pyo
import pytest
from draws import THOROUGH
from exact_mip import optimum
from mip_examples import formulation

from mlsched import api
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Limits, Term
from mlsched.solvers import enumerate_front
from mlsched.solvers.backends import highs
from mlsched.solvers.backends.known_bugs import ask, models, trust

KNOWN_BUGS = models.known_bugs()
#: Known-bug models whose exact proof takes a tenth of a second or more.
SLOW = (
    *("highs-2158", "dense-0-1", "symmetric-partition", "at-most-one-in-rows-1", "at-most-one-in-rows-2"),
    *("order-by-big-m", "highs-jl-267", "free-integers", "linopy-651"),
)


def by_name(name: str) -> models.KnownBug:
    return next(c for c in KNOWN_BUGS if c.name == name)


def test_what_there_is():
    assert len(KNOWN_BUGS) == len({c.name for c in KNOWN_BUGS}) >= 30
    assert sum(c.of == "report" for c in KNOWN_BUGS) >= 25
    assert {c.of for c in KNOWN_BUGS} == {"report", "class"}
    assert all(c.reason and c.source for c in KNOWN_BUGS)
    assert max(len(c.variables) for c in KNOWN_BUGS) <= 64


@pytest.mark.parametrize("known_bug", KNOWN_BUGS, ids=lambda c: c.name)
def test_the_optimum_is_right(known_bug):
    if known_bug.name in SLOW and not THOROUGH:
        pytest.skip("takes a tenth of a second or more; in the thorough profile")
    proved = optimum(known_bug)
    if isinstance(known_bug.answer, str):
        assert proved == known_bug.answer
    else:
        assert abs(proved - known_bug.answer) <= Fraction(1, 10**12)


@pytest.mark.parametrize("engine", ask.ENGINES)
def test_installed_solvers_are_as_recorded(engine, report):
    """Also where the installed version is not the pinned one: what it is wrong about is then news."""
    verdicts = {c.name: ask.judged(c, engine)[0] for c in KNOWN_BUGS}
    wrong = tuple(name for name, verdict in verdicts.items() if verdict == "wrong")
    right = sum(v == "right" for v in verdicts.values())
    report(
        f"known-bug models, {engine} {trust.version_of(engine)}",
        [f"{right} right, wrong about: {', '.join(wrong) or '-'}"],
    )
    if (engine, trust.version_of(engine)) in trust.TESTED:
        assert set(wrong) == set(trust.failed(engine))


def test_the_model_of_two_variables():
    """HiGHS 1.14.0 said -9999 with that as its bound."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(1, 3))
    model.t = pyo.Var(bounds=(1, 3))
    model.row = pyo.Constraint(expr=model.x - model.t <= 0)
    found = highs.minimise(formulation(model, Term(1, -10000 * model.x + model.t)), "o", "min", Limits(), None)
    assert (found.status, found.bound) == ("optimal", -29997)


def large_bounds():
    """The known-bug model "equality-with-large-bounds" in Pyomo: 6008, HiGHS 1.13.1 says 16662."""
    model = pyo.ConcreteModel()
    model.v = pyo.Var(range(3), domain=pyo.NonNegativeIntegers, bounds=(0, 2 * 10**9))
    model.s = pyo.Var(domain=pyo.Integers, bounds=(-1000, 1000))
    p, q, r = model.v.values()
    model.first = pyo.Constraint(expr=10000 * p + 7 * q - 3 * r == 29999)
    model.second = pyo.Constraint(expr=p - q + model.s == 31)
    return model, 1999 * p + 3 * q + r


def test_a_version_that_is_wrong_is_not_believed(monkeypatch):
    monkeypatch.setattr(trust, "TESTED", {("highs", trust.version_of("highs")): ("equality-with-large-bounds",)})
    model, cost = large_bounds()
    found = highs.minimise(formulation(model, Term(1, cost)), "o", "min", Limits(), None)
    assert (found.status, found.bound, found.stopped_by) == ("feasible", None, "backend")
    assert "is wrong about equality-with-large-bounds" in found.doubt
    assert "a model with integer and wide like this one" in found.doubt
    with pytest.raises(BackendError, match="its proof is not believed"):
        enumerate_front(model, [model.v[0], model.v[1]], ["min", "min"])


def test_other_models_are_believed(monkeypatch):
    monkeypatch.setattr(trust, "TESTED", {("highs", trust.version_of("highs")): ("equality-with-large-bounds",)})
    instance = api.generate("preemption", "small", seed=0)
    found = api.solve(instance, "highs")
    assert (found.status, found.doubt, found.evidence) == ("optimal", None, "unconfirmed")


def test_a_doubt_reaches_the_result_and_confirms_nobody(monkeypatch):
    wrong = {
        ("highs", trust.version_of("highs")): ("dense-0-1",),
        ("cp-sat", trust.version_of("cp-sat")): ("dense-0-1",),
    }
    monkeypatch.setattr(trust, "TESTED", wrong)
    instance = api.generate("preemption", "small", seed=0)
    found = api.solve(instance, "highs")
    assert (found.status, found.evidence) == ("feasible", None)
    assert found.doubt.startswith("highs ")
    assert found.to_json()["doubt"] == found.doubt
    assert api.solve(instance, "brute-force", confirm=True).confirmed_by == "highs:engine=scip"
    assert "cp-sat" in api.solve(instance, "cp-sat").doubt


def test_an_unknown_version_is_asked_once(monkeypatch):
    asked = []

    def judge(known_bug, engine):
        asked.append(known_bug.name)
        return ("wrong" if known_bug.name == "dense-0-1" else "right"), ""

    monkeypatch.setattr(trust, "TESTED", {})
    monkeypatch.setattr(trust, "judged", judge)
    trust._asked.cache_clear()
    try:
        for _ in range(2):
            assert "dense-0-1" in trust.doubt("highs", lambda: frozenset({"binary"}))
            assert trust.doubt("highs", lambda: frozenset({"continuous"})) is None
    finally:
        trust._asked.cache_clear()
    assert len(asked) == len(KNOWN_BUGS)
    assert trust.doubt("gurobi", lambda: frozenset({"binary"})) is None


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (ask.Said("optimal", 9.0, (4.5, 0.0)), "right"),
        (ask.Said("optimal", 15.0, (0.0, 5.0)), "wrong"),
        (ask.Said("optimal", 9.0, (4.5, 0.5)), "wrong"),
        (ask.Said("optimal", 9.0, (4.0, 0.0)), "wrong"),
        (ask.Said("optimal", 9.0, (-4.5, 9.0)), "wrong"),
        (ask.Said("infeasible"), "wrong"),
        (ask.Said("kTimeLimit"), "silent"),
    ],
)
def test_verdicts(monkeypatch, said, verdict):
    monkeypatch.setitem(ask._ASK, "highs", lambda known_bug, engine: said)
    assert ask.judged(by_name("highs-3043"), "highs")[0] == verdict


def test_an_error_is_no_claim(monkeypatch):
    def fails(known_bug, engine):
        raise BackendError("it broke down")

    monkeypatch.setitem(ask._ASK, "highs", fails)
    assert ask.judged(by_name("highs-3043"), "highs") == ("silent", "it broke down")


def test_reading():
    read = models._row("3 x - 0.5 y >= -2")
    assert read == models.Row({"x": Fraction(3), "y": Fraction(-1, 2)}, Fraction(-2), None)
    assert models._row("1 <= x <= 2") == models.Row({"x": Fraction(1)}, Fraction(1), Fraction(2))
    assert models._terms("0") == {}
    with pytest.raises(ValueError, match="is not a sum of terms"):
        models._terms("3 x * y")


def test_exact_arithmetic_on_textbook_cases():
    cases = {
        ("max 5 a + 4 b + 3 c", ("2 a + 3 b + c <= 5", "4 a + b + 2 c <= 11", "3 a + 4 b + 2 c <= 8")): Fraction(13),
        ("min x", ("x >= 3", "x <= 2")): "infeasible",
        ("min x", ("x <= 2",)): "unbounded",
        ("min x + y", ("3 x + 2 y >= 7", "x + 4 y >= 9")): Fraction(3),
    }
    for (goal, rows), expected in cases.items():
        names = "a b c" if "a" in goal.partition(" ")[2] else ""
        table = {
            "name": "t",
            "of": "class",
            "source": "",
            "reason": "",
            "goal": goal,
            "rows": list(rows),
            "answer": "0",
        }
        table["bounds"] = [f"{n} >= 0" for n in names.split()]
        known_bug = models._known_bug(table)
        assert optimum(known_bug) == expected
