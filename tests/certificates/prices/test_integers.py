"""Checkers' integers: exact at the limit of int64 and beyond it, or an error; never a number that wrapped."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched.certificates.prices import integers
from mlsched.certificates.prices.integers import LIMIT, SCALE, dot, largest, minima, priced, proven, rounded_up, total

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
    costs = np.full(82_000, 10**7 * SCALE)
    assert total(costs) == 82_000 * 10**7 * SCALE
    assert int(costs.sum()) != 82_000 * 10**7 * SCALE
    assert total(-costs) == -82_000 * 10**7 * SCALE


@settings(max_examples=draws(100, 3000))
@given(pairs=st.lists(st.tuples(ANY, st.one_of(ANY, st.integers(-9, 9))), max_size=9))
def test_products_are_exact_or_refused(pairs):
    left, right = whole([a for a, _ in pairs]), whole([b for _, b in pairs])
    if largest(left) * largest(right) > LIMIT:
        with pytest.raises(OverflowError, match="product"):
            dot(left, right)
    else:
        assert dot(left, right) == sum(a * b for a, b in pairs)


@settings(max_examples=draws(100, 3000))
@given(
    choices=st.lists(st.tuples(st.integers(-(2**40), 2**40), ANY, st.integers(-9, 9)), min_size=1, max_size=6),
    prices=st.tuples(st.integers(0, 2**20), st.integers(0, 2**60)),
)
def test_what_choices_pay_is_exact_or_refused(choices, prices):
    cost, one, two = (whole(column) for column in zip(*choices, strict=True))
    use = np.column_stack([one, two])
    if largest(cost) * SCALE + largest(one) * prices[0] + largest(two) * prices[1] > LIMIT:
        with pytest.raises(OverflowError, match="cost can reach"):
            priced("cost", cost, use, whole(prices))
    else:
        found = priced("cost", cost, use, whole(prices)).tolist()
        assert found == [c * SCALE + a * prices[0] + b * prices[1] for c, a, b in choices]


def test_at_the_limit_and_one_above():
    integers.within("this", LIMIT)
    with pytest.raises(OverflowError, match=r"this can reach 4\.6e\+18, more than 2\^62: use larger units"):
        integers.within("this", LIMIT + 1)


def test_groups_have_their_minimum():
    assert minima(whole([3, 1, 2, 5, 4]), whole([0, 3])).tolist() == [1, 4]
    for first in ([], [1], [0, 0], [0, 5]):
        with pytest.raises(ValueError, match="first"):
            minima(whole([3, 1, 2, 5, 4]), whole(first))


def test_a_bound_is_rounded_up_to_whole_costs():
    value = proven(whole([5 * SCALE, 3 * SCALE]), whole([1, 2]), whole([1, 1]))
    assert value == 8 * SCALE - 3
    assert (rounded_up(value), rounded_up(8 * SCALE), rounded_up(8 * SCALE + 1), rounded_up(-1)) == (8, 8, 9, 0)
