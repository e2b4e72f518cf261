"""The integer checker of prices over time: each minimum is that of all ways; what is proven is below every schedule."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched.certificates.prices.intervals import Jobs, Prices, interrupted, proven, uninterrupted

JOB = st.tuples(st.integers(2, 9), st.integers(1, 6), st.integers(1, 4), st.integers(0, 3), st.integers(0, 2))
PRICES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=6)


def whole(values) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def asked(jobs, capacity=(3, 4)) -> Jobs:
    release, length, weight, one, two = map(whole, zip(*jobs, strict=True))
    return Jobs(release, length, weight, np.column_stack([one, two]), whole(capacity))


@settings(max_examples=draws(120, 2000))
@given(
    jobs=st.lists(JOB, min_size=1, max_size=5),
    prices=PRICES,
    step=st.integers(1, 4),
    start=st.integers(0, 2),
    bits=st.integers(0, 3),
)
def test_every_minimum_is_that_of_all_ways(jobs, prices, step, start, bits):
    these, charged = asked(jobs), Prices(start, step, bits, whole(prices))
    over = np.zeros((start + len(prices) * step + 40, 2), dtype=np.int64)
    over[start : start + len(prices) * step] = np.repeat(whole(prices), step, axis=0)
    straight, paused = uninterrupted(these, charged), interrupted(these, charged)
    for i, (a, p, w, *demand) in enumerate(jobs):
        pays = over @ whole(demand)
        ends = range(a + p, len(over) + 1)
        waited = {end: (w << bits) * (end - a) for end in ends}
        assert straight[i] == min(waited[end] + pays[end - p : end].sum() for end in ends)
        assert paused[i] == min(waited[end] + np.sort(pays[a:end])[:p].sum() for end in ends)


def best(jobs, capacity, pausing) -> int:
    """The smallest weighted sum of end - release of up to three jobs, by trying every set at every tick."""
    from functools import cache

    @cache
    def after(now, left, running):
        if not any(left):
            return 0
        found = 10**9
        able = [j for j, n in enumerate(left) if n and jobs[j][0] <= now]
        if not able:
            return after(now + 1, left, frozenset())
        for chosen in range(1 << len(able)):
            those = [j for k, j in enumerate(able) if chosen >> k & 1]
            if not pausing and not running <= set(those):
                continue
            if not those and max(j[0] for j in jobs) <= now:
                continue
            if all(sum(jobs[j][3 + r] for j in those) <= capacity[r] for r in range(2)):
                rest = tuple(n - (j in those) for j, n in enumerate(left))
                cost = sum(jobs[j][2] * (now + 1 - jobs[j][0]) for j in those if not rest[j])
                found = min(found, cost + after(now + 1, rest, frozenset(j for j in those if rest[j])))
        return found

    return after(0, tuple(job[1] for job in jobs), frozenset())


@settings(max_examples=draws(60, 2000), deadline=None)
@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2)),
        min_size=1,
        max_size=3,
    ),
    prices=PRICES,
    step=st.integers(1, 3),
    bits=st.integers(0, 4),
)
def test_whatever_the_prices_are_no_schedule_is_below(jobs, prices, step, bits):
    charged = Prices(0, step, bits, whole(prices))
    for pausing in (True, False):
        assert proven(asked(jobs), charged, pausing=pausing) <= best(jobs, (3, 4), pausing)


def test_what_weighs_nothing_or_takes_no_time_costs_nothing():
    jobs = asked([(0, 3, 1, 1, 0), (0, 3, 0, 3, 0), (0, 0, 5, 3, 0)])
    assert proven(jobs, Prices(0, 1, 0, whole([[0, 0]])), pausing=True) == 3
    assert proven(jobs, Prices(0, 1, 0, whole([[0, 0]])), pausing=False) == 3


def test_at_the_limit_of_64_bits():
    """A price of 2^62 is one too many for an int64 on the way, and none for Python's integers."""
    job = [(0, 2, 1, 1, 0)]
    most = 2**62 - 6  # 1 tick at this price, and 6 for waiting: the last sum that fits
    assert uninterrupted(asked(job), Prices(0, 1, 0, whole([[most, 0]]))) == [3]
    with pytest.raises(OverflowError, match="a cost can reach"):
        uninterrupted(asked(job), Prices(0, 1, 0, whole([[2**62, 0]])))
    assert interrupted(asked(job), Prices(0, 1, 0, whole([[2**62, 0]]))) == [3]


@pytest.mark.parametrize(
    "prices", [Prices(0, 1, 0, whole([[-1, 0]])), Prices(0, 0, 0, whole([[1, 0]])), Prices(5, 1, 0, whole([[1, 0]]))]
)
def test_prices_that_prove_nothing_are_refused(prices):
    with pytest.raises(ValueError, match="prices must"):
        proven(asked([(0, 2, 1, 1, 0)]), prices, pausing=False)
