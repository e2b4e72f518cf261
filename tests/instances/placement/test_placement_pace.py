"""Rows that many placements share are found, however large their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched.instances.placement.pace import _distinct


@pytest.mark.parametrize("high", [1, 3, 1001], ids=["equal", "few", "beyond 64 bits"])
def test_distinct_rows_are_found_again(high):
    rng = np.random.default_rng(7)
    w, p = rng.integers(0, high, (2, 40, 9))[:, rng.integers(0, 40, 500)]
    first, which = _distinct(w, p)
    assert (w[first][which] == w).all()
    assert (p[first][which] == p).all()
    assert len(first) == len(np.unique(np.concatenate([w, p], axis=1), axis=0))


def test_no_rows_and_no_jobs():
    assert [len(x) for x in _distinct(*np.zeros((2, 0, 3), dtype=np.int64))] == [0, 0]
    assert [len(x) for x in _distinct(*np.zeros((2, 4, 0), dtype=np.int64))] == [1, 4]
