"""LAS: quanta of attained service, and who gives way to whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jobs_examples import jobs_of, rows

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.las import turns


def segments(load, rule, **options):
    run = api.simulate(load, rule, options=options)
    assert run.violations() == []
    return [(row["job"], row["start"], row["end"]) for row in rows(run.log)]


def test_jobs_take_turns_of_a_quantum():
    """One GPU, ticks of a second, a quantum of 4: job 0 takes 10 from 0 on, job 1 takes 6 from 1, job 2 takes 2 from 5.

    At 4 job 0 has had its quantum, and job 1 none. At 5 job 1 has begun its first, as job 2 will; it runs, so it goes
    on until 8. Job 2 ends at 10. Of the others, with one quantum each, the earlier goes on until it has had two, at 14.
    """
    load = jobs_of([[(1, 1)]], [(0, 0, 10), (1, 0, 6), (5, 0, 2)], nodes=[(1,)], tick_ms=1000)
    assert segments(load, "las:quantum=4,growth=0") == [
        (0, 0, 4),
        (1, 4, 8),
        (2, 8, 10),
        (0, 10, 14),
        (1, 14, 16),
        (0, 16, 18),
    ]
    assert segments(load, "las:quantum=4,growth=0", pausing="none") == [(0, 0, 10), (1, 10, 16), (2, 16, 18)]


def test_turns_grow():
    """One GPU, a first turn of 2 s and growth 1: turns end at 2, 6, 14, 30. Two jobs of 10 come at once."""
    load = jobs_of([[(1, 1)]], [(0, 0, 10), (0, 0, 10)], nodes=[(1,)], tick_ms=1000)
    found = segments(load, "las:quantum=2,growth=1")
    assert found == [(0, 0, 2), (1, 2, 8), (0, 8, 16), (1, 16, 20)], "job 1 has begun no later turn until 8"
    assert [turns(attained, 2.0, 1.0)[0] for attained in (0.0, 1.9, 2.0, 6.0, 13.9)] == [0, 0, 1, 2, 2]


@example(110889014.0, 216.07452301861713, 0.0)
@given(st.floats(0, 1e9), st.floats(0.01, 1e5), st.one_of(st.just(0.0), st.floats(1e-3, 3)))
def test_a_turn_ends_after_what_is_attained_and_the_next_begins_there(attained, quantum, growth):
    number, end = turns(attained, quantum, growth)
    assert end >= attained * (1 - 1e-6)
    after, later = turns(end, quantum, growth)
    assert after == number + 1 or growth == 0
    assert later - end >= quantum * (1 - 1e-6) - 4 * np.spacing(later)


def test_service_is_gpu_seconds_or_seconds():
    """Two GPUs: job 0 holds both and has had a quantum of 4 at 2 by work, at 4 by time; job 1 holds one for 2 ticks."""
    load = jobs_of([[(1, 1), (1, 1)], [(1, 1)]], [(0, 0, 6), (1, 1, 2)], nodes=[(2,)], tick_ms=1000)
    assert segments(load, "las:quantum=4,growth=0") == [(0, 0, 2), (1, 2, 4), (0, 4, 8)]
    assert segments(load, "las:quantum=4,growth=0,by=time") == [(0, 0, 4), (1, 4, 6), (0, 6, 8)]


def test_without_anybody_waiting_nobody_is_asked_again():
    """At both arrivals, and when job 0 ends while job 1 runs."""
    load = jobs_of([[(1, 1)]], [(0, 0, 10), (1, 0, 10)], nodes=[(2,)], tick_ms=1000)
    assert api.simulate(load, "las:quantum=1,growth=0").decisions == 3


def test_settings_are_checked():
    load = jobs_of([[(1, 1)]], [(0, 0, 1)], tick_ms=1000)
    with pytest.raises(InvalidInput, match=r"quantum: 0\.0, expected above 0"):
        api.simulate(load, "las:quantum=0")
    with pytest.raises(InvalidInput, match="las: counts GPU-seconds, and tick_ms = 0"):
        api.simulate(load.replace(tick_ms=0), "las")
