"""Windows as replications: means, intervals, and what is said of paired differences."""

from __future__ import annotations

import pytest

from mlsched.benchmark.replications import compared, mean_of


def test_a_mean_and_its_interval() -> None:
    found = mean_of([1.0, 2.0, 3.0, None])
    assert (found.mean, found.count) == (2.0, 3)
    assert found.half == pytest.approx(4.302652729911275 / 3**0.5), "Student's t with two degrees of freedom"
    assert mean_of([5.0]).half is None
    assert mean_of([2.0, 2.0]).half == 0.0
    assert mean_of([None]) is None


@pytest.mark.parametrize(
    ("values", "others", "word"),
    [
        ([1.0, 2.1, 3.0, 4.2], [2.0, 3.0, 4.1, 5.0], "less"),
        ([2.0, 3.0, 4.1, 5.0], [1.0, 2.1, 3.0, 4.2], "more"),
        ([1.0, 9.0, 1.0], [2.0, 1.0, 3.0], "undecided"),
        ([1.0, 2.0], [1.0, 2.0], "alike"),
        ([1.0], [3.0], "undecided"),
    ],
)
def test_what_is_said_of_a_difference(values, others, word: str) -> None:
    found = compared(values, others)
    assert found.word == word
    mean = sum(a - b for a, b in zip(values, others, strict=True)) / len(values)
    assert found.mean == pytest.approx(mean)
    assert found.share == pytest.approx(100 * mean / (sum(others) / len(others)))


def test_only_pairs_count() -> None:
    found = compared([1.0, None, 3.0, 4.0], [2.0, 5.0, None, 6.0])
    assert found.mean == pytest.approx(-1.5)
    assert compared([None], [1.0]) is None
    assert compared([1.0, 2.0], [0.0, 0.0]).share is None
