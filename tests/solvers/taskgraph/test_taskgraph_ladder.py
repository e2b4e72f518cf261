"""Values refuted from a bound on, two at once where a thread is idle."""

from __future__ import annotations

import itertools
import threading
import time

import pytest
from contended_examples import contended

from mlsched import api
from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits
from mlsched.core.scalar import Answer
from mlsched.formulations.taskgraph import _ladder, brute_force
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph.fronts.boxed import Boxed
from mlsched.solvers.taskgraph.fronts.front_ways import ByIntervals
from mlsched.solvers.taskgraph.fronts.ladder import ATTEMPTS, Cut, Ladder, Steps, Threads

LEAST = 7


class Fake:
    """A search for plans of at most a value, as long as it is told to go on; the least value is `LEAST`."""

    def __init__(self, value, go_on):
        self.value, self.work = value, 1.0
        self._go_on, self._stopped = go_on, threading.Event()

    def stop(self):
        self._stopped.set()

    def run(self):
        while not self._stopped.is_set():
            if self._go_on[self.value].wait(0.005):
                return f"plan of {LEAST}" if self.value >= LEAST else False
        return None


@pytest.fixture
def climb():
    """Asks of values whose searches end when they are told to."""
    return Climb()


class Climb:
    def __init__(self, total=2):
        self.threads = Threads()
        self.threads.total = total
        self.go_on = {value: threading.Event() for value in range(20)}
        self.made = []
        self.ladder = Ladder(self.threads, self._make)

    def _make(self, value):
        self.made.append(Fake(value, self.go_on))
        return self.made[-1]

    @property
    def values(self):
        return [one.value for one in self.made]

    def until(self, condition):
        end = time.perf_counter() + 30
        while not condition():
            assert time.perf_counter() < end, "it never happens"
            time.sleep(0.005)

    def later(self, *steps):
        """Steps of another thread: conditions to wait for, and values to let go on."""

        def act():
            for step in steps:
                if callable(step):
                    self.until(step)
                else:
                    self.go_on[step].set()

        thread = threading.Thread(target=act)
        thread.start()
        return thread


def test_a_value_after_the_other(climb):
    for value in range(20):
        climb.go_on[value].set()
    with climb.ladder as ladder, climb.threads:
        assert [ladder.ask(value, further=value + 1) for value in range(5, 8)] == [False, False, "plan of 7"]
    assert climb.values == [5, 6, 7]
    assert ladder.refuted == 6
    assert ladder.work == 1.0


def test_an_idle_thread_refutes_the_next_value_and_so_this_one(climb):
    with climb.ladder as ladder, climb.threads:
        climb.later(lambda: 6 in climb.values, 6)
        assert ladder.ask(5, further=6) is False
        assert ladder.refuted == 6
        climb.go_on[7].set()
        assert ladder.ask(7, further=8) == "plan of 7"
    assert climb.values == [5, 6, 7]


def test_what_was_begun_beside_goes_on_when_its_turn_comes(climb):
    with climb.ladder as ladder, climb.threads:
        climb.later(lambda: 6 in climb.values, 5)
        assert ladder.ask(5, further=6) is False
        assert ladder.refuted == 5
        climb.later(lambda: 7 in climb.values, 7, 6)
        # The plan of the next value waits until this one is refuted.
        assert ladder.ask(6, further=7) is False
        assert ladder.ask(7, further=8) == "plan of 7"
    assert climb.values == [5, 6, 7]


def test_a_thread_that_is_needed_is_given_back_and_the_value_asked_anew(climb):
    with climb.ladder as ladder, climb.threads:
        taken = threading.Event()

        def need():
            climb.until(lambda: 6 in climb.values and not climb.threads.idle)
            with climb.threads:
                climb.until(lambda: climb.made[1]._stopped.is_set())
                climb.go_on[5].set()
                taken.wait(30)

        thread = threading.Thread(target=need)
        thread.start()
        assert ladder.ask(5, further=6) is False
        climb.go_on[6].set()
        assert ladder.ask(6, further=7) is False
        taken.set()
        thread.join()
    assert climb.values == [5, 6, 6]


@pytest.mark.parametrize(("total", "further"), [(1, 6), (2, None)])
def test_nothing_beside_without_an_idle_thread_or_use(total, further):
    climb = Climb(total)
    with climb.ladder as ladder, climb.threads:
        threading.Timer(0.7, climb.go_on[5].set).start()
        assert ladder.ask(5, further) is False
    assert climb.values == [5]


def test_stopping_ends_both_searches(climb):
    with climb.ladder as ladder, climb.threads:
        stopping = threading.Thread(target=lambda: (climb.until(lambda: 6 in climb.values), ladder.stop()))
        stopping.start()
        assert ladder.ask(5, further=6) is None
        stopping.join()
    assert all(one._stopped.is_set() for one in climb.made)


def test_threads_are_counted_again_after_a_ladder(climb):
    with climb.threads:
        with climb.ladder as ladder:
            climb.later(lambda: 6 in climb.values and not climb.threads.idle, 5)
            assert ladder.ask(5, further=6) is False
            assert not climb.threads.idle
        assert climb.threads.idle


def test_a_failure_beside_is_raised(climb):
    def fails():
        raise SolverError("broken")

    def make(value):
        one = Fake(value, climb.go_on)
        if value == 6:
            one.run = fails
        return one

    with Ladder(climb.threads, make) as ladder, climb.threads, pytest.raises(SolverError, match="broken"):
        ladder.ask(5, further=6)


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
        ((1.5, 1.5, 1.6, 2.0), 8),  # 4 values, 1.2 times the cost: twice as many again, no more
    ],
    ids=["hard at once", "growing", "level"],
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
    made = boxed.by_time((1, 0), [(None, None)], boxed.least)
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


def test_a_search_that_begins_anew_has_the_time_that_is_left(monkeypatch):
    boxed = Boxed(Layout.of(contended(1)), ("total_jct", "traffic"), (10**4, 10**4), 0)
    made = boxed.by_time((1, 0), [(None, None)], boxed.least)
    seconds, set_up = [], _ladder.parameters
    monkeypatch.setattr(_ladder, "parameters", lambda limits: (seconds.append(limits.seconds), set_up(limits))[1])
    monkeypatch.setattr(Apart, "run", lambda self: (time.sleep(0.05), Ended("ABORTED"))[1])
    assert Cut(made, Limits(seconds=60)).run() is None
    assert len(seconds) == ATTEMPTS
    assert all(after <= before - 0.05 for before, after in itertools.pairwise(seconds))


def test_fronts_are_those_of_brute_force_with_a_search_beside(monkeypatch):
    """Every value that may have one gets one, at once."""
    begun = []
    look = Ladder._look_further

    def ahead(self, value):
        begun.append(value)
        look(self, value)

    monkeypatch.setattr(_ladder, "PAUSE", 0.0)
    monkeypatch.setattr(Threads, "idle", property(lambda self: True))
    monkeypatch.setattr(Ladder, "_look_further", ahead)
    # The task-level model knows nothing: helpers answer all.
    monkeypatch.setattr(ByIntervals, "ask", lambda *_: Answer("unknown"))
    objectives = ("total_jct", "traffic", "total_accuracy")
    for number in range(20, 26):
        instance = contended(number)
        front = api.pareto(instance, objectives, solver="cp-sat", threads=2)
        assert front.complete, front.failures
        assert [tuple(row) for row in front.values.tolist()] == brute_force.front(instance, objectives), number
    assert len(begun) >= 8
