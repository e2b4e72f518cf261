"""Checkers' integers: exact at the limit of int64 and beyond it, or an error; never a number that wrapped."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched.certificates.prices import integers
from mlsched.certificates.prices.integers import LIMIT, dot, largest, total

ANY = st.integers(-(2**63), 2**63 - 1)
ENTRIES = st.lists(st.one_of(ANY, st.integers(-9, 9)), max_size=20)


def whole(values) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@settings(max_examples=draws(100, 3000))
@given(values=ENTRIES)
def test_a_sum_is_that_of_python(values):
    assert total(whole(values)) == sum(values)
    assert largest(whole(values)) == max(map(abs, values), default=0)


def test_a_sum_beyond_an_int64():
    """82,000 jobs x 10^7 s x 2^24: numpy's own sum wraps."""
    costs = np.full(82_000, 10**7 * 2**24)
    assert total(costs) == 82_000 * 10**7 * 2**24
    assert int(costs.sum()) != 82_000 * 10**7 * 2**24
    assert total(-costs) == -82_000 * 10**7 * 2**24


@settings(max_examples=draws(100, 3000))
@given(pairs=st.lists(st.tuples(ANY, st.one_of(ANY, st.integers(-9, 9))), max_size=9))
def test_products_are_exact_or_refused(pairs):
    left, right = whole([a for a, _ in pairs]), whole([b for _, b in pairs])
    if largest(left) * largest(right) > LIMIT:
        with pytest.raises(OverflowError, match="product"):
            dot(left, right)
    else:
        assert dot(left, right) == sum(a * b for a, b in pairs)


def test_at_the_limit_and_one_above():
    integers.within("this", LIMIT)
    with pytest.raises(OverflowError, match=r"this can reach 4\.6e\+18, more than 2\^62: use larger units"):
        integers.within("this", LIMIT + 1)
