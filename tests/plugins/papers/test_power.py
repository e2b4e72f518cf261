"""Chance of a claim to hold if its paper is exactly right: the truth, the spread, and the same rule as verdicts."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import nct, t

from mlsched_papers import power
from mlsched_papers.claim import Bound, Claim, Estimate, Exclusion, Measurement, estimate, exact
from mlsched_papers.power import chance_to_hold

ABOVE = Bound(low=0.0, strict=True)
NEAR = Bound(68.0, 78.0)


def piece(measured, bound=ABOVE, interpretation="Z", **more):
    return Measurement(interpretation, "what", measured, bound, **more)


def claim(*pieces, **more):
    return Claim("c", "text", "here", "tested", pieces, **more)


def of_spread(mean, deviation, count):
    """An estimate with this standard deviation over workloads."""
    return Estimate(mean, deviation * t.ppf(0.975, count - 1) / math.sqrt(count), count)


@pytest.mark.parametrize("deviations", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("count", [6, 12])
def test_the_chance_of_a_single_piece_is_that_of_the_noncentral_t(deviations, count):
    expected = nct.sf(t.ppf(0.975, count - 1), count - 1, deviations * math.sqrt(count))
    found = chance_to_hold(claim(piece(of_spread(3.0 * deviations, 3.0, count))), draws=4000)
    assert found == pytest.approx(expected, abs=0.03)
    more = nct.sf(t.ppf(0.975, 29), 29, deviations * math.sqrt(30))
    again = chance_to_hold(claim(piece(of_spread(3.0 * deviations, 3.0, count))), workloads=30, draws=4000)
    assert again == pytest.approx(more, abs=0.03)


@pytest.mark.parametrize(
    ("measured", "bound", "printed", "lower_bound", "truth"),
    [
        (10.0, NEAR, 73.0, False, 73.0),  # printed
        (10.0, NEAR, 90.0, False, 90.0),  # printed, and contradicted by its own bound
        (-4.0, ABOVE, 12.0, False, 12.0),
        (20.0, Bound(low=12.65), 12.65, True, 20.0),  # at least, and the measured mean satisfies it
        (3.0, Bound(low=12.65), 12.65, True, 12.65),
        (3.0, Bound(high=4.06), 4.06, False, 3.0),  # at most
        (5.0, Bound(high=4.06), 4.06, False, 4.06),
        (7.0, ABOVE, None, False, 7.0),  # a direction
        (-7.0, ABOVE, None, False, 7.0),
        (7.0, Bound(high=0.0), None, False, -7.0),
        (9.0, Bound(-2.0, 4.0), None, False, 1.0),
    ],
)
def test_the_truth_is_the_papers(measured, bound, printed, lower_bound, truth):
    found = piece(Estimate(measured, 1.0, 8), bound, paper=printed, lower_bound=lower_bound)
    assert power.truth(found) == truth
    assert power.deviation(found) == pytest.approx(math.sqrt(8) / t.ppf(0.975, 7))


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_simulated_data_are_judged_as_claims_are(shared):
    """Each repetition has the verdict that the same values have as measurements of a claim."""
    pieces = (
        piece(Estimate(1.0, 0.8, 8)),
        piece(Estimate(-1.5, 1.2, 8), Bound(high=0.0)),
        piece(Estimate(70.0, 4.0, 12), NEAR, "A", paper=73.0),
        piece(Estimate(6.0, 3.0, 5), ABOVE, "A", each=(5.0, 6.0, 7.0, 6.0, 6.0)),
        piece(Estimate(0.0, 0.0, 8)),  # a tie
        piece(Estimate(-9.0, 1.0, 8), ABOVE, "A", idle="no job waits"),
        piece(Estimate(-9.0, 1.0, 8), ABOVE, "excluded"),
    )
    original = claim(*pieces, excluded={"excluded": Exclusion("the paper says otherwise", "Section 1")})
    drawn = power.simulated("c", pieces[:4], None, 60, shared)
    holds = 0
    for index in range(60):
        each = [[float(value) for value in values[index]] for values in drawn]
        made = [dataclasses.replace(p, measured=estimate(v)) for p, v in zip(pieces, each, strict=False)]
        clustered = power._clustered(drawn[3][index : index + 1])[0]
        if clustered:
            made[3] = dataclasses.replace(made[3], measured=dataclasses.replace(made[3].measured, half=None))
        holds += dataclasses.replace(original, measurements=(*made, *pieces[4:])).verdict == "holds"
    assert 0 < holds < 60
    assert chance_to_hold(original, draws=60, shared=shared) == holds / 60


def test_shared_variance_is_that_of_the_pieces():
    pieces = [piece(of_spread(5.0, 2.0, 8)), piece(of_spread(5.0, 2.0, 8))]
    for shared in (0.0, 0.5, 1.0):
        one, two = power.simulated("c", pieces, 500, 40, shared)
        assert np.std(one) == pytest.approx(2.0, rel=0.02)
        assert np.corrcoef(one.ravel(), two.ravel())[0, 1] == pytest.approx(shared, abs=0.03)


def test_claims_without_a_spread_or_a_test_have_no_chance():
    good = piece(Estimate(9.0, 1.0, 8))
    assert chance_to_hold(claim(good)) == 1.0
    assert chance_to_hold(claim(good, piece(estimate([1.0, 2.0, 3.0])))) is None
    assert chance_to_hold(claim(good, piece(exact(2.0)))) is None
    assert chance_to_hold(claim(good, piece(None))) is None
    assert chance_to_hold(claim(good, origin="assumed")) is None
    assert chance_to_hold(claim(good, piece(Estimate(9.0, 1.0, 8), untrained="cut short"))) is None
    assert chance_to_hold(claim(good, piece(Estimate(9.0, 1.0, 8), Bound(low=99), reach=Bound(high=50)))) is None
    assert chance_to_hold(claim(piece(Estimate(0.0, 0.0, 8)))) is None  # only a tie
    assert chance_to_hold(claim()) is None


def test_the_chance_is_the_same_on_every_call():
    found = claim(piece(of_spread(1.0, 1.0, 6)), piece(of_spread(1.0, 1.0, 6)))
    assert chance_to_hold(found) == chance_to_hold(found)
    assert 0 < chance_to_hold(found) < 1
