"""Sub-problems over unions of boxes: answers, what follows from them, and fronts made of them, against enumeration."""

from __future__ import annotations

import dataclasses
import itertools

import front_data
import numpy as np
import pytest
from draws import draws
from front_data import Question
from front_examples import questions
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

import mlsched
from mlsched.core.errors import BackendError
from mlsched.solvers.front.boxes import inside, loosest
from mlsched.solvers.front.certificate import Subproblem
from mlsched.solvers.front.enumerate import run, scalar_of
from mlsched.solvers.front.highs import HighsScalar
from mlsched.solvers.front.zones import BIG

BUILDS = ["cp_sat", "highs"]


@st.composite
def unions(draw):
    """A question, some boxes around its values, weights that put one objective first or none, and a hint's rank."""
    question = draw(questions(4))
    p = len(question.senses)
    values = question.feasible_values()
    ends = st.none() | (st.sampled_from(np.unique(values).tolist()) if len(values) else st.integers(-5, 5))
    boxes = draw(st.lists(st.tuples(*[ends] * p), min_size=1, max_size=6, unique=True))
    first = draw(st.integers(0, p))
    weights = tuple(97 if j == first else 1 for j in range(p))
    return question, tuple(boxes), weights, draw(st.integers(0, 3))


@pytest.mark.parametrize("build", BUILDS)
@given(drawn=unions())
def test_answers_and_what_they_imply_equal_enumeration(build, drawn):
    question, boxes, weights, rank = drawn
    scalar = scalar_of(*getattr(question, build)())
    values = [v for v in question.feasible_values().tolist() if inside(v, boxes)]
    totals = sorted(sum(w * x for w, x in zip(weights, v, strict=True)) for v in values)
    free = scalar.minimise(weights, boxes, None, None)
    assert free.status == ("optimal" if values else "infeasible")
    answers = [free]
    if values:
        # Any solution inside may be a hint, the best one and poorer ones.
        chosen = sorted(values)[min(rank, len(values) - 1)]
        start = scalar.minimise((1,) * len(weights), (tuple(chosen),), None, None)
        answers.append(scalar.minimise(weights, boxes, start.solution, None))
        # A hint outside, and a solve after that, are no worse.
        answers.append(scalar.minimise(weights, boxes[:1], start.solution, None))
        answers.append(scalar.minimise(weights, boxes, None, None))
    for number, answer in enumerate(answers):
        asked = boxes[:1] if number == 2 else boxes
        best = [t for v in values if inside(v, asked) for t in [sum(map(int.__mul__, weights, v))]]
        assert answer.status == ("optimal" if best else "infeasible")
        if best:
            assert answer.bound == min(best)
            assert inside(answer.values, asked)
            assert sum(map(int.__mul__, weights, answer.values)) == min(best)
            assert (question.objectives @ np.array(answer.solution) * question.signs).tolist() == list(answer.values)
    assert not totals or free.bound == totals[0]
    one = Subproblem(weights, boxes, free.status, free.values, free.bound)
    facts = one.implies(scalar.high)
    assert {k for k, _, _ in facts} == {k for k, w in enumerate(weights) if w == max(weights)}
    for k, bounds, least in facts:
        assert len(bounds) == len(least) == len(boxes)
        for row, v in itertools.product(range(len(bounds)), question.feasible_values().tolist()):
            if all(x < b for j, (x, b) in enumerate(zip(v, bounds[row].tolist(), strict=True)) if j != k):
                assert v[k] >= least[row]


def test_what_a_union_implies_box_by_box():
    """By hand: 5 f_0 + f_1 >= 12 where f_1 <= 3, or f_1 <= 1: f_0 >= 9/5, or 11/5."""
    one = Subproblem((5, 1), ((None, 3), (None, 1)), "optimal", (2, 2), 12)
    ((k, bounds, least),) = one.implies((9, 9))
    assert (k, bounds.tolist(), least.tolist()) == (0, [[BIG, 4], [BIG, 2]], [2, 3])
    nothing = Subproblem((5, 1), ((4, 3), (2, 1)), "infeasible", None, None)
    ((k, bounds, least),) = nothing.implies((None, None))
    assert (k, bounds.tolist(), least.tolist()) == (0, [[5, 4], [3, 2]], [5, 3])
    assert Subproblem((5, 1), ((None, None),), "unknown", None, None).implies((9, None)) == []


def test_boxes():
    assert inside((1, 5), [(0, None), (1, 5)])
    assert not inside((1, 5), [(0, None), (2, 4)])
    assert loosest([(0, None, 3), (1, 5, 2)]) == (1, None, 3)


def front_by(question: Question, build: str, most: int, **settings_):
    scalar = scalar_of(*getattr(question, build)())
    scalar.most_boxes = most
    again = {"cp-sat": "cp_sat", "highs": "highs"}
    return run(scalar, question.senses, lambda name: scalar_of(*getattr(question, again[name])()), **settings_)


