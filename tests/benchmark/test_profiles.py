"""Performance profiles and times to gaps, against numbers computed by hand."""

from __future__ import annotations

import math

import pytest
from benchmark_examples import row, rule

from mlsched.benchmark.figures import profile_charts, time_to_gap_charts
from mlsched.benchmark.profiles import time_profiles, value_profiles, value_ratio
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.time_to_gap import GAPS, panels
from mlsched.core.contract import Primary


def proof(name, number, seconds, **changes):
    return row(solver=name, instance_hash=f"h{number}", cpu_seconds=seconds, **changes)


NO_PROOF = {"status": "feasible", "sort_bound": 8, "gap": 0.2, "stopped_by": "work limit"}
NOTHING = {"sort_key": None, "sort_keys": None, "sort_bound": None, "gap": None}


def test_ratios_of_time_by_hand():
    rows = [
        proof("a", 0, 1.0),
        proof("b", 0, 4.0),
        proof("a", 1, 6.0),
        proof("b", 1, 2.0),
        # Only b proves h2; neither proves h3; both prove that h4 has no plan.
        proof("a", 2, 0.5, **NO_PROOF),
        proof("b", 2, 3.0),
        proof("a", 3, 9.0, **NO_PROOF),
        proof("b", 3, None, status="skipped", **NOTHING),
        proof("a", 4, 2e-5, status="infeasible", **NOTHING),
        proof("b", 4, 0.002, status="infeasible", **NOTHING),
    ]
    (profile,) = time_profiles(with_gaps(rows))
    assert (profile.questions, profile.left_out) == (5, 1)
    # a: h0 1, h1 3, h4 1 (less than a millisecond counts as one); b: h0 4, h1 1, h2 1, h4 2.
    assert profile.ratios == {"a": [1, 1, pytest.approx(3)], "b": [1, 1, 2, 4]}


def test_a_wrong_proof_is_no_fast_solve():
    rows = [proof("a", 0, 1.0), proof("b", 0, 0.1, sort_key=11)]
    (profile,) = time_profiles(with_gaps(rows))
    assert (profile.left_out, profile.ratios) == (1, {"a": [], "b": []})


def test_restricted_models_and_rules_are_in_no_profile_of_proofs():
    rows = [proof(name, 0, 1.0, problem="taskgraph") for name in ("cp-sat", "highs")]
    rows.append(proof("moulded", 0, 0.1, problem="taskgraph", **{**NO_PROOF, "sort_bound": None}))
    rows.append(rule(12, problem="taskgraph", cpu_seconds=0.001))
    (profile,) = time_profiles(with_gaps(rows))
    assert set(profile.ratios) == {"cp-sat", "highs"}
    (values,) = value_profiles(with_gaps(rows))
    assert values.ratios == {"moulded": [1], "rule": [1.2]}


def test_lines_of_a_panel_are_over_the_same_questions():
    rows = [proof("a", 0, 1.0), proof("b", 0, 1.0), proof("a", 1, 1.0), proof("b", 1, 1.0), proof("c", 1, 1.0)]
    rows[2:] = [proof(r.solver, 1, 1.0, preset="large") for r in rows[2:]]
    assert [(p.title, set(p.ratios), p.questions) for p in time_profiles(with_gaps(rows))] == [
        ("cost (small)", {"a", "b"}, 1),
        ("cost (large)", {"a", "b", "c"}, 1),
    ]


def test_a_published_optimum_was_not_called():
    known = row(solver="published", seconds=None, cpu_seconds=None)
    rows = with_gaps([known, proof("a", 0, 1.0), proof("b", 0, 2.0), rule(12, cpu_seconds=0.1)])
    (profile,) = time_profiles(rows)
    assert profile.ratios == {"a": [1], "b": [2]}
    assert [set(panel.courses) for panel in panels(rows)] == [{"a", "b", "rule"}] * 3
    assert [set(found.ratios) for found in value_profiles(rows)] == [{"rule"}]


