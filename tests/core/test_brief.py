"""Numbers in sentences."""

from __future__ import annotations

import pytest

from mlsched.core.brief import with_singulars


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.csv (1 rows left out (no run time: 1))", "a.csv (1 row left out (no run time: 1))"),
        ("1 jobs were interrupted: their runs", "1 job was interrupted: their runs"),
        ("1 jobs come when they are eligible", "1 job comes when they are eligible"),
        ("1 jobs of the log wait for others", "1 job of the log waits for others"),
        ("nodes fail 1 times, by f.csv", "nodes fail 1 time, by f.csv"),
        ("11 jobs were, 0.1 jobs, 1,1 jobs, a1 jobs", "11 jobs were, 0.1 jobs, 1,1 jobs, a1 jobs"),
    ],
)
def test_one_is_singular(text, shown):
    assert with_singulars(text) == shown
