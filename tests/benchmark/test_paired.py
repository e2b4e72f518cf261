"""The paired statistic: swapping two solvers flips it, and equal solvers are rarely told from one another."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from benchmark_examples import row, rule
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from mlsched.benchmark import bootstrap, paired
from mlsched.benchmark.compare import compare_rows
from mlsched.benchmark.paired import compare_values, interval_of, least_pairs, relative_difference, summarize

VALUES = st.one_of(st.none(), st.integers(0, 3), st.integers(0, 10**30), st.floats(0, 1e6))
PAIRS = st.lists(st.tuples(VALUES, VALUES), max_size=40)
WORDS = {"better": "worse", "worse": "better"}


def flipped(interval):
    return None if interval is None else (-interval[1], -interval[0])


@given(PAIRS, st.integers(1, 50))
def test_swapping_two_solvers_flips_the_sign_and_the_interval(pairs, comparisons):
    first, second = ([pair[k] for pair in pairs] for k in (0, 1))
    one, other = compare_values(first, second, comparisons), compare_values(second, first, comparisons)
    if one is None:
        assert other is None
        return
    assert (other.mean, other.interval, other.pairs, other.missing) == (
        -one.mean, flipped(one.interval), one.pairs, one.missing
    )  # fmt: skip
    assert other.verdict == WORDS.get(one.verdict, one.verdict)


@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.integers(50, 80))] * 2, st.booleans()), min_size=1, max_size=12),
    st.sampled_from(["min", "max"]),
)
def test_swapping_two_stores_flips_every_line(pairs, sense):
    def rows(place):
        answers = [rule(p[place], instance_hash=f"h{k}", sense=sense, cpu_seconds=2.0) for k, p in enumerate(pairs)]
        best = 40 if sense == "min" else 90
        return answers + [
            row(sort_key=best, instance_hash=f"h{k}", sense=sense, cpu_seconds=1.0) for k, p in enumerate(pairs) if p[2]
        ]

    stores = [rows(0), rows(1)[::-1]]
    (one,), (other,) = (compare_rows(*order, ["rule"]) for order in (stores, stores[::-1]))
    assert (other.statistic, other.pairs, other.better, other.worse) == (
        one.statistic,
        one.pairs,
        one.worse,
        one.better,
    )
    assert other.difference == (None if one.difference is None else -one.difference)
    assert other.interval == flipped(one.interval)
    assert other.verdict == WORDS.get(one.verdict, one.verdict)
    assert (other.only_first, other.only_second) == (one.only_second, one.only_first)


def test_relative_differences():
    assert relative_difference(0, 0) == 0
    assert relative_difference(0, 5) == 1
    assert relative_difference(100, 80) == -0.2
    assert relative_difference(80, 100) == 0.2
    assert relative_difference(10**400, 9 * 10**399) == pytest.approx(-0.1)


def test_equal_solvers_of_any_kind_are_told_apart_in_at_most_five_percent():
    """All signs of differences of one size: the chance of a verdict, without drawing."""
    for pairs, comparisons in ((5, 1), (6, 1), (7, 1), (9, 1), (9, 5), *draws([], [(12, 1), (12, 20)])):
        signs = list(itertools.product((-1.0, 1.0), repeat=pairs))
        found = sum(summarize(x, comparisons).side is not None for x in signs)
        assert found <= 0.05 / comparisons * len(signs), (pairs, comparisons)


@pytest.mark.parametrize("pairs", [5, 6, 10, 13, 14, 40])
def test_there_is_an_interval_exactly_from_the_stated_number_of_pairs(pairs):
    for comparisons in (1, 2, 3, 16, 100):
        assert (interval_of([1.0] * pairs, comparisons) is None) == (pairs < least_pairs(comparisons))


def test_intervals_cover_the_mean_and_pass_through_ties():
    rng = np.random.default_rng(0)
    count, covered = draws(100, 1000), 0
    for _ in range(count):
        low, high = interval_of(rng.normal(1.0, 1.0, 20).tolist())
        covered += low <= 1.0 <= high
    assert covered >= 0.9 * count
    assert interval_of([-0.5] * 6) == (-0.5, -0.5)
    assert summarize([0.0] * 9).verdict == "the same values"
    assert summarize([0.0] * 30 + [-1.0] * 5).verdict == "undecided", "five wins without a loss are chance"
    assert summarize([0.0] * 30 + [-1.0] * 6).verdict == "better"


@pytest.mark.parametrize("pairs", [9, 40, 333])
def test_intervals_of_many_pairs_are_made_in_parts(monkeypatch, pairs):
    """Parts are used from 2,048 pairs on; the draws are the same however many are made at once."""
    values = np.random.default_rng(pairs).normal(size=pairs).tolist()
    whole, mean = paired.interval_of(values), bootstrap.bootstrap_interval(values)
    for cached in (paired._subsets, paired._cached_interval, bootstrap._cached_interval):
        cached.cache_clear()
    monkeypatch.setattr(paired, "_CELLS", 100 * pairs)
    monkeypatch.setattr(bootstrap, "AT_ONCE", 77 * pairs)
    assert paired.interval_of(values) == pytest.approx(whole, rel=1e-12)
    assert bootstrap.bootstrap_interval(values) == mean
    paired._subsets.cache_clear()


def test_intervals_of_many_pairs_take_little_memory():
    """16,383 subsets of 4,000 pairs are 262 MB as floats of 4 bytes."""
    values = np.random.default_rng(0).normal(size=4000).tolist()
    tracemalloc.start()
    try:
        assert paired.interval_of(values) is not None
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()
