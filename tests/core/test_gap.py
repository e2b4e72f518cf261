"""The gap of an answer to a reference: by hand, and the properties that its readers rely on."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched.core.contract import Primary
from mlsched.core.gap import Gap, Gaps, format_percentage, gap_between, sum_up

DEFERRED = Primary("deferred TE jobs", 100)
values = st.integers(-(2**53), 2**53)


@pytest.mark.parametrize(
    ("sense", "value", "reference", "share", "shown"),
    [
        ("min", 170, 100, 0.7, "70.0 %"),
        ("min", 100, 100, 0, "0 %"),
        ("min", 90, 100, -0.1, "-10.0 %"),
        ("max", 30, 100, 0.7, "70.0 %"),
        ("max", 120, 100, -0.2, "-20.0 %"),
        ("min", 1240, 100, 11.4, "1140 %"),
        ("min", 100_001, 100_000, 1e-5, "0.01 %"),
        ("min", -50, -100, 0.5, "50.0 %"),
        ("min", 3, 2.5, 0.2, "20.0 %"),
    ],
)
def test_a_share_of_the_reference(sense, value, reference, share, shown):
    found = gap_between(value, reference, sense=sense, unit="s")
    assert found.share == pytest.approx(share)
    assert found.difference == pytest.approx((value - reference) * (1 if sense == "min" else -1))
    assert (str(found), found.unit, found.primary) == (shown, "s", None)


@pytest.mark.parametrize(
    ("sense", "value", "difference", "shown"),
    [("min", 12, 12, "12 volume"), ("min", 0, 0, "0 volume"), ("max", 0, 0, "0 volume"), ("max", -3, 3, "3 volume")],
)
def test_a_reference_of_0_has_no_percentage(sense, value, difference, shown):
    found = gap_between(value, 0, sense=sense, unit="volume")
    assert (found.difference, found.share, str(found)) == (difference, None, shown)


@pytest.mark.parametrize(
    ("value", "reference", "expected", "shown"),
    [
        # Two deferred jobs each: 40 against 30.
        (240, 230, Gap(10, "score", 10 / 30), "33.3 %"),
        (230, 230, Gap(0, "score", 0.0), "0 %"),
        # One more deferred job, although the base value is lower: no percentage.
        (310, 230, Gap(1, "deferred TE jobs", None, "deferred TE jobs"), "1 more deferred TE jobs"),
        (30, 230, Gap(-2, "deferred TE jobs", None, "deferred TE jobs"), "2 fewer deferred TE jobs"),
        # Both defer two, the reference needs no victim.
        (215, 200, Gap(15, "score", None), "15 score"),
    ],
)
def test_a_rank_is_compared_first(value, reference, expected, shown):
    found = gap_between(value, reference, sense="min", unit="score", primary=DEFERRED)
    assert found == expected
    assert str(found) == shown


@given(values, values, st.sampled_from(["min", "max"]), st.sampled_from([None, DEFERRED]))
def test_it_is_0_exactly_for_equal_values_and_positive_exactly_for_worse_ones(value, reference, sense, rank):
    found = gap_between(value, reference, sense=sense, unit="s", primary=rank)
    worse = value > reference if sense == "min" else value < reference
    assert (found.difference == 0) == (value == reference)
    assert (found.difference > 0) == worse
    if found.share is not None:
        assert (found.share == 0) == (value == reference)
        assert (found.share > 0) == worse


@given(values, values)
def test_the_senses_mirror_each_other(value, reference):
    low = gap_between(value, reference, sense="min", unit="s")
    high = gap_between(-value, -reference, sense="max", unit="s")
    assert (low.difference, low.share) == (high.difference, high.share)


@given(st.integers(0, 50), st.integers(0, 99))
def test_a_rank_takes_a_value_apart(count, base):
    assert DEFERRED.split(count * 100 + base) == (count, base)


def test_real_numbers_agree_up_to_a_tolerance():
    assert gap_between(10 + 1e-8, 10, sense="min", unit="s", tolerance=1e-6).share == 0
    assert gap_between(10 + 1e-3, 10, sense="min", unit="s", tolerance=1e-6).share == pytest.approx(1e-4)


def test_means_hold_only_what_can_be_compared():
    made = [
        gap_between(value, reference, sense="min", unit="volume", primary=DEFERRED)
        for value, reference in [(20, 10), (10, 10), (7, 0), (0, 0), (130, 10), (399, 10)]
    ]
    found = sum_up(made)
    assert found == Gaps(
        count=6, optimal=1 / 3, relative=2, mean=0.5, median=0.5, largest=1.0, absolute=2, mean_difference=3.5,
        behind=2, mean_behind=2.0, unit="volume", primary="deferred TE jobs",
    )  # fmt: skip
    assert str(found) == (
        "mean gap 50.0 %, largest 100.0 %; 2 with optimum 0: 3.5 volume worse on average; "
        "2 not compared: 2 more deferred TE jobs on average"
    )


def test_nothing_to_sum_up():
    found = sum_up([])
    assert (found.count, found.optimal, found.mean, found.mean_difference, found.mean_behind) == (0,) + (None,) * 4
    assert str(found) == "nothing to compare"


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (1e-9, "0.01 %"), (0.0005, "0.05 %"), (0.4116, "41.2 %"), (-1e-9, "-0.01 %"), (12.3, "1230 %")],
)
def test_percentages(share, shown):
    assert format_percentage(share) == shown


@pytest.mark.parametrize(
    ("value", "bound", "shown"),
    [
        (98, 97, "1.1 %"), (107, 100, "7.0 %"), (1000001, 1000000, "0.01 %"), (100011, 100000, "0.02 %"),
        (10001, 1000, "900.1 %"), (109991, 10000, "1000.0 %"), (10, 10, "0 %"), (5, 0, "5 ticks"),
    ],
)  # fmt: skip
def test_what_is_at_most_so_large_is_rounded_up(value, bound, shown):
    """98 is more than 1.0 % above 97."""
    gap = gap_between(value, bound, sense="min", unit="ticks")
    assert gap.rounded_up == shown
    if gap.share is not None:
        assert float(gap.rounded_up.removesuffix(" %")) / 100 >= gap.share


def test_results_are_held_against_what_was_proven():
    inst = mlsched.generate("placement", preset="small", seed=1)
    best = mlsched.solve(inst, "brute-force")
    rule = mlsched.solve(inst, "load-balancing")
    assert best.gap_to(best).share == 0
    assert rule.gap_to(best).share == pytest.approx((best.sort_key - rule.sort_key) / best.sort_key)
    data = rule.to_json()
    assert (data["sense"], data["unit"], data["primary"]) == ("max", "millionths of a job per interval", None)
    with pytest.raises(mlsched.InvalidInput, match="the result of load-balancing lacks a bound"):
        best.gap_to(rule)
    other = mlsched.solve(mlsched.generate("placement", preset="small", seed=2), "brute-force")
    with pytest.raises(mlsched.InvalidInput, match="answers another instance"):
        rule.gap_to(other)


def test_a_gap_is_a_number_and_not_a_number_where_there_is_no_percentage() -> None:
    worse = gap_between(17, 10, sense="min", unit="ticks")
    assert worse == pytest.approx(0.7)
    assert worse < 0.8
    assert f"{worse:.0%}" == "70%"
    assert math.isnan(gap_between(5, 0, sense="min", unit="volume"))
    half = gap_between(15, 10, sense="min", unit="ticks")
    assert half == 0.5
    assert hash(half) == hash(0.5)
    assert len({gap_between(5, 0, sense="min", unit="volume") for _ in range(2)}) == 1
    assert copy.deepcopy(worse).unit == pickle.loads(pickle.dumps(worse)).unit == "ticks"
