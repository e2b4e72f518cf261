"""How often verdicts err: firm ones where nothing is to be found, and intervals that miss a planted effect.

Every test draws from a fixed seed. Where the truth is at the bound, at most 5 % of verdicts may be firm; a test fails
when more are than chance allows in one of a thousand such tests.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from draws import draws
from scipy.stats import binom

from mlsched_papers.claim import ERROR, Bound, Claim, Measurement, estimate
from mlsched_papers.view import View

FIRM = {"holds", "does not hold", "depends on the interpretation"}
#: Bounds with the truth, 0, at an end.
AT_THE_BOUND = (Bound(low=0.0, strict=True), Bound(high=0.0), Bound(0.0, 0.0))
REPEATS = draws(250, 5000)


def normal(rng, pieces, workloads):
    """Differences of one value per workload, normal, with a part that all pieces of a workload share."""
    return rng.normal(size=(pieces, workloads)) + rng.normal(size=workloads)


def skewed(rng, pieces, workloads):
    """Differences of two policies that are equally good, on values as skewed as completion times are."""
    shared = rng.lognormal(size=workloads)
    ours, theirs = (shared * rng.lognormal(size=(pieces, workloads)) for _ in range(2))
    return ours - theirs


def flipped(rng, pieces, workloads):
    """One data set with an effect, its signs shuffled: in every workload the policies change places or not."""
    data = np.random.default_rng(7).gamma(2.0, size=(pieces, workloads)) - 1.0
    return data * rng.choice([-1.0, 1.0], size=workloads)


def verdict(data, bound):
    """The verdict on an array of interpretations, pieces and workloads."""
    measurements = tuple(
        Measurement(str(interpretation), "x", estimate(values), bound)
        for interpretation, pieces in enumerate(data)
        for values in pieces
    )
    return Claim("c", "text", "here", "tested", measurements).verdict


def no_more_than_5_percent(firm, repeats):
    return firm <= binom.ppf(0.999, repeats, ERROR)


@pytest.mark.parametrize("draw", [normal, skewed, flipped])
@pytest.mark.parametrize("pieces", range(1, 7))
def test_firm_verdicts_where_the_truth_is_at_the_bound(draw, pieces):
    rng = np.random.default_rng([pieces, 1])
    bounds = itertools.cycle(AT_THE_BOUND)
    firm = sum(verdict([draw(rng, pieces, 8)], next(bounds)) in FIRM for _ in range(REPEATS))
    assert no_more_than_5_percent(firm, REPEATS)


@pytest.mark.parametrize("interpretations", [2, 4, 8])
@pytest.mark.parametrize("shared", [False, True])
def test_firm_verdicts_over_several_readings(interpretations, shared):
    """With interpretations that are measured on workloads of their own, or on the same ones."""
    rng = np.random.default_rng([interpretations, shared])
    bounds, firm = itertools.cycle(AT_THE_BOUND), 0
    for _ in range(REPEATS):
        each = [normal(rng, 2, 8) for _ in range(interpretations)]
        data = [interpretation + (3 * each[0] if shared else 0) for interpretation in each]
        firm += verdict(data, next(bounds)) in FIRM
    assert no_more_than_5_percent(firm, REPEATS)


def test_a_firm_verdict_is_found_where_there_is_an_effect():
    rng = np.random.default_rng(3)
    found = [verdict([sign * 3.0 + normal(rng, 3, 8)], AT_THE_BOUND[0]) for _ in range(100) for sign in (1, -1)]
    assert found[::2].count("holds") > 80
    assert found[1::2].count("does not hold") > 80


@dataclasses.dataclass(frozen=True)
class Run:
    values: dict


class Drawn(View):
    """One run of each policy on every workload."""

    def __init__(self, **policies):
        super().__init__("drawn", None)
        self._policies = policies

    def runs(self, policy, at):
        return [[Run({"x": value})] for value in self._policies[policy]]


@pytest.mark.parametrize("workloads", [5, 8, 30])
def test_intervals_cover_a_planted_effect(workloads):
    """A policy takes 20 % less time on average, more or less by workload, where workloads differ far more."""
    rng, planted, repeats, covered = np.random.default_rng(workloads), 20.0, 400, 0
    for _ in range(repeats):
        old = rng.lognormal(3.0, 1.0, workloads)
        new = old * (1 - planted / 100) * rng.gamma(25.0, 1 / 25.0, workloads)
        found = estimate(Drawn(new=new, old=old).cut("new", "old", "x"))
        covered += abs(found.mean - planted) <= found.half
    assert 0.93 <= covered / repeats <= 0.97