def test_profiles_of_values_keep_what_has_no_plan_in_the_whole():
    rows = [row(), rule(15), row(instance_hash="h1"), rule(None, instance_hash="h1", status="unknown", sort_keys=None)]
    rows += [row(instance_hash="h2", status="infeasible", **NOTHING)]
    rows += [rule(None, instance_hash="h2", status="unknown", sort_keys=None)]
    (profile,) = value_profiles(with_gaps(rows))
    assert (profile.questions, profile.left_out, profile.ratios) == (3, 1, {"rule": [1.5]})


@pytest.mark.parametrize(
    ("value", "best", "details", "expected"),
    [
        (15, 10, {}, 1.5),
        (10, 10, {}, 1),
        (5, 10, {"sense": "max"}, 2),
        (0, 10, {"sense": "max"}, math.inf),
        (0, 0, {}, 1),
        (3, 0, {}, math.inf),
        (1010, 10, {"primary": Primary("deferred", 1000)}, math.inf),
        (2015, 2010, {"primary": Primary("deferred", 1000)}, 1.5),
    ],
)
def test_ratios_of_values(value, best, details, expected):
    assert value_ratio(rule(value, **details), best) == pytest.approx(expected)


def test_times_to_gaps_by_hand():
    rows = []
    for number, (value, seconds) in enumerate([(100, 0.5), (101, 0.25), (109, 2e-5), (150, 0.1)]):
        rows += [
            proof("exact", number, 1.0 + number, sort_key=100),
            proof("cut", number, 4.0, **NO_PROOF | {"sort_key": 105}),
        ]
        rows.append(rule(value, instance_hash=f"h{number}", cpu_seconds=seconds))
    # No optimum is known of h9: no gap can be asked for.
    rows += [proof("exact", 9, 9.0, **NO_PROOF), proof("cut", 9, 9.0, **NO_PROOF), rule(9, instance_hash="h9")]
    found = {panel.gap: panel for panel in panels(with_gaps(rows))}
    assert tuple(found) == GAPS
    assert {panel.questions for panel in found.values()} == {4}
    assert [found[gap].courses["rule"].within for gap in GAPS] == [[0.5], [0.25, 0.5], [0.001, 0.25, 0.5]]
    assert found[0].courses["exact"].within == [1, 2, 3, 4]
    assert [found[gap].courses["cut"].censored for gap in GAPS] == [[4] * 4, [4] * 4, []]
    assert found[0.1].courses["cut"].within == [4] * 4


def test_what_is_decided_by_rank_is_within_no_gap():
    rank = Primary("deferred", 1000)
    rows = [row(primary=rank, cpu_seconds=1.0), rule(1010, primary=rank, cpu_seconds=1.0)]
    assert [panel.courses["rule"].within for panel in panels(with_gaps(rows))] == [[], [], []]


def test_charts_show_the_steps():
    rows = with_gaps([proof("a", 0, 1.0), proof("b", 0, 2.0), proof("a", 1, 2.0), proof("b", 1, 1.0)])
    (svg,) = profile_charts(time_profiles(rows), {"a": 0, "b": 8})
    # 68 to 348 pixels are ratios of 1 to 2.04; 226 to 30 are shares of 0 to 1.02.
    assert 'd="M68 226L68 226L68 129.9L337.2 129.9L337.2 33.8L348 33.8"' in svg
    assert "cost, n = 2" in svg
    assert 'stroke="var(--line-1)" stroke-width="1.6" stroke-dasharray="7 3"' in svg
    cut = with_gaps([proof("a", 0, 1.0), proof("b", 0, 4.0, **NO_PROOF | {"sort_key": 12})])
    optimal, *_ = time_to_gap_charts(panels(cut), {"a": 0, "b": 1})
    assert "cost: optimal, n = 1" in optimal
    assert optimal.count("v10") == 1
