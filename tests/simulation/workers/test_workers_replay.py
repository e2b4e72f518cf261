"""The replay check: one injected fault per kind, and random faults in random runs."""

from __future__ import annotations

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.simulation.findings import SHOWN
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers import Options, Workload
from mlsched.simulation.workers.log import Log
from mlsched.simulation.workers.replay import _waking, violations
from mlsched.simulation.workers.strategies import options, workloads

S = 10**9
EVENTS, TICKS = Wake(True, 0), Wake(False, 10)
#: 4 slots; an iteration takes 12 s / w; job 2 finds the window of two full.
LOAD = Workload(
    resources=("slots",),
    models=("m",),
    capacity=[4],
    worker_demand=[[1]],
    ps_demand=[[0]],
    iteration=[[[12 * S], [6 * S], [4 * S], [3 * S]]],
    submit=[0, 7000, 8000],
    model=[0] * 3,
    iterations=[4, 1, 1],
)
A1, A2, A3 = (0, 0, 7000, 4, 1, 2000), (0, 7000, 13000, 2, 1, 1000), (0, 13000, 19000, 2, 1, 0)
B1, C1 = (1, 7000, 13000, 2, 1, 0), (2, 13000, 19000, 2, 1, 0)
SOUND = (A1, A2, A3, B1, C1)


def check(remove=(), add=(), wake=EVENTS, load=LOAD, **readings) -> list[str]:
    rows = [row for row in SOUND if row not in remove]
    assert len(rows) == len(SOUND) - len(remove)
    return violations(load, Options(**{"window": 2, **readings}), wake, Log(rows + list(add)))


def kinds(sentences: list[str]) -> set[str]:
    return {sentence.partition(":")[0] for sentence in sentences}


def test_a_sound_log_passes():
    assert check() == []


FAULTS = {
    "no such job": ("log", [], [(3, 0, 1, 1, 1, 0)], {}),
    "no workers": ("log", [C1], [(2, 13000, 19000, 0, 1, 0)], {}),
    "beyond the table": ("log", [C1], [(2, 13000, 19000, 5, 1, 0)], {}),
    "more PSs than the table has": ("log", [C1], [(2, 13000, 19000, 2, 2, 0)], {}),
    "no PS": ("log", [C1], [(2, 13000, 19000, 2, 0, 0)], {}),
    "less than nothing left": ("log", [C1], [(2, 13000, 19000, 2, 1, -1)], {}),
    "no time": ("log", [], [(2, 13000, 13000, 2, 1, 1000)], {}),
    "before its submission": ("arrival", [B1], [(1, 6000, 12000, 2, 1, 0)], {}),
    "twice at once": ("two places", [], [(0, 15000, 16000, 1, 1, 0)], {}),
    "after its end": ("lost job", [], [(1, 19000, 31000, 1, 1, 0)], {}),
    "never done": ("lost job", [C1], [], {}),
    "work from nothing": ("work", [A1], [(0, 0, 7000, 4, 1, 1000)], {}),
    "the started iteration kept": ("work", [A1], [(0, 0, 7000, 4, 1, 1667)], {}),
    "the started iteration lost": ("work", [], [], {"floor": "never"}),
    "held past its end": ("work", [C1], [(2, 13000, 20000, 2, 1, 0)], {}),
    "too many": ("capacity", [C1], [(2, 13000, 16000, 4, 1, 0)], {}),
    "behind the window": ("window", [], [], {"window": 1}),
    "not at an event": ("wake", [C1], [(2, 14000, 20000, 2, 1, 0)], {}),
    "ends where nobody wakes": ("wake", [A1], [(0, 0, 6500, 4, 1, 2000)], {}),
    "past an arrival that scheduling events": ("wake", [], [], {"window": 0}),
    "past a completion": ("wake", [A2, A3], [(0, 7000, 19000, 2, 1, 0)], {}),
    "not at a tick": ("wake", [], [], {"wake": TICKS}),
    "past a tick": ("wake", [], [], {"wake": Wake(True, 5)}),
}


def test_ps_hold_room_too():
    """At 7 s two jobs with two workers and a PS each."""
    assert check(load=LOAD.replace(ps_demand=[[1]], capacity=[6])) == []
    assert kinds(check(load=LOAD.replace(ps_demand=[[1]], capacity=[5]))) == {"capacity"}


def test_every_configuration_has_its_time_and_some_cannot_train():
    """With one PS an iteration takes 12 s, with two 6 s; two workers cannot train with one PS."""
    load = LOAD.replace(
        submit=[0], model=[0], iterations=[1], capacity=[9], iteration=[[[12 * S, 6 * S], [2**53, 5 * S]]]
    )

    def found(end: int, workers: int, ps: int) -> set[str]:
        return kinds(violations(load, Options(), EVENTS, Log([(0, 0, end, workers, ps, 0)])))

    assert [found(*row) for row in ((12000, 1, 1), (6000, 1, 2), (5000, 2, 2))] == [set()] * 3
    assert found(6000, 1, 1) >= {"work"}
    assert found(6000, 2, 1) == {"log", "lost job"}


