"""Fronts within a time limit: extreme points first, hard regions again, and plans without a proof are shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import front_data
import pytest
import rich
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched.core.scalar import Answer
from mlsched.solvers.front import search
from mlsched.solvers.front.enumerate import run, scalar_of

QUESTION = front_data.knapsack(8, 2, seed=3)
#: As good as no limit: these tests count calls, and no call comes near it.
SECONDS = 10_000.0


class Hard:
    """A backend that proves a sub-problem only if it may take so many seconds as `needs` says of its number."""

    def __init__(self, question: Any, needs: Callable[[int], float]) -> None:
        self.inner, self.needs = scalar_of(*question.cp_sat()), needs
        self.asked: list[tuple[Any, ...]] = []
        self.numbers: dict[tuple[Any, ...], int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def minimise(self, weights, boxes, hint, limit) -> Answer:
        key = tuple(weights), tuple(boxes)
        self.asked.append(key)
        number = self.numbers.setdefault(key, len(self.numbers))
        answer = self.inner.minimise(weights, boxes, hint, None)
        if answer.status == "optimal" and (limit is None or self.needs(number) > limit):
            return dataclasses.replace(answer, status="feasible", bound=answer.bound - 1)
        return answer


def front_of(hard: Hard, question: Any = QUESTION, **settings: Any) -> Any:
    return run(hard, question.senses, lambda name: hard.inner, time_limit=SECONDS, **settings)


def points(front: Any) -> list[tuple[int, ...]]:
    return sorted(map(tuple, front.sort_keys.tolist()))


def truth_of(question: Any) -> list[tuple[int, ...]]:
    return sorted(map(tuple, question.brute_force()))


TRUTH = truth_of(QUESTION)


def test_the_extreme_points_come_first():
    hard = Hard(QUESTION, lambda number: 0)
    front = front_of(hard)
    assert front.complete
    assert points(front) == TRUTH
    first, second = (boxes for _, boxes in hard.asked[:2])
    assert first == second == ((None, None),)
    assert hard.asked[0][0].index(max(hard.asked[0][0])) != hard.asked[1][0].index(max(hard.asked[1][0]))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_a_hard_sub_problem_holds_up_no_other(share):
    """The first one needs a share of the time: other sub-problems prove what it would have."""
    hard = Hard(QUESTION, lambda number: share * SECONDS if number == 0 else 0)
    front = front_of(hard)
    assert (points(front), front.complete) == (TRUTH, True)
    assert (front.failures, len(front.unproven)) == ((), 0)


@pytest.mark.parametrize(("share", "turns"), [(0.01, 1), (0.2, 2), (0.9, 3)])
def test_hard_sub_problems_are_asked_again(share, turns):
    """All of them need a share of the time, and get it in the turn that has it."""
    hard = Hard(QUESTION, lambda number: share * SECONDS)
    front = front_of(hard)
    assert (points(front), front.complete) == (TRUTH, True)
    assert hard.asked.count(hard.asked[0]) == turns
    assert hard.asked[1] != hard.asked[0]  # a turn goes on with others


@pytest.mark.parametrize("method", ["epsilon-constraint", "tamby-vanderpooten"])
def test_what_is_never_proved_leaves_a_plan_and_a_bound(method):
    hard = Hard(QUESTION, lambda number: 2 * SECONDS if number == 0 else 0)
    front = front_of(hard, method=method)
    assert front.status in ("time limit", "complete")
    assert set(points(front)) <= set(TRUTH)
    missing = [p for p in TRUTH if p not in points(front)]
    for point in missing:
        inside = [
            all(
                (low is None or low <= v) and (high is None or v <= high)
                for low, high, v in zip(box.lower, box.upper, point, strict=True)
            )
            for box in front.open
        ]
        assert any(inside), point


@given(data=st.data())
def test_whatever_is_hard_the_certificate_holds(data):
    """Sub-problems need random shares of the time, some more than all of it."""
    question = front_data.knapsack(6, data.draw(st.sampled_from([2, 3])), seed=data.draw(st.integers(0, 20)))
    shares = data.draw(st.lists(st.sampled_from([0.0, 0.05, 0.3, 0.8, 2.0]), min_size=1, max_size=12))
    hard = Hard(question, lambda number: SECONDS * shares[number % len(shares)])
    front, truth = front_of(hard, question), truth_of(question)
    found = points(front)
    assert set(found) <= set(truth)
    assert front.complete == (found == truth) or front.open
    if front.complete:
        assert found == truth
    for values in front.unproven.tolist():
        assert tuple(values) not in map(tuple, front.sort_keys.tolist())
    assert len(hard.asked) <= len(search.TURNS) * (4 * len(truth) + 20)


def test_a_front_with_plans_without_proof_is_saved_and_shown(tmp_path, monkeypatch, capsys):
    from mlsched.cli import pareto as command
    from mlsched.solvers.front.cp_sat import CpSatScalar

    minimise = CpSatScalar.minimise

    def unproven(self, weights, boxes, hint, limit):
        answer = minimise(self, weights, boxes, hint, limit)
        return dataclasses.replace(answer, status="feasible", bound=None) if answer.status == "optimal" else answer

    monkeypatch.setattr(CpSatScalar, "minimise", unproven)
    instance = mlsched.generate("preemption", "small", 1)
    front = mlsched.pareto(instance, ["total_score", "victim_count"], time_limit=SECONDS)
    assert (len(front), front.status) == (0, "time limit")
    assert len(front.unproven) == len(front.unproven_plans) > 0
    for values, plan in zip(front.unproven.tolist(), front.unproven_plans, strict=True):
        assert [instance.evaluate(plan)[name] for name in ("total_score", "victim_count")] == values
    mlsched.save(front, tmp_path / "front.json")
    assert mlsched.load(tmp_path / "front.json") == front
    lines = command._render(front)
    for line in lines:
        rich.print(line)
    assert "plans without a proof" in capsys.readouterr().out
