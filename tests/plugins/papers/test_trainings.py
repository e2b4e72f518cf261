"""Trainings of one policy: listed one by one, and an interval only where they are one cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched_papers.claim import Bound, Claim, estimate
from mlsched_papers.statement import Piece
from mlsched_papers.trainings import clustered, over_trainings

#: Validation ACT of five trainings of Chic and of Chic-Pair until their reward settled, s.
CHIC, PAIR = (4127.0, 2149.0, 4126.0, 4126.0, 2130.0), (4101.0, 2273.0, 4253.0, 4203.0, 4298.0)


@pytest.mark.parametrize("values", [CHIC, PAIR])
def test_two_clusters_have_a_mean_and_no_interval(values):
    found = over_trainings(values)
    assert clustered(values)
    assert (found.mean, found.half, found.count) == (pytest.approx(np.mean(values)), None, 5)


@given(st.lists(st.integers(-1000, 1000).map(float), min_size=3, max_size=9), st.integers(3000, 10**6))
def test_what_is_far_from_the_others_is_a_cluster(values, away):
    assert clustered([*values, min(values) + 6.0 * away])
    assert over_trainings([*values, min(values) + 6.0 * away]).half is None


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(3, 9))
def test_evenly_spread_values_are_one(start, step, count):
    values = [start + step * k for k in range(count)]
    assert not clustered(values)
    assert over_trainings(values) == estimate(values)


def test_few_or_equal_values_are_one():
    assert not clustered([])
    assert not clustered([1.0, 9.0])
    assert not clustered([2.0] * 5)
    assert over_trainings([]) is None


def test_one_in_twenty_five_samples_of_five_normal_values_looks_like_two_clusters():
    rng = np.random.default_rng(0)
    share = np.mean([clustered(rng.normal(size=5)) for _ in range(5000)])
    assert 0.03 < share < 0.06


def test_trainings_are_listed_and_two_clusters_decide_nothing():
    def judged(values, **more):
        piece = Piece("r", "ACT", np.array(values), Bound(high=0.0), "s", **more).measurements()
        return piece, Claim("c", "text", "here", "tested", (piece,)).verdict

    piece, verdict = judged(CHIC, trainings=True)
    assert piece.each == CHIC
    assert verdict == "undecided"
    assert piece.value == "3332 s (trainings: 4127, 2149, 4126, 4126, 2130)"
    assert "trainings in two clusters: no interval" in piece.remark(1)
    assert judged((9.0, 10.0, 11.0, 12.0, 13.0), trainings=True)[1] == "does not hold"
    assert judged((9.0, 10.0, 11.0))[0].each == ()
