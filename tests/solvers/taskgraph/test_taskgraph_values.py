"""Searches by cutting planes: steps from value to value, aborts, and time that is shared."""

from __future__ import annotations

import pytest
from contended_examples import contended

from mlsched.core import deadline
from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph.fronts.boxed import Boxed
from mlsched.solvers.taskgraph.proofs import cutting_planes
from mlsched.solvers.taskgraph.proofs.cutting_planes import ATTEMPTS, Cut
from mlsched.solvers.taskgraph.proofs.values import Steps


def test_steps_double_while_values_are_quickly_refuted():
    steps, value = Steps(), 10
    for size in (2, 4, 8, 16):
        steps.refuted(value, 0.1)
        assert steps.size == size
        value += size


@pytest.mark.parametrize(
    ("works", "size"),
    [
        ((3.0,), 1),  # the first one took long already
        ((0.1, 0.1, 4.0), 1),  # 4 values, 7.5 times the cost: twice as much in one value
        ((0.1, 0.1, 0.4, 0.5), 12),  # quick ones: 6 values, 1.1 times the cost: twice as many again
        ((1.5, 1.5, 1.6, 2.0), 2),  # the same cost, but not quick: no more than two
    ],
    ids=["hard at once", "growing", "quick", "level"],
)
def test_steps_are_what_takes_twice_as_long(works, size):
    steps, value = Steps(), 10
    for work in works:
        steps.refuted(value, work)
        value += steps.size
    assert steps.size == size


def test_a_search_that_cp_sat_aborts_begins_anew_with_another_seed(monkeypatch):
    number = 1
    layout = Layout.of(contended(number))
    boxed = Boxed(layout, ("total_jct", "traffic"), (10**4, 10**4), 0)
    made = boxed.by_time((1, 0), [(None, None)], boxed.lower_bound)
    assert made.reason is None
    run, texts = Apart.run, []

    def aborts(times):
        def wrapped(self):
            texts.append(self._task)
            return Ended("ABORTED") if len(texts) <= times else run(self)

        return wrapped

    expected = Cut(made, Limits()).run()
    assert expected is not None
    for times in (1, ATTEMPTS - 1, ATTEMPTS):
        texts.clear()
        monkeypatch.setattr(Apart, "run", aborts(times))
        found = Cut(made, Limits()).run()
        assert len(set(texts)) == len(texts), "another seed each time"
        if times == ATTEMPTS:
            assert found is None
            assert len(texts) == ATTEMPTS
        else:
            assert (found is False) == (expected is False)


def test_a_search_that_begins_anew_has_the_time_that_is_left(monkeypatch, ticking):
    boxed = Boxed(Layout.of(contended(1)), ("total_jct", "traffic"), (10**4, 10**4), 0)
    made = boxed.by_time((1, 0), [(None, None)], boxed.lower_bound)
    seconds, set_up = [], cutting_planes.parameters
    ticking(deadline, seconds=1.0)
    monkeypatch.setattr(
        cutting_planes, "parameters", lambda limits: (seconds.append(limits.seconds), set_up(limits))[1]
    )
    monkeypatch.setattr(Apart, "run", lambda self: Ended("ABORTED"))
    assert Cut(made, Limits(seconds=60)).run() is None
    assert seconds == [59, 58, 57]
    assert len(seconds) == ATTEMPTS