@pytest.mark.parametrize("stages", ["one", "two"])
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("most", [2, 100])
@settings(max_examples=draws(4, 250))
@given(question=questions(4, least=3))
def test_fronts_by_unions_equal_brute_force(build, most, stages, question):
    front = front_by(question, build, most, stages=stages)
    assert front.sort_keys.tolist() == question.brute_force()
    assert front.complete
    assert front.failures == ()
    assert front.verify() == []


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("p", [3, 4])
def test_unions_save_solves(build, p, report):
    question = front_data.knapsack(draws(8, 9), p, seed=1)
    solves = {}
    for most in (1, 2, 8, 100):
        front = front_by(question, build, most)
        assert front.sort_keys.tolist() == question.brute_force()
        assert all(len(s.boxes) <= most for s in front.certificate.subproblems)
        solves[most] = front.solves
    assert solves[100] <= solves[8] <= solves[2] <= solves[1]
    # Each solve beyond the first p gives a point or settles a value of one objective.
    last = front.sort_keys
    assert solves[100] <= p + len(last) + sum(len(np.unique(column)) for column in last.T)
    assert solves[100] < solves[1]
    report(f"solves by boxes at most, {build}, p = {p}", [f"{len(last)} points: {solves}"])


@pytest.mark.parametrize("build", BUILDS)
def test_a_front_by_unions_resumes(tmp_path, build):
    question, file = front_data.knapsack(9, 4, seed=1), tmp_path / "front.jsonl"
    total, fronts = 0, []
    while not fronts or not fronts[-1].complete:
        fronts.append(enumerate_again(question, build, file, 5))
        assert fronts[-1].recalled == total
        total += fronts[-1].solves
    assert len(fronts) > 2
    assert fronts[-1].sort_keys.tolist() == question.brute_force()
    assert any(len(s.boxes) > 1 for s in fronts[-1].certificate.subproblems)
    last = enumerate_again(question, build, file, None)
    assert (last.solves, last.recalled) == (0, total)
    assert last.to_json()["sort_keys"] == fronts[-1].to_json()["sort_keys"]


def enumerate_again(question: Question, build: str, file, limit: int | None):
    return front_by(question, build, 8, resume=file, solve_limit=limit)


@pytest.mark.parametrize("build", BUILDS)
def test_a_box_without_an_end_does_not_take_those_of_the_others(build):
    question = Question(
        objectives=np.array([[1], [1]]),
        senses=("min", "min"),
        rows=np.zeros((0, 1)),
        row_sense=(),
        right=(),
        low=np.array([1]),
        high=np.array([1]),
    )
    scalar = scalar_of(*getattr(question, build)())
    assert scalar.minimise((1, 1), ((None, 0), (0, None)), None, None).status == "infeasible"


def scaled(scale: int):
    """A model of four objectives that are so large, and a few units beside."""
    model = cp_model.CpModel()
    x = [model.new_int_var(0, draws(1, 2), f"x{j}") for j in range(3)]
    rows = ([3, -2, 1], [-2, 4, -1], [1, 1, -4], [-3, 0, 2])
    return model, [sum(a * scale * one for a, one in zip(row, x, strict=True)) + k for k, row in enumerate(rows)]


def test_unions_whose_weighted_sums_are_too_large_for_floats_are_verified_box_by_box():
    """HiGHS tells single objectives apart here, and no weighted sums of them."""
    model, objectives = scaled(10**6)
    front = mlsched.enumerate_front(model, objectives, ["min"] * 4)
    unions = [n for n, one in enumerate(front.certificate.subproblems) if len(one.boxes) > 1 and one.values is not None]
    assert unions
    assert max(front.certificate.subproblems[unions[0]].weights) * 10**6 > HighsScalar.largest
    assert front.verify("highs") == []
    one = front.certificate.subproblems[unions[0]]
    k = one.weights.index(max(one.weights))
    forged = list(front.certificate.subproblems)
    forged[unions[0]] = dataclasses.replace(one, bound=one.bound + 10**7 * one.weights[k])
    wrong = dataclasses.replace(front, certificate=dataclasses.replace(front.certificate, subproblems=tuple(forged)))
    assert any(f"sub-problem {unions[0]} " in sentence for sentence in wrong.verify("highs"))


class Narrow:
    """An engine that tells no weighted sums apart."""

    name, largest = "narrow", 0

    def __init__(self, scalar) -> None:
        self.minimise = scalar.minimise


def test_what_a_sum_too_large_for_floats_says_of_each_objective_is_verified():
    """The forged bound is true of the first objective, and not of the second: each follows from equal weights."""
    model = cp_model.CpModel()
    x, never = model.new_int_var(0, 3, "x"), model.new_bool_var("never")
    model.add(never == 0)
    front = mlsched.enumerate_front(model, [x, 3 - x + 5 * never], ["min", "min"])
    other = Narrow(front._other("cp-sat"))
    for bound, denied in ((3, False), (4, True)):
        said = Subproblem((1, 1), ((0, None),), "optimal", (0, 3), bound)
        certificate = dataclasses.replace(front.certificate, subproblems=(*front.certificate.subproblems, said))
        wrong = dataclasses.replace(front, certificate=certificate).verify(other)
        assert any(f"sub-problem {len(certificate.subproblems) - 1} " in sentence for sentence in wrong) == denied


def test_an_engine_that_fails_neither_confirms_nor_denies():
    model, objectives = scaled(10**12)
    front = mlsched.enumerate_front(model, objectives, ["min"] * 4)
    assert "highs failed at it: highs: the rounded solution" in front.verify()[0]
    with pytest.raises(BackendError, match="highs can neither confirm nor deny the front of cp-sat: sub-problem"):
        front.confirmed()
    assert front.verify("cp-sat") == []
