"""A sub-problem that fails, lies or runs out of time is reported, never taken for a proof."""

from __future__ import annotations

import dataclasses
import threading
import types

import front_data
import numpy as np
import pytest
from draws import THOROUGH, draws

from mlsched.core import deadline
from mlsched.core.errors import InvalidInput
from mlsched.core.scalar import Answer
from mlsched.solvers.front.enumerate import run, scalar_of

METHODS = ["epsilon-constraint", "laumanns", "tamby-vanderpooten"]
QUESTIONS = {p: front_data.knapsack(draws(6, 8), p, seed=3) for p in (2, 3)}
TRUTH = {p: q.brute_force() for p, q in QUESTIONS.items()}
#: Their models, which every search copies.
MODELS = {p: q.cp_sat() for p, q in QUESTIONS.items()}


class Faulty:
    """A backend whose k-th answer is spoilt."""

    def __init__(self, model, spoil, at: int) -> None:
        self.inner = scalar_of(*model)
        self.spoil, self.at, self.calls = spoil, at, 0
        self.lock = threading.Lock()
        self.asked: list[tuple] = []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def minimise(self, weights, boxes, hint, limit):
        self.asked.append(boxes)
        mine = self.count()
        answer = self.inner.minimise(weights, boxes, hint, limit)
        return self.spoil(answer) if mine else answer

    def count(self) -> bool:
        """Whether this call is the one that is spoilt."""
        with self.lock:
            self.calls += 1
            return self.calls == self.at

    def another(self):
        return Also(self)


class Also:
    """One more `Faulty`, which counts with the first."""

    def __init__(self, first: Faulty) -> None:
        self.first, self.inner = first, first.inner.another()

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def minimise(self, weights, boxes, hint, limit):
        mine = self.first.count()
        answer = self.inner.minimise(weights, boxes, hint, limit)
        return self.first.spoil(answer) if mine else answer


def raises(answer: Answer) -> Answer:
    raise RuntimeError("the licence server\nis gone")


HONEST = {
    "raises": raises,
    "failed": lambda answer: Answer("failed", note="numerical trouble"),
    "gives up": lambda answer: Answer("unknown"),
    "gives up with a bound": lambda answer: Answer("unknown", bound=None if answer.bound is None else answer.bound - 1),
    "stops at an incumbent": lambda answer: dataclasses.replace(
        answer, status="feasible" if answer.values else "unknown", bound=None
    ),
    "no solution": lambda answer: dataclasses.replace(answer, status="optimal", values=None, solution=None),
}
LIES = {
    "infeasible": lambda answer: Answer("infeasible"),
    "bound too high": lambda answer: dataclasses.replace(answer, bound=(answer.bound or 0) + 1),
    "wrong values": lambda answer: dataclasses.replace(
        answer, values=None if answer.values is None else tuple(v + 1 for v in answer.values)
    ),
}


def solve(p: int, method: str, spoil=lambda a: a, at: int = 0, **settings):
    faulty = Faulty(MODELS[p], spoil, at)
    front = run(faulty, QUESTIONS[p].senses, lambda name: scalar_of(*MODELS[p]), method=method, **settings)
    return front, faulty.calls


def check(front, p: int) -> None:
    """What is there is right, and what is not there may be in an open box."""
    found = front.sort_keys.tolist()
    missing = [row for row in TRUTH[p] if row not in found]
    assert all(row in TRUTH[p] for row in found)
    for row in missing:
        assert any(
            all(low is None or low <= v for low, v in zip(box.lower, row, strict=True))
            and all(high is None or v <= high for high, v in zip(box.upper, row, strict=True))
            for box in front.open
        ), f"{row} is missing and no open box holds it"
    assert front.complete == (front.status == "complete")
    assert not (front.complete and missing)
    ref = (QUESTIONS[p].objectives.min(axis=1) - 1).tolist()
    least, most = front.hypervolume_bounds(ref)
    assert least <= volume(TRUTH[p], ref) * (1 + 1e-12)
    assert most >= volume(TRUTH[p], ref) * (1 - 1e-12)


def volume(points, ref) -> float:
    import moocore

    return float(moocore.hypervolume(-np.array(points, dtype=float), ref=-np.array(ref, dtype=float)))


