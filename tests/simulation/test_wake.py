"""The cadence of a run: text, and the next time to wake."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.simulation.wake import Wake

TEXTS = {"events": Wake(True, 0), "interval:60": Wake(False, 60), "events+interval:600": Wake(True, 600)}


@pytest.mark.parametrize("text", list(TEXTS))
def test_parse_and_print(text):
    assert Wake.parse(text) == TEXTS[text]
    assert str(TEXTS[text]) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "event",
        "events+",
        "+interval:60",
        "eventsinterval:60",
        "interval:0",
        "interval:-5",
        "interval:1.5",
        "interval:",
        "interval",
        "interval:60+events",
        "events ",
        "events\n",
        "EVENTS",
        "interval:060",
        "events+events",
    ],
)
def test_other_text_is_refused(text):
    with pytest.raises(InvalidInput, match=r"scheduling_events: .*, expected 'events', 'interval:SECONDS' or"):
        Wake.parse(text)


@pytest.mark.parametrize(
    ("text", "now", "event", "pending", "expected"),
    [
        ("events", 10, 37, False, 37),
        ("events", 10, 37, True, 37),
        ("events", 10, None, True, None),
        ("interval:60", 0, 37, False, 60),
        ("interval:60", 0, 60, False, 60),
        ("interval:60", 0, 61, False, 120),
        ("interval:60", 60, 60, False, 120),  # the tick at 60 is over
        ("interval:60", 0, 500, False, 540),  # ticks at which nothing is open are skipped
        ("interval:60", 0, 500, True, 60),  # with a question open every tick counts
        ("interval:60", 60, 500, True, 120),
        ("interval:60", 0, None, True, None),
        ("events+interval:60", 0, 37, False, 37),
        ("events+interval:60", 0, 500, False, 500),
        ("events+interval:60", 0, 500, True, 60),
        ("events+interval:60", 59, 500, True, 60),
        ("events+interval:60", 60, 500, True, 120),
        ("events+interval:60", 0, None, False, None),
    ],
)
def test_the_next_time_by_hand(text, now, event, pending, expected):
    assert Wake.parse(text).next(now, event, pending) == expected


@given(
    events=st.booleans(),
    interval=st.integers(1, 1000),
    now=st.integers(0, 10**6),
    ahead=st.integers(1, 10**5),
    pending=st.booleans(),
)
def test_time_goes_forward_and_no_event_is_slept_through(events, interval, now, ahead, pending):
    wake, event = Wake(events, interval), now + ahead
    at = wake.next(now, event, pending)
    assert at > now
    assert at == event or at % interval == 0
    assert at < event + interval
    assert not events or at <= event
    assert wake.next(now, event, True) <= at


def test_intervals_are_seconds_whatever_the_clock_counts():
    assert Wake(True, 600).in_units(1000) == Wake(True, 600_000)
    assert Wake(False, 600).in_units(Fraction(1, 60)) == Wake(False, 10)
    assert Wake(True, 0).in_units(Fraction(1, 60)) == Wake(True, 0)
    with pytest.raises(
        InvalidInput, match="scheduling_events = 'interval:90': 90 s is not a multiple of a tick of 60 s"
    ):
        Wake(False, 90).in_units(Fraction(1, 60))


@pytest.mark.parametrize("simulator", ["iterations", "tasks"])
@pytest.mark.parametrize("tick", [1, 30, 60])
def test_logs_are_asked_about_at_multiples_of_so_many_seconds(tick, simulator):
    log = {"submit": [10, 700, 1300, 5000], "duration": [600] * 4, "gpus": [1] * 4}
    jobs = mlsched.workload(log, cluster="2x(8gpu)", simulator=simulator, tick=tick)
    run = mlsched.simulate(jobs, "fifo", scheduling_events="interval:600")
    assert run.violations() == []
    origin = 10  # the clock begins with the first submit
    starts = (run.table()["start_s"]).tolist()
    assert [start % 600 for start in starts] == [0] * 4
    assert all(0 <= start + origin - submit < 600 + tick for start, submit in zip(starts, log["submit"], strict=True))
