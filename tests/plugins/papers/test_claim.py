"""Verdicts follow from intervals, bounds and interpretations, by every rule of the composition."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import t

import mlsched_papers as papers
from mlsched_papers.claim import Bound, Claim, Estimate, Exclusion, Ground, Measurement, estimate, exact
from mlsched_papers.statement import Piece, stated

NUMBERS = st.floats(-100, 100)
POSITIVE = Bound(low=0.0)
#: Of five workloads: well inside POSITIVE, across its end, well outside; outside alone but not as one of six pieces.
GOOD, CROSSING, BAD = Estimate(9.0, 1.0, 5), Estimate(0.5, 1.0, 5), Estimate(-9.0, 1.0, 5)
SLIGHTLY_BAD = Estimate(-1.2, 1.0, 5)
KINDS = {"good": GOOD, "crossing": CROSSING, "bad": BAD, "missing": None}


def measurements(interpretation, measured, bound=POSITIVE):
    return Measurement(interpretation, "what", measured, bound)


def claim(*pieces, **more):
    """A claim of (reading, estimate) pairs."""
    return Claim("c", "text", "here", "tested", tuple(measurements(*piece) for piece in pieces), **more)


# -- one piece --------------------------------------------------------------------------------------------------------


def test_a_bound_admits_and_excludes():
    assert Bound(1, 2).admits(1)
    assert Bound(1, 2).admits(2)
    assert not Bound(1, 2, strict=True).admits(1)
    assert not Bound(1, 2, strict=True).admits(2)
    assert not Bound(1, 2).excludes(0, 1)
    assert Bound(1, 2, strict=True).excludes(0, 1)
    assert Bound(1, 2).excludes(2.1, 3)
    assert not Bound(1, 2).excludes(0, 3)
    assert not Bound().excludes(-1e9, 1e9)
    assert Bound(3, 3).admits(3)


@example([0.0] * 5, 1.0, False)
@given(st.lists(NUMBERS, min_size=5, max_size=8), NUMBERS, st.booleans())
def test_a_verdict_is_the_whole_intervals_side_of_the_bound(values, end, strict):
    found = estimate(values)
    low, high = found.mean - found.half, found.mean + found.half
    for bound, nearest, furthest in (
        (Bound(low=end, strict=strict), low - end, high - end),
        (Bound(high=end, strict=strict), end - high, end - low),
    ):
        verdict = claim(("Z", found, bound)).verdict
        if found.tie:  # alike on every workload: neither for a difference nor against it
            assert verdict == "undecided"
        elif min(abs(nearest), abs(furthest)) > 1e-9:
            assert verdict == ("holds" if nearest > 0 else "does not hold" if furthest < 0 else "undecided")


def test_an_interval_may_lie_beyond_either_end():
    near = Bound(40.0, 60.0)
    for mean, half, side in (
        (50.0, 9.0, "inside"),
        (50.0, 11.0, "unclear"),
        (62.5, 2.0, "outside"),
        (62.5, 159.0, "unclear"),
        (30.0, 9.0, "outside"),
        (30.0, 10.0, "unclear"),
    ):
        assert measurements("Z", Estimate(mean, half, 5), near).side() == side


def test_few_workloads_decide_nothing_and_a_computed_number_decides_by_its_value():
    assert estimate([2.0]) == Estimate(2.0, None, 1)
    assert claim(("Z", estimate([-1e9]))).verdict == claim(("Z", estimate([1e9]))).verdict == "undecided"
    assert claim(("Z", estimate([1e9] * 4))).verdict == "undecided"
    assert claim(("Z", estimate([1e9] * 5))).verdict == "holds"
    assert claim(("Z", exact(0.0))).verdict == "holds"
    assert claim(("Z", exact(0.0), Bound(low=0.0, strict=True))).verdict == "does not hold"
    assert claim(("Z", exact(-1e-9))).verdict == "does not hold"
    same = estimate([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3])  # workloads that agree but for the arithmetic
    assert same.half == 0
    assert claim(("Z", same)).verdict == "holds"


def test_the_interval_is_students_and_wider_where_one_of_several_is_enough():
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.count == 5
    assert found.half == pytest.approx(2.7764451051977987 / math.sqrt(2))
    for pieces in (1, 2, 6):
        assert found.wider(pieces) == pytest.approx(t.ppf(1 - 0.05 / (2 * pieces), 4) / math.sqrt(2))
    assert exact(2.0).wider(6) == 0
    assert estimate([2.0]).wider(6) is estimate([1.0, 2.0, 3.0, 4.0]).wider(6) is None
    assert estimate([]) is None
    assert estimate([1.0, None]) is None
    with pytest.raises(ValueError, match="count"):
        Estimate(1.0, 0.5)


# -- several pieces under one interpretation
# ---------------------------------------------------------------------------------


def test_all_pieces_must_lie_inside_and_one_outside_is_enough():
    assert claim(("Z", GOOD), ("Z", GOOD)).verdict == "holds"
    assert claim(("Z", GOOD), ("Z", CROSSING)).verdict == "undecided"
    assert claim(("Z", GOOD), ("Z", BAD)).verdict == "does not hold"
    assert claim(("Z", CROSSING), ("Z", BAD)).verdict == "does not hold"


def test_the_interval_outside_is_corrected_for_the_number_of_pieces():
    assert claim(("Z", SLIGHTLY_BAD)).verdict == "does not hold"
    assert claim(("Z", SLIGHTLY_BAD), *[("Z", GOOD)] * 5).verdict == "undecided"
    assert claim(("Z", BAD), *[("Z", GOOD)] * 5).verdict == "does not hold"
    slightly_good = Estimate(1.2, 1.0, 5)
    assert claim(*[("Z", slightly_good)] * 6).verdict == "holds"  # all must, so nothing is corrected


def test_a_missing_piece_is_not_measured_unless_another_refutes():
    assert claim(("Z", GOOD), ("Z", None)).verdict == "not measured"
    assert claim(("Z", CROSSING), ("Z", None)).verdict == "not measured"
    assert claim(("Z", BAD), ("Z", None)).verdict == "does not hold"
    assert claim().verdict == "not measured"


# -- several interpretations
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interpretations", "verdict"),
    [
        (("good", "good"), "holds"),
        (("bad", "bad"), "does not hold"),
        (("crossing", "crossing"), "undecided"),
        (("good", "bad"), "depends on the interpretation"),
        (("good", "crossing", "bad"), "depends on the interpretation"),
        (("good", "crossing"), "undecided"),
        (("bad", "crossing"), "undecided"),
        (("good", "missing"), "not measured"),
        (("bad", "missing"), "not measured"),
        (("good", "bad", "missing"), "not measured"),
    ],
)
def test_readings_combine(interpretations, verdict):
    assert claim(*((str(i), KINDS[kind]) for i, kind in enumerate(interpretations))).verdict == verdict


def test_readings_that_differ_must_do_so_beyond_the_choice_among_them():
    assert claim(("A", GOOD), ("B", SLIGHTLY_BAD)).verdict == "undecided"
    found = claim(("A", GOOD), ("B", SLIGHTLY_BAD))
    assert found.by_interpretation == {"A": "holds", "B": "does not hold"}
    assert (
        claim(("A", GOOD), ("B", dataclasses.replace(SLIGHTLY_BAD, count=100))).verdict
        == "depends on the interpretation"
    )
    assert claim(*((name, GOOD) for name in "ACDEF"), ("B", Estimate(-1.2, 1.0, 100))).verdict == "undecided"


def test_an_excluded_reading_is_shown_with_its_reason_and_does_not_count():
    def without(*interpretations):
        return {
            interpretation: Exclusion("the paper says otherwise", "Section 1") for interpretation in interpretations
        }

    pieces = ("A", GOOD), ("B", BAD)
    assert claim(*pieces, excluded=without("B")).verdict == "holds"
    assert claim(*pieces, excluded=without("A")).verdict == "does not hold"
    assert claim(*pieces, excluded=without("A", "B")).verdict == "not measured"
    assert claim(("A", GOOD), ("B", None), excluded=without("B")).verdict == "holds"
    found = claim(*pieces, excluded=without("B", "C"))
    assert found.by_interpretation == {"A": "holds", "B": "does not hold"}
    assert "not counted: the paper says otherwise: Section 1" in found.told("B")
    assert found.to_json()["excluded"] == {"B": "the paper says otherwise: Section 1"}
    assert "-9" not in found.summary()


@given(st.lists(st.tuples(st.sampled_from("ZA"), st.sampled_from([*KINDS])), max_size=6))
def test_verdicts_combine_evidence_and_readings(pieces):
    found = claim(*((interpretation, KINDS[kind]) for interpretation, kind in pieces))
    each = {r: {kind for interpretation, kind in pieces if interpretation == r} for r, _ in pieces}
    verdicts = {
        r: "does not hold"
        if "bad" in kinds
        else "not measured"
        if "missing" in kinds
        else "holds"
        if kinds == {"good"}
        else "undecided"
        for r, kinds in each.items()
    }
    assert found.by_interpretation == verdicts
    among = set(verdicts.values())
    if not among or "not measured" in among:
        assert found.verdict == "not measured"
    elif len(among) == 1:
        assert {found.verdict} == among
    else:
        assert found.verdict == ("undecided" if "undecided" in among else "depends on the interpretation")


# -- what any scheduler could reach -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "reach", "beyond"),
    [
        (Bound(low=110.0), Bound(high=96.4), True),
        (Bound(low=90.0), Bound(high=96.4), False),
        (Bound(low=96.4), Bound(high=96.4), False),
        (Bound(low=96.4, strict=True), Bound(high=96.4), True),
        (Bound(105.0, 115.0), Bound(0.0, 96.4), True),
        (Bound(high=3.0), Bound(low=4.0), True),
        (Bound(high=3.0), Bound(high=4.0), False),
        (Bound(low=110.0), Bound(), False),
    ],
)
def test_a_bound_beyond_reach_is_excluded_by_the_simulator(bound, reach, beyond):
    piece = Measurement("Z", "what", None, bound, reach=reach)
    assert piece.beyond_reach == beyond
    assert Claim("c", "text", "here", "tested", (piece,)).verdict == (
        "excluded by the simulator" if beyond else "not measured"
    )


def test_a_measurement_beyond_reach_refutes_nothing_and_another_does():
    low = Measurement("A", "deadlines", Estimate(80.0, 1.0, 5), Bound(low=110.0), "%", reach=Bound(high=96.4))

    def verdict(*pieces):
        return Claim("c", "text", "here", "tested", pieces).verdict

    assert verdict(dataclasses.replace(low, reach=None)) == "does not hold"
    assert verdict(low) == "excluded by the simulator"
    assert verdict(low, measurements("A", GOOD)) == "excluded by the simulator"
    assert verdict(low, measurements("A", None)) == "excluded by the simulator"
    assert verdict(low, measurements("A", BAD)) == "does not hold"
    assert verdict(low, measurements("B", GOOD)) == verdict(low, measurements("B", BAD)) == "excluded by the simulator"
    assert verdict(dataclasses.replace(low, idle="no job waits"), measurements("A", GOOD)) == "holds"
    found = Claim("c", "text", "here", "tested", (low, measurements("A", GOOD)))
    assert "excluded by the simulator: any scheduler has at most 96.4" in found.told("A")
    assert found.to_json()["measurements"][0]["reach"] == {"low": None, "high": 96.4, "strict": False}
    assert "reach" not in found.to_json()["measurements"][1]


def test_a_reach_that_the_measurement_exceeds_is_refused():
    assert Piece("Z", "what", [96.4, 96.4], POSITIVE, reach=Bound(high=96.4)).measurements().reach == Bound(high=96.4)
    with pytest.raises(ValueError, match=r"measured 97, expected a mean within its reach: at most 96.4"):
        Piece("Z", "what", [97.0, 97.0], POSITIVE, reach=Bound(high=96.4)).measurements()


# -- where a claim's input comes from, and what is printed ------------------------------------------------------------


@pytest.mark.parametrize("origin", ["assumed", "fitted"])
def test_a_claim_whose_input_was_made_from_it_is_called_so(origin):
    for measured in (GOOD, BAD, None):

        @stated("c", text="text", where="here", tested="tested", origin=origin)
        def made(value):
            return [Piece("Z", "what", value, POSITIVE)]

        assert made.judge(measured).verdict == origin
    assert "what: -9.00 ± 1.00" in made.judge(BAD).told("Z")


def test_a_statement_hands_on_what_is_excluded():
    @stated("c", text="text", where="here", tested="tested")
    def two(m):
        return [Piece("A", "what", [1.0] * 5, POSITIVE), Piece("B", "what", [-1.0] * 5, POSITIVE)]

    assert two.judge(None).verdict == "depends on the interpretation"
    assert two.judge(None, excluded={"B": Exclusion("the paper says otherwise", "Section 1")}).verdict == "holds"


def test_evidence_in_words():
    crossing = Measurement("Z", "what", Estimate(1.0, 2.0, 5), POSITIVE, "%", 3.0)
    assert crossing.sentence == "what: 1.00 ± 2.00 % (needed: at least 0; paper: 3.00)"
    assert crossing.remark(1) == " [the interval crosses the bound]"
    assert measurements("Z", GOOD).remark(6) == ""
    assert measurements("Z", BAD).remark(6) == " [outside]"
    assert measurements("Z", estimate([1.0])).remark(1) == " [fewer than 5 workloads: no interval]"
    assert measurements("Z", SLIGHTLY_BAD).remark(6) == " [outside, but not by ± 1.75, corrected for 6 pieces]"
    assert measurements("Z", exact(2.0)).sentence == "what: 2.00 (needed: at least 0)"
    assert measurements("Z", None).sentence == "what: not measured"


def test_a_printed_lower_bound_is_shown_as_one():
    found = Piece("Z", "cut", [20.0] * 5, Bound(low=12.65), "%", 12.65, lower_bound=True).measurements()
    assert found.sentence == "cut: 20.0 ± 0 % (needed: at least 12.65; paper: at least 12.65)"
    more = dataclasses.replace(found, bound=Bound(low=25.0, strict=True), paper=25.0)
    assert more.sentence == "cut: 20.0 ± 0 % (needed: above 25; paper: more than 25)"


def test_a_reading_is_told_by_its_range_and_what_refutes_it():
    found = claim(("Z", GOOD), ("Z", CROSSING), ("Z", Estimate(-20.0, 1.0, 5)), ("Z", BAD))
    ends = "-20.0 ± 1.00 (what) to 9.00 ± 1.00 (what), needed: at least 0"
    assert found.told("Z") == f"Z (does not hold): {ends}; refuted by what: -20.0 ± 1.00 (needed: at least 0)"
    assert found.told("Z", judged=False) == f"Z: {ends}"


@given(st.lists(st.tuples(st.sampled_from("ZA"), st.sampled_from([*KINDS])), min_size=1, max_size=6))
def test_a_row_shows_the_lowest_and_the_highest_piece_of_all_readings(pieces):
    found = claim(*((interpretation, KINDS[kind]) for interpretation, kind in pieces))
    means = [KINDS[kind].mean for _, kind in pieces if kind != "missing"]
    row = found.summary()
    assert ("not measured" in row.partition(";")[0]) == (not means)
    for end in (min(means), max(means)) if means else ():
        assert f"{end:.2f} ± " in row or f"{end:.3f} ± " in row


# -- what says nothing ------------------------------------------------------------------------------------------------

TIE = estimate([0.0] * 5)


def test_a_tie_neither_refutes_nor_confirms_a_difference():
    for bound in (Bound(low=0.0, strict=True), Bound(high=0.0), Bound(low=22.0), Bound(high=4.06), Bound(40.0, 50.0)):
        assert claim(("Z", TIE, bound)).verdict == "undecided"
        assert claim(("Z", TIE, bound), ("Z", GOOD)).verdict == "holds"
        assert claim(("Z", TIE, bound), ("Z", BAD)).verdict == "does not hold"
    assert claim(("Z", TIE, Bound(-2.0, 2.0))).verdict == "holds", "where the claim is that they are alike"
    assert claim(("Z", exact(0.0), Bound(low=1.0))).verdict == "does not hold", "a computed number is no tie"
    assert "a tie on every workload says nothing" in measurements("Z", TIE, Bound(low=1.0)).remark(1)


@given(st.lists(st.tuples(st.sampled_from("ZA"), st.sampled_from([*KINDS])), max_size=6), st.sampled_from("ZA"))
def test_what_says_nothing_changes_no_firm_verdict_to_another(pieces, interpretation):
    """One piece more makes intervals wider at most."""
    plain = claim(*((r, KINDS[kind]) for r, kind in pieces))
    if interpretation not in plain.interpretations:
        return
    silent = (
        measurements(interpretation, TIE, Bound(low=1.0)),
        dataclasses.replace(measurements(interpretation, BAD), idle="nobody waits"),
    )
    for piece in silent:
        assert dataclasses.replace(plain, measurements=(*plain.measurements, piece)).verdict in (
            plain.verdict,
            "undecided",
        )


@given(st.floats(-1e6, 1e6), st.floats(0, 10), st.integers(2, 50))
def test_repetitions_of_one_trace_are_no_workloads(mean, half, count):
    repeated = dataclasses.replace(measurements("Z", Estimate(mean, half, count)), repeats="one trace")
    found = Claim("c", "text", "here", "tested", (repeated, measurements("Z", GOOD)))
    assert found.verdict == "not measured"
    assert "no workloads: one trace" in repeated.remark(1)


@pytest.mark.parametrize("workloads", [5, 8])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_at_most_five_in_a_hundred_verdicts_are_firm_where_nothing_is_to_be_found(workloads, share):
    """Also where workloads tie: a share of them shows no difference, the others one that is level on average."""
    rng, firm, draws = np.random.default_rng([workloads, int(10 * share)]), 0, 1000
    for _ in range(draws):
        values = rng.normal(size=workloads) * (rng.random(workloads) >= share)
        found = claim(("Z", estimate(values), Bound(low=0.0, strict=True)))
        firm += found.verdict in ("holds", "does not hold")
    assert firm / draws <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / draws)


@pytest.mark.parametrize("workloads", [5, 8, 30])
def test_intervals_hold_the_true_mean_as_often_as_they_say(workloads):
    rng, draws = np.random.default_rng(workloads), 2000
    held = sum(abs(e.mean) <= e.half for e in map(estimate, rng.normal(size=(draws, workloads))))
    assert 0.93 <= held / draws <= 0.97


# -- which interpretations count
# ---------------------------------------------------------------------------------------------


def test_no_reading_is_excluded_but_by_the_rule():
    """All exclusions of all papers: each on one of the rule's grounds, with the place in the paper that gives it."""
    from mlsched_papers.harmony.grid import NOT_PRINTED
    from mlsched_papers.slaq.grid import DEPARTURES, FULL, LEFT_OPEN, QUICK

    excluded = [NOT_PRINTED, *(interpretation.excluded for grid in (FULL, QUICK) for interpretation in grid.departures)]
    assert {interpretation.name for interpretation in FULL.departures} == {
        interpretation.name for interpretation in DEPARTURES
    }
    for reason in excluded:
        assert reason is not None
        assert reason.ground in get_args(Ground)
        assert re.search(r"Section|Algorithm", reason.because), reason
    counted = (*FULL.interpretations, *FULL.variants, *FULL.sweeps, *LEFT_OPEN)
    assert all(interpretation.excluded is None for interpretation in counted)


