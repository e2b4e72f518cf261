"""Ctrl-C as a request to end: searches return what they have, and a second one is Ctrl-C as ever."""

from __future__ import annotations

import pytest

from mlsched.core import interrupts
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.interrupts import finishing, on_stop, stop_requested, stopping


def test_a_request_ends_every_deadline_until_the_block_ends(control_c):
    with stopping() as stopped:
        assert not Deadline().passed()
        control_c()
        assert stopped()
        assert Deadline().remaining() == 0
        with pytest.raises(OutOfTime):
            Deadline(1000).check()
        with finishing():
            assert Deadline().remaining() is None
            assert not stop_requested()
        assert stop_requested()
    assert stopped()
    assert not stop_requested()
    assert Deadline().remaining() is None


def test_a_second_one_is_raised(control_c):
    with pytest.raises(KeyboardInterrupt):
        stopped_by(control_c, control_c)


def test_what_runs_is_told_to_end(control_c):
    ended = []
    with stopping(), on_stop(lambda: ended.append(True)):
        control_c()
        interrupts._on_alarm(0, None)
        assert ended


def test_what_does_not_end_is_interrupted(control_c, monkeypatch):
    monkeypatch.setattr(interrupts, "GRACE", -1.0)
    with pytest.raises(KeyboardInterrupt):
        stopped_by(control_c, lambda: interrupts._on_alarm(0, None))


def stopped_by(*events):
    with stopping():
        for event in events:
            event()


def test_without_the_block_it_is_raised(control_c):
    with pytest.raises(KeyboardInterrupt):
        control_c()
