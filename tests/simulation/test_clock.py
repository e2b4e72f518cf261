"""The clock, over a toy world: cadence, requested wakes, random streams, memory, and rules that misbehave."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from preemption_examples import small

from mlsched.core.errors import InvalidInput, SolverError
from mlsched.instances.preemption import Plan
from mlsched.simulation.clock import SAMPLING, Rule, decision_rng, run
from mlsched.simulation.wake import Wake

WAIT, BAD = Plan(te_node=[-1], victims=[]), Plan(te_node=[1], victims=[])


@dataclasses.dataclass
class Toy:
    """Events at `times`, one question `called` times at each; `wants[n]` is asked for after decision n."""

    times: list[int]
    called: int = 1
    open: bool = False
    wants: dict[int, int] = dataclasses.field(default_factory=dict)
    end: int | None = None  # the time from which the world is done; default: the last event
    wakes: list[int] = dataclasses.field(default_factory=list)
    applied: list[Plan] = dataclasses.field(default_factory=list)

    def next_event(self):
        return self.times[0] if self.times else None

    def pending(self):
        return self.open

    def advance(self, time):
        self.wakes.append(time)
        self.times = [t for t in self.times if t > time]
        self.left = self.called

    def ask(self):
        self.left -= 1
        return small() if self.left >= 0 else None

    def apply(self, plan):
        self.applied.append(plan)
        return self.wants.get(len(self.applied) - 1)

    def unfinished(self):
        return len(self.times) if self.end is None else int(not self.wakes or self.wakes[-1] < self.end)


def rule(function=lambda instance, memory, rng: (WAIT, memory)) -> Rule:
    return Rule("toy", function)


def wakes(world: Toy, wake: str) -> list[int]:
    run(world, rule(), scheduling_events=Wake.parse(wake), seed=0)
    return world.wakes


# -- cadence ----------------------------------------------------------------------------------------------------------


def test_it_wakes_at_events_ticks_or_both():
    assert wakes(Toy([0, 7, 61, 300]), "events") == [0, 7, 61, 300]
    assert wakes(Toy([0, 7, 61, 300]), "interval:60") == [0, 60, 120, 300]
    assert wakes(Toy([0, 7, 300], open=True), "events+interval:100") == [0, 7, 100, 200, 300]


def test_a_world_may_count_parts_of_seconds():
    """Ticks stay seconds; event times and what errors say are the world's and seconds."""
    world = Toy([1500, 2500])
    run(
        world, Rule("waits", lambda i, m, rng: (WAIT, m)), scheduling_events=Wake.parse("interval:2"), seed=0, unit=1000
    )
    assert world.wakes == [2000, 4000]
    with pytest.raises(SolverError, match=r"decision 0 at 1\.5 s"):
        run(
            Toy([1500]),
            Rule("bad", lambda i, m, rng: (BAD, m)),
            scheduling_events=Wake.parse("events"),
            seed=0,
            unit=1000,
        )


def test_an_open_question_is_asked_at_every_tick():
    assert wakes(Toy([0, 200], open=True), "interval:60") == [0, 60, 120, 180, 240]


def test_a_requested_wake_is_kept_until_it_comes_or_another_is():
    # Asked for at 0, for 25; the event at 10 lies before it and the request survives it.
    assert wakes(Toy([0, 10, 300], wants={0: 25}), "events") == [0, 10, 25, 300]
    assert wakes(Toy([0, 300], called=2, wants={0: 25}), "events") == [0, 25, 300]
    assert wakes(Toy([0, 300], called=2, wants={0: 25, 1: 20}), "events") == [0, 20, 300], "the first of an instant"
    assert wakes(Toy([0, 10, 300], wants={0: 25, 1: 40}), "events") == [0, 10, 40, 300], "the later wish counts"
    assert wakes(Toy([0, 50], wants={0: 25}), "interval:60") == [0, 25, 60]
    assert wakes(Toy([0], wants={0: 25}, end=25), "events") == [0, 25]  # nothing else will happen


def test_a_wake_requested_for_the_past_is_none():
    assert wakes(Toy([5, 9], wants={0: 5, 1: 3}), "events") == [5, 9]


def test_progress_sees_every_wake():
    seen = []
    run(
        Toy([0, 7, 9]), rule(), scheduling_events=Wake.parse("events"), seed=0, progress=lambda *what: seen.append(what)
    )
    assert seen == [(0, 2), (7, 1), (9, 0)]


def test_the_trip_counts_decisions_and_ends():
    trip = run(Toy([0, 7, 9], called=3), rule(), scheduling_events=Wake.parse("events"), seed=0)
    assert (trip.decisions, trip.end, trip.recorded) == (9, 9, [])


# -- random streams and memory ----------------------------------------------------------------------------------------


