"""Fronts with help for their sub-problems: the same as without, whoever answers."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from contended_examples import contended
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.deadline import Deadline
from mlsched.core.scalar import Answer
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.solvers.backends import process
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.front.boxes import inside
from mlsched.solvers.front.cp_sat import CpSatScalar
from mlsched.solvers.taskgraph import brute_force
from mlsched.solvers.taskgraph.fronts import boxed as boxed_models
from mlsched.solvers.taskgraph.fronts import front as front_search
from mlsched.solvers.taskgraph.fronts.by_cutting_planes import Asked, ByCuttingPlanes, total
from mlsched.solvers.taskgraph.fronts.front import Assisted
from mlsched.solvers.taskgraph.fronts.known import Known, ties

FRONTS = (
    ("total_jct", "traffic"),
    ("total_jct", "total_accuracy"),
    ("total_jct", "traffic", "total_accuracy"),
    ("traffic", "total_accuracy"),
    ("accuracy_met", "deadlines_met", "traffic"),
    ("makespan", "total_jct", "accuracy_met"),
    ("deadlines_met", "total_accuracy", "total_jct"),
)


@pytest.fixture
def helpers(monkeypatch, processes_are_kept):
    """Which helpers answered; the task-level model says nothing while there are any."""
    seen = Counter()
    ask = Assisted._by_intervals
    monkeypatch.setattr(
        Assisted,
        "_by_intervals",
        lambda self, asked, seconds, work: ask(self, asked, seconds, work) if work is None else Answer("unknown"),
    )
    for owner, name in ((ByCuttingPlanes, "ask"), (Assisted, "_unbounded")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), name, seen))
    return seen


def counted(method, name, seen):
    def wrapped(self, *question):
        answer = method(self, *question)
        seen[f"{name} {answer.status}"] += 1
        return answer

    return wrapped


def rows(front) -> list[tuple[int, ...]]:
    assert front.complete, front.failures
    return [tuple(row) for row in front.sort_keys.tolist()]


def test_fronts_are_those_of_brute_force_when_helpers_answer(helpers, report):
    count = draws(14, 200)
    for number in range(count):
        instance, objectives = contended(number), FRONTS[number % len(FRONTS)]
        front = api.pareto(instance, objectives, solver="cp-sat")
        assert rows(front) == brute_force.front(instance, objectives), (number, objectives)
    report("taskgraph: who answered sub-problems of fronts", [f"{n:4}  {name}" for name, n in sorted(helpers.items())])
    assert helpers["ask optimal"] >= count
    assert helpers["ask infeasible"] >= 1
    assert not {name for name in helpers if name.endswith("unknown")}


@pytest.mark.parametrize("method", [None, "laumanns"])
@pytest.mark.parametrize("stages", ["one", "two"])
def test_fronts_in_any_stages_and_by_any_method_are_those_of_brute_force(stages, method):
    """Sub-problems in which total_jct is bounded and has no weight, or leads, or follows."""
    for number in range(40, draws(43, 52)):
        instance, objectives = contended(number), FRONTS[(2, 3, 6)[number % 3]]
        front = api.pareto(instance, objectives, solver="cp-sat", stages=stages, method=method)
        assert rows(front) == brute_force.front(instance, objectives), (number, objectives)


def test_two_threads_share_what_they_know(helpers):
    count = draws(3, 6)
    for number in [n for n in range(40) if timed(n)][:count]:
        front = api.pareto(contended(number), FRONTS[2], solver="cp-sat", threads=2)
        assert rows(front) == brute_force.front(contended(number), FRONTS[2])
    assert helpers["ask optimal"] >= count
    assert helpers["_unbounded optimal"] == count


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_sub_problem_can_be_ended(threads):
    instance = contended(next(n for n in range(40) if timed(n)))
    search = front_search.front_model(Layout.of(instance), FRONTS[2]).assisted(searcher, threads, 0)
    search.stop()
    best = api.solve(instance, "cp-sat", objective=FRONTS[2][0])
    answer = search._unbounded(Asked((1, 0, 0), [(None, None, None)]), Deadline())
    assert answer.status in ("unknown", "feasible"), "the plan that it starts from has no proof"
    assert answer.bound is None or answer.bound <= best.sort_key


def timed(number: int) -> bool:
    layout = Layout.of(contended(number))
    return boxed_models.timed(layout, FRONTS[2]) and boxed_models.due(layout, FRONTS[2])


def test_stopping_ends_the_helper(monkeypatch):
    """As at Control-C, when another thread ends what is under way."""
    begun, ended = threading.Event(), threading.Event()
    monkeypatch.setattr(Assisted, "_by_intervals", lambda *_: Answer("unknown"))

    def slow(self):
        begun.set()
        return Ended("UNKNOWN") if ended.wait() else Ended("ABORTED")

    monkeypatch.setattr(Apart, "run", slow)
    monkeypatch.setattr(Apart, "stop", lambda self: ended.set())
    instance = contended(next(n for n in range(40) if timed(n)))
    made = front_search.front_model(Layout.of(instance), FRONTS[2])
    search = made.assisted(searcher, 1, 0)
    answers, boxes = [], [(None, 10**6, None)]
    asking = threading.Thread(target=lambda: answers.append(search.minimise((1, 0, 0), boxes, None, None)))
    asking.start()
    begun.wait()
    search.another().stop()
    assert not ended.is_set(), "another one's is not ended"
    search.stop()
    asking.join()
    assert ended.is_set()
    assert [answer.status for answer in answers] == ["unknown"]


def searcher(made, threads, parameters):
    sums = [
        sum(t.weight * t.expression for t in made.objectives[name]) + made.constant.get(name, 0) for name in FRONTS[2]
    ]
    return CpSatScalar(made.model, sums, ["min", "min", "max"], threads=threads, parameters=parameters)


boxes_of = st.lists(st.tuples(*[st.none() | st.integers(0, 4)] * 2), min_size=1, max_size=3)


@given(
    points=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5),
    asked=st.lists(boxes_of, max_size=5),
    boxes=boxes_of,
)
def test_what_was_proved_in_larger_boxes_bounds_what_comes_after(points, asked, boxes):
    known = Known((0, None))
    for k, some in enumerate(asked):
        inside_ = [p for p in points if inside(p, some)]
        if inside_:
            known.prove(k % 2, some, min(p[k % 2] for p in inside_))
    low = known.within(boxes)
    for point in points:
        if inside(point, boxes):
            assert all(least is None or least <= v for least, v in zip(low, point, strict=True))


def test_bounds_come_from_single_larger_boxes():
    known = Known((0, None))
    assert known.within([(3, 1)]) == [0, None]
    known.prove(1, [(3, None), (4, None)], 2)
    assert known.within([(3, 1)]) == [5, 2], "less than 2 there is only beyond 4"
    assert known.within([(3, 1), (5, None)]) == [0, None]
    known.prove(1, [(1, 3), (2, None)], 9)
    assert known.within([(1, None)]) == [0, 2], "in the first box there may be less beyond its bound"
    known.prove(1, [(None, None)], 1)
    assert known.within([(3, 1), (5, None)]) == [0, 1]
    assert known.ideal == [0, 1]


def test_less_of_one_objective_than_there_is_takes_more_of_another():
    known = Known((0, 0, 0))
    known.prove(1, [(7, 9, None)], 4)
    assert known.within([(None, 3, None)]) == [8, 0, 0]
    assert known.within([(None, 4, None)]) == [0, 0, 0], "that much there is"
    known.prove(2, [(9, None, 6)], 5)
    assert known.within([(None, 3, 4)]) == [10, 0, 0]
    assert known.within([(None, 9, 4)]) == [10, 0, 0]
    known = Known((0, 0, 0))
    known.prove(1, [(7, None, 5)], 4)
    assert known.within([(None, 3, 6)]) == [0, 0, 0], "with more of the third there may be less"


@given(
    points=st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=6),
    asked=st.lists(st.lists(st.tuples(*[st.none() | st.integers(0, 4)] * 3), min_size=1, max_size=2), max_size=8),
    box=st.tuples(*[st.none() | st.integers(0, 4)] * 3),
)
def test_what_is_proved_of_three_objectives_holds(points, asked, box):
    known = Known((0, None, 0))
    for k, boxes in enumerate(asked):
        within = [p for p in points if inside(p, boxes)]
        if within:
            known.prove(k % 3, boxes, min(p[k % 3] for p in within))
    low = known.within([box])
    for point in points:
        if inside(point, [box]):
            assert all(least is None or least <= v for least, v in zip(low, point, strict=True))


def test_ties_are_told_by_traffic_where_it_is_bounded():
    weigh = ties(("total_jct", "traffic", "total_accuracy"), (0, 0, -90), (50, 9, 0))
    assert weigh([(8, None, None)]) == (1, 1, 1)
    assert weigh([(8, 3, None), (8, None, -5)]) == (1, 1, 1)
    weights = weigh([(8, 3, None), (8, 4, -5)])
    assert min(weights) > 0
    assert total(weights, (50, 2, 0)) < total(weights, (0, 3, -90)), "traffic outweighs them"
    assert ties(("total_jct", "traffic"), (None, 0), (None, 9))([(8, 3)]) == (1, 1)
    assert ties(("total_jct", "total_accuracy"), (0, 0), (5, 9))([(8, 3)]) == (1, 1)


def test_a_front_leaves_no_process_behind(monkeypatch):
    monkeypatch.setattr(front_search, "FIRST_TURN", 1e-9)
    started, take = [], process.Helpers.take

    def taken(self):
        started.append(take(self))
        return started[-1]

    monkeypatch.setattr(process.Helpers, "take", taken)
    for threads in (1, 2):
        assert rows(api.pareto(contended(1), FRONTS[2], solver="cp-sat", threads=threads))
    assert len(started) > len({one.pid for one in started}), "some are used again"
    assert all(one.poll() is not None for one in started)


def test_an_abort_of_cp_sat_leaves_sub_problems_to_the_task_level_model(monkeypatch):
    monkeypatch.setattr(Apart, "run", lambda self: Ended("ABORTED"))
    monkeypatch.setattr(front_search, "FIRST_TURN", 1e-9)
    for number, threads in ((1, 1), (3, 2)):
        instance = contended(number)
        front = api.pareto(instance, FRONTS[2], solver="cp-sat", threads=threads)
        assert rows(front) == brute_force.front(instance, FRONTS[2])


def test_help_changes_neither_the_question_nor_what_is_kept(tmp_path, helpers):
    instance = contended(5)
    path = tmp_path / "front.jsonl"
    front = api.pareto(instance, FRONTS[2], solver="cp-sat", resume=path)
    again = api.pareto(instance, FRONTS[2], solver="cp-sat", resume=path, threads=2)
    assert rows(front) == rows(again)
    assert again.solves == 0
    assert again.recalled == front.solves
    assert front.verify("cp-sat") == []
    assert front.verify("highs") == []


def test_a_hard_front_is_complete():
    instance = api.generate("taskgraph", preset="six-replicas", seed=0)
    front = api.pareto(instance, FRONTS[2], solver="cp-sat", threads=2, time_limit=60)
    assert len(rows(front)) == 5


def test_boxes_without_a_bound_are_bounded_by_the_variables():
    """Union of boxes of which one leaves an objective free."""
    instance = contended(2)
    layout = Layout.of(instance)
    names = ("total_jct", "traffic")
    points = brute_force.front(instance, names)
    boxed = boxed_models.Boxed(layout, names, (10**4, 10**4), 0)
    assert boxed.timed
    for boxes in ([(points[0][0] - 1, None), (None, points[0][1])], [(None, None), (0, 0)]):
        made = boxed.by_time((1, 1), boxes, points[-1][0])
        asking = ByCuttingPlanes(boxed, None, lambda weights, plan: boxed.values(plan), (0, 0), points[-1][0])
        values = asking._answer(Asked((1, 1), boxes), asking._best(made, Deadline(), None))
        expected = min(
            (sum(p), p)
            for p in points
            if any(all(u is None or v <= u for v, u in zip(p, b, strict=True)) for b in boxes)
        )
        assert sum(values) == expected[0]


def test_fronts_with_makespan_alone_have_no_help():
    layout = Layout.of(contended(1))
    assert front_search.front_model(layout, ("total_jct", "traffic")).assisted is not None
    assert front_search.front_model(layout, ("makespan", "traffic")).assisted is None
