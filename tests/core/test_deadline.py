"""A deadline is looked at as often as it is asked, and without limits there is none."""

from __future__ import annotations

import pytest

from mlsched.core import deadline
from mlsched.core.deadline import MOMENT, Deadline, OutOfTime


def test_items_come_until_the_time_is_over(ticking):
    ticking(deadline, seconds=1.0)
    seen = []
    with pytest.raises(OutOfTime):
        seen.extend(Deadline(3.5).over("abcdefg"))
    assert "".join(Deadline(3.5).over("abc")) == "abc"
    with pytest.raises(OutOfTime):
        Deadline(1.0).check()  # at the moment itself it is over


def test_there_may_be_no_end(ticking):
    ticking(deadline)
    assert list(Deadline().over(range(9))) == list(range(9))
    assert Deadline().remaining() is None
    assert Deadline().remaining(MOMENT) is None


def test_what_remains_is_negative_when_the_time_is_over(ticking):
    ticking(deadline, seconds=1.0)
    end = Deadline(1.5)
    assert [end.remaining(), end.remaining(), end.remaining(MOMENT)] == [0.5, -0.5, MOMENT]


def test_an_earlier_one_ends_so_many_seconds_before(ticking):
    ticking(deadline, seconds=1.0)
    end = Deadline(9.0).earlier(4.0)  # made at 0, asked at 1, made at 2 with 8 - 4 left
    assert end.remaining() == 3.0
    free = Deadline()
    assert free.earlier(4.0) is free