def draws(seed: int, **arguments):
    seen = []

    def draw(instance, memory, rng):
        seen.append(rng.integers(2**62, size=3).tolist())
        return WAIT, memory

    trip = run(Toy([0, 1, 2], called=2), rule(draw), scheduling_events=Wake.parse("events"), seed=seed, **arguments)
    return seen, trip


def test_every_decision_has_the_stream_of_seed_and_number():
    seen, _ = draws(11)
    assert seen == [np.random.default_rng([11, n]).integers(2**62, size=3).tolist() for n in range(6)]
    assert decision_rng(11, 3).integers(2**62, size=3).tolist() == seen[3]
    assert draws(12)[0] != seen


def test_sampling_is_seeded_and_leaves_the_rules_stream_alone():
    plain, _ = draws(5)
    kept = {}
    for record in (0.0, 0.3, 0.5, 1.0):
        seen, trip = draws(5, record=record)
        assert seen == plain
        kept[record] = [d.number for d in trip.recorded]
        assert kept[record] == [d.number for d in draws(5, record=record)[1].recorded]
    luck = np.random.default_rng([5, SAMPLING]).random(6)
    assert kept == {r: np.flatnonzero(luck < r).tolist() for r in kept}
    assert kept[0.0] == []
    assert kept[1.0] == list(range(6))


def test_sampling_keeps_about_its_share():
    trip = run(Toy(list(range(400))), rule(), scheduling_events=Wake.parse("events"), seed=1, record=0.25)
    assert 70 <= len(trip.recorded) <= 130


@pytest.mark.parametrize("record", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_refused(record):
    with pytest.raises(InvalidInput, match=r"record: .*, expected between 0 and 1"):
        run(Toy([0]), rule(), scheduling_events=Wake.parse("events"), seed=0, record=record)


def test_memory_is_threaded_and_recorded_as_it_was_before_the_decision():
    def remember(instance, memory, rng):
        return WAIT, (memory or ()) + (len(memory or ()),)

    trip = run(Toy([0, 5], called=2), rule(remember), scheduling_events=Wake.parse("events"), seed=0, record=1.0)
    assert [d.memory for d in trip.recorded] == [None, (0,), (0, 1), (0, 1, 2)]
    assert [(d.number, d.time, d.plan) for d in trip.recorded] == [
        (0, 0, WAIT),
        (1, 0, WAIT),
        (2, 5, WAIT),
        (3, 5, WAIT),
    ]
    assert all(d.instance == small() for d in trip.recorded)


# -- rules that misbehave ---------------------------------------------------------------------------------------------


def test_a_run_that_cannot_go_on_is_named():
    with pytest.raises(SolverError, match="toy: at 7 s jobs wait, nothing runs and nothing will arrive"):
        run(Toy([0, 7], end=99), rule(), scheduling_events=Wake.parse("events"), seed=0)


def test_an_infeasible_plan_is_named_with_decision_and_time_and_is_not_applied():
    world = Toy([0, 7], called=2)
    calls = iter([WAIT, WAIT, WAIT, BAD])
    with pytest.raises(SolverError, match=r"toy: decision 3 at 7 s: infeasible plan: node 1: its TE jobs need 5 cpu"):
        run(world, rule(lambda i, m, rng: (next(calls), m)), scheduling_events=Wake.parse("events"), seed=0)
    assert world.applied == [WAIT, WAIT, WAIT]


@pytest.mark.parametrize("answer", [None, "a plan", 7])
def test_an_answer_that_is_no_plan_is_named(answer):
    with pytest.raises(SolverError, match="toy: decision 0 at 0 s: infeasible plan: the answer is a"):
        run(Toy([0]), rule(lambda i, m, rng: (answer, m)), scheduling_events=Wake.parse("events"), seed=0)


def test_what_a_rule_raises_is_named_with_decision_and_time():
    def fail(instance, memory, rng):
        raise ZeroDivisionError("no luck")

    with pytest.raises(SolverError, match="toy: decision 0 at 3 s: raised ZeroDivisionError: no luck") as caught:
        run(Toy([3]), rule(fail), scheduling_events=Wake.parse("events"), seed=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_what_mlsched_raises_and_interrupts_pass_unchanged(control_c):
    def refuse(instance, memory, rng):
        raise InvalidInput("s: -1, expected at least 0")

    def interrupt(instance, memory, rng):
        control_c()

    with pytest.raises(InvalidInput, match=r"^s: -1, expected at least 0$"):
        run(Toy([3]), rule(refuse), scheduling_events=Wake.parse("events"), seed=0)
    with pytest.raises(KeyboardInterrupt):
        run(Toy([3]), rule(interrupt), scheduling_events=Wake.parse("events"), seed=0)


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()])
def test_a_rule_cannot_end_the_program(error):
    def leave(instance, memory, rng):
        raise error

    with pytest.raises(SolverError, match=f"toy: decision 0 at 3 s: raised {type(error).__name__}"):
        run(Toy([3]), rule(leave), scheduling_events=Wake.parse("events"), seed=0)