@pytest.mark.parametrize("path", sorted(Path(papers.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_only_these_places_exclude_a_reading(path):
    """A new exclusion elsewhere must be added to the test above."""
    if "Exclusion(" in path.read_text(encoding="utf-8"):
        assert path.relative_to(Path(papers.__file__).parent).as_posix() in {
            "harmony/grid.py",
            "slaq/grid.py",
            "recorded.py",  # reads what they have recorded
        }


def test_json_has_verdicts_only_if_judged():
    found = claim(("A", GOOD), ("A", SLIGHTLY_BAD), ("B", None))
    data = found.to_json()
    assert (data["verdict"], data["by_interpretation"]) == ("not measured", {"A": "undecided", "B": "not measured"})
    assert [piece["side"] for piece in data["measurements"]] == ["inside", "unclear", None]
    assert data["measurements"][0]["measured"] == {"mean": 9.0, "half": 1.0, "count": 5}
    quick = found.to_json(judged=False)
    assert not {"verdict", "by_interpretation"} & quick.keys()
    assert not any("side" in piece for piece in quick["measurements"])


# -- policies that are not trained ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "verdict"),
    [((), "not trained"), (("good",), "not trained"), (("missing",), "not trained"), (("bad",), "does not hold")],
)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_nothing_firm_follows_from_a_policy_that_is_not_trained(kind, others, verdict):
    untrained = dataclasses.replace(measurements("Z", KINDS[kind]), untrained="seed 0 has not met the criterion")
    found = Claim("c", "text", "here", "tested", (untrained, *(measurements("Z", KINDS[one]) for one in others)))
    assert found.verdict == verdict
    assert "[not trained: seed 0 has not met the criterion]" in found.told("Z") or others == ("bad",)


def test_one_reading_without_a_trained_policy_leaves_the_claim_not_trained():
    untrained = dataclasses.replace(measurements("A", BAD), untrained="no")
    found = Claim("c", "text", "here", "tested", (untrained, measurements("B", GOOD)))
    assert found.by_interpretation == {"A": "not trained", "B": "holds"}
    assert found.verdict == "not trained"