@pytest.mark.parametrize(("fault", "stages"), [*((f, "one") for f in HONEST), ("raises", "two"), ("gives up", "two")])
@pytest.mark.parametrize(("method", "p"), [(METHODS[0], 2), (METHODS[1], 3), (METHODS[2], 3), (METHODS[2], 2)])
def test_a_failure_at_every_sub_problem(method, p, fault, stages):
    whole, calls = solve(p, method, stages=stages)
    assert whole.sort_keys.tolist() == TRUTH[p]
    # By default one fault at every odd one, the next at every even one, and all of them half-way.
    step = draws(2, 1)
    first = 1 + list(HONEST).index(fault) % step
    for at in sorted({*range(first, calls + 1, step), calls // 2}):
        front, _ = solve(p, method, HONEST[fault], at, stages=stages)
        check(front, p)
        assert len(front.failures) == 1
        assert "\n" not in front.failures[0]
        assert front.status in ("complete", "failed")
        if at == calls // 2:
            assert front.verify("cp-sat") == []


@pytest.mark.parametrize("stages", ["one", "two"])
@pytest.mark.parametrize("fault", HONEST)
@pytest.mark.parametrize(("method", "p"), [(METHODS[0], 2), (METHODS[2], 3)])
def test_a_failure_with_several_sub_problems_under_way(method, p, fault, stages):
    for at in range(1, 12, draws(4, 1)):
        front, _ = solve(p, method, HONEST[fault], at, stages=stages, workers=3)
        check(front, p)
        assert len(front.failures) <= 1
        assert front.status in ("complete", "failed")


@pytest.mark.parametrize("fault", HONEST)
def test_the_zones_of_a_failed_union_are_asked_one_by_one(fault):
    whole = Faulty(MODELS[3], None, 0)
    run(whole, QUESTIONS[3].senses, lambda name: whole.inner)
    unions = [number for number, boxes in enumerate(whole.asked, 1) if len(boxes) > 1]
    assert unions
    for at in unions:
        faulty = Faulty(MODELS[3], HONEST[fault], at)
        front = run(faulty, QUESTIONS[3].senses, lambda name: whole.inner)
        assert front.complete
        assert front.sort_keys.tolist() == TRUTH[3]
        assert len(front.failures) == 1
        assert f"and {len(faulty.asked[at - 1]) - 1} boxes more" in front.failures[0]
        again = [boxes for boxes in faulty.asked[at:] if set(boxes) & set(faulty.asked[at - 1])]
        assert all(len(boxes) == 1 for boxes in again)


class Forgetful(Faulty):
    """A backend that looks at one box of its n-th union only."""

    def __init__(self, model, at: int) -> None:
        super().__init__(model, lambda answer: answer, 0)
        self.at, self.unions, self.lied = at, 0, False
        self.most_boxes = 8

    def minimise(self, weights, boxes, hint, limit):
        answer = self.inner.minimise(weights, boxes, hint, limit)
        self.unions += len(boxes) > 1
        if len(boxes) == 1 or self.unions != self.at:
            return answer
        one = self.inner.minimise(weights, boxes[:1], None, limit)
        self.lied = (one.status, one.bound) != (answer.status, answer.bound)
        return one


@pytest.mark.parametrize("build", ["cp_sat", "highs"])
def test_a_backend_that_forgets_a_box_is_caught(build):
    lies = 0
    for items, seed in [(9, 1), (9, 2)] if THOROUGH else [(6, 3)]:
        question = front_data.knapsack(items, 4, seed=seed)
        model = getattr(question, build)()
        honest = Forgetful(model, 0)
        run(honest, question.senses, lambda name: None)
        for at in range(1, honest.unions + 1):
            forgetful = Forgetful(model, at)
            front = run(forgetful, question.senses, lambda name: None)
            assert front.failures or not forgetful.lied or front.verify(honest.inner) != []
            lies += forgetful.lied
    assert lies >= 2


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("method", METHODS[1:])
def test_a_lie_is_caught_at_once_or_by_the_replay(method, lie):
    _, calls = solve(3, method)
    caught = 0
    for at in range(1, calls + 1):
        front, _ = solve(3, method, LIES[lie], at)
        if front.sort_keys.tolist() == TRUTH[3] and front.complete and not front.failures:
            continue  # the lie was the truth
        assert front.failures or front.verify("cp-sat") != []
        caught += 1
    assert caught


@pytest.mark.parametrize(("method", "p"), [(METHODS[0], 2), (METHODS[1], 3), (METHODS[2], 3)])
@pytest.mark.parametrize("stages", ["one", "two"])
def test_a_front_cut_after_any_number_of_solves(method, p, stages):
    _, calls = solve(p, method, stages=stages)
    sizes, gaps = [], []
    for limit in range(1, calls + 1):
        front, _ = solve(p, method, stages=stages, solve_limit=limit)
        check(front, p)
        assert front.status == ("complete" if limit == calls or front.complete else "solve limit")
        assert front.solves <= limit
        ref = (QUESTIONS[p].objectives.min(axis=1) - 1).tolist()
        least, most = front.hypervolume_bounds(ref)
        sizes.append(len(front))
        gaps.append(most - least)
    assert sizes == sorted(sizes)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == 0


def test_a_search_that_never_began_has_proved_nothing(monkeypatch):
    """CP-SAT's response then has a bound of 0, which is above every value of a question that maximises."""
    question = QUESTIONS[3]
    scalar = scalar_of(*question.cp_sat())
    silent = types.SimpleNamespace(response_proto=types.SimpleNamespace(inner_objective_lower_bound=0))
    monkeypatch.setattr(scalar, "_solver", silent)
    weights = [1] * 3
    answer = scalar._read("UNKNOWN", weights, 0)
    assert answer.status == "unknown"
    least = min(sum(w * s * v for w, s, v in zip(weights, question.signs, row, strict=True)) for row in TRUTH[3])
    assert answer.bound <= least < 0


@pytest.mark.parametrize("seconds", [1e-6, 0.05])
def test_a_time_limit_leaves_right_points_and_open_boxes(solver, seconds):
    from mlsched.solvers import enumerate_front

    question = QUESTIONS[3]
    built = question.cp_sat() if solver == "cp-sat" else question.highs()
    front = enumerate_front(*built, time_limit=seconds)
    check(front, 3)
    assert front.status in ("complete", "time limit")
    assert front.failures == ()


@pytest.mark.parametrize(("method", "p"), [(METHODS[0], 2), (METHODS[1], 3), (METHODS[2], 3)])
def test_a_time_limit_may_strike_before_any_solve(ticking, method, p):
    fronts = []
    while not fronts or not fronts[-1].complete:
        ticking(deadline)
        fronts.append(solve(p, method, time_limit=1000 * len(fronts) + 500)[0])
        check(fronts[-1], p)
        assert fronts[-1].failures == ()
        assert fronts[-1].complete or fronts[-1].status == "time limit"
    assert (len(fronts[0]), fronts[0].solves) == (0, 0)
    assert [len(front) for front in fronts] == sorted(len(front) for front in fronts)
    assert [front.solves for front in fronts] == list(range(len(fronts)))


@pytest.mark.parametrize(("method", "p"), [(METHODS[0], 2), (METHODS[2], 3)])
def test_limits_with_several_sub_problems_under_way(ticking, method, p):
    for limit in range(1, 12):
        front, calls = solve(p, method, solve_limit=limit, workers=3)
        check(front, p)
        assert front.solves == calls <= limit
    ticking(deadline)
    front, _ = solve(p, method, time_limit=500, workers=3)
    check(front, p)
    assert (len(front), front.status) == (0, "time limit")


@pytest.mark.parametrize(("method", "p"), [(METHODS[0], 2), (METHODS[2], 3)])
def test_an_interrupt_ends_what_is_under_way(method, p):
    """Control-C while the front is told of a solve: no thread goes on."""
    before = set(threading.enumerate())

    def interrupt(points: int, asked: int) -> None:
        if asked >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(p, method, progress=interrupt, workers=3)
    assert set(threading.enumerate()) <= before


class Slow(Faulty):
    """A backend of which all but the first solve go on until they are ended (or for an hour, lest a failure hang)."""

    def __init__(self, model) -> None:
        super().__init__(model, lambda answer: answer, 0)
        self.ended = threading.Event()

    def another(self):
        return self

    def stop(self):
        self.ended.set()

    def minimise(self, weights, boxes, hint, limit):
        self.count()
        if self.calls > 1 and not self.ended.wait(3600):
            return Answer("failed", note="it was not ended")
        return self.inner.minimise(weights, boxes, hint, limit)


def test_an_interrupt_ends_solves():
    slow = Slow(MODELS[3])

    def interrupt(points: int, asked: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(slow, QUESTIONS[3].senses, lambda name: slow.inner, progress=interrupt, workers=3)
    assert slow.ended.is_set()


def test_a_sub_problem_cut_in_the_middle_leaves_its_bound_in_the_open_box():
    def cut(answer: Answer) -> Answer:
        return Answer("unknown", bound=answer.bound)

    faulty = Faulty(MODELS[2], cut, 2)
    front = run(faulty, QUESTIONS[2].senses, lambda name: faulty.inner, time_limit=1000, method="laumanns")
    assert front.status == "time limit"
    assert len(front) == 1
    assert front.solves == 2
    check(front, 2)
    (box,) = front.open
    second = TRUTH[2][1]
    assert box.upper[0] == second[0]


def test_an_unbounded_objective_is_refused():
    import pyomo.environ as pyo

    from mlsched.solvers import enumerate_front

    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.y = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 3))
    with pytest.raises(InvalidInput, match="objective 1 is unbounded; bound the variables in it"):
        enumerate_front(model, [model.y, model.x], ["min", "max"])
