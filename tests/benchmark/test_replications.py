"""Windows as replications: means and intervals."""

from __future__ import annotations

import pytest

from mlsched.benchmark.replications import mean_of


def test_a_mean_and_its_interval() -> None:
    found = mean_of([1.0, 2.0, 3.0, None])
    assert (found.mean, found.count) == (2.0, 3)
    assert found.half == pytest.approx(4.302652729911275 / 3**0.5), "Student's t with two degrees of freedom"
    assert mean_of([5.0]).half is None
    assert mean_of([2.0, 2.0]).half == 0.0
    assert mean_of([None]) is None