def test_a_job_that_is_never_done_is_ahead_of_later_ones_for_ever():
    two = LOAD.replace(submit=[0, 8000], model=[0, 0], iterations=[4, 1])
    found = violations(two, Options(window=1), EVENTS, Log([A1, (1, 13000, 19000, 2, 1, 0)]))
    assert "window: job 1 trains at 13000 ms behind 1 others: the window is 1" in found


def test_room_is_short_once_for_every_segment_that_starts():
    found = check([C1], [(2, 13000, 16000, 4, 1, 0)])
    assert [s for s in found if s.startswith("capacity")] == ["capacity: 6 slots are held at 13000 ms: there are 4"]


def test_of_jobs_that_come_together_the_first_is_ahead():
    both = LOAD.replace(submit=[0, 0], model=[0, 0], iterations=[1, 1])
    rows = [(0, 0, 6000, 2, 1, 0), (1, 0, 6000, 2, 1, 0)]
    assert violations(both, Options(window=2), EVENTS, Log(rows)) == []
    assert kinds(violations(both, Options(window=1), EVENTS, Log(rows))) == {"window"}


def test_what_starts_and_ends_at_ticks_is_fine():
    assert check(wake=Wake(False, 1), floor="changed") == []
    # By ticks alone, an arrival between them wakes nobody.
    assert "wake: job 1 starts at 7000 ms, where nobody wakes" in check(wake=Wake(False, 5), floor="changed")


def test_by_ticks_alone_a_segment_may_pass_an_arrival():
    two = LOAD.replace(submit=[0, 2000], model=[0, 0], iterations=[4, 1])
    rows = [(0, 0, 10000, 4, 1, 1000), (0, 10000, 13000, 4, 1, 0), (1, 20000, 23000, 4, 1, 0)]
    assert violations(two, Options(window=2), TICKS, Log(rows)) == []
    assert kinds(violations(two, Options(window=2), Wake(True, 10), Log(rows))) == {"wake"}


def test_an_arrival_wakes_where_the_window_is_not_full_of_earlier_jobs():
    """Job 0 is done at 5 s, when two jobs come; these are never done."""
    four = LOAD.replace(submit=[0, 5000, 5000, 9000], model=[0] * 4, iterations=[1] * 4)
    assert _waking(four, Options(window=1), [(0, 0, 5000, 4, 1, 0)]) == [0, 5000, 5000]
    assert _waking(four, Options(window=3), [(0, 0, 5000, 4, 1, 0)]) == [0, 5000, 5000, 9000]


def test_a_segment_ends_at_the_next_tick_whenever_it_began():
    """Alone from 4 s on, with ticks of 5 s; parts of iterations count."""
    late = LOAD.replace(submit=[4000], model=[0], iterations=[4])
    sound = [(0, 4000, 5000, 4, 1, 3667), (0, 5000, 10000, 4, 1, 2001), (0, 10000, 15000, 4, 1, 335)]
    sound.append((0, 15000, 16005, 4, 1, 0))
    assert violations(late, Options(floor="never"), Wake(True, 5), Log(sound)) == []
    past = [(0, 4000, 10000, 4, 1, 2000), (0, 10000, 15000, 4, 1, 334), (0, 15000, 16002, 4, 1, 0)]
    assert kinds(violations(late, Options(floor="never"), Wake(True, 5), Log(past))) == {"wake"}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found(name):
    kind, remove, add, changes = FAULTS[name]
    assert kind in kinds(check(remove, add, **changes))


def test_where_only_changes_cost_a_segment_may_pass_events():
    assert check([A2, A3], [(0, 7000, 19000, 2, 1, 0)], floor="changed") == []


def test_many_findings_of_a_kind_are_counted():
    found = check(add=[(9, 0, 1, 1, 1, 0)] * (SHOWN + 3))
    assert sum(s.startswith("log:") for s in found) == SHOWN + 1
    assert "log: 3 more" in found


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=draws(9, 60))
@given(load=workloads(), readings=options(), data=st.data())
def test_a_random_fault_in_a_random_run_is_found(load, readings, data):
    run = api.simulate(
        load, "fair", options=readings, scheduling_events=data.draw(st.sampled_from(["events", "interval:8"]))
    )
    at = data.draw(st.integers(0, len(run.log.rows) - 1))
    column = data.draw(st.sampled_from([0, 1, 2, 5]))
    row = list(run.log.rows[at])
    row[column] += data.draw(st.sampled_from([-1000, -1, 1, 1000, 10**6]))
    changed = Log([*run.log.rows[:at], tuple(row), *run.log.rows[at + 1 :]])
    found = violations(load, run.options, run.scheduling_events, changed)
    assert found
