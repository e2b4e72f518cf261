"""References, contradictions, and the tables: against numbers computed by hand."""

from __future__ import annotations

import io
import json

import pytest
from benchmark_examples import row, rule, suite
from rich.console import Console

from mlsched.benchmark.formats import duration, percent
from mlsched.benchmark.reference import disagreements, failures, references, with_gaps
from mlsched.benchmark.render import break_name, gap_table
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.table import gap_lines, hardness_lines, summary_json, verification_of, version_sets
from mlsched.core.contract import Primary


def shown(rows):
    console = Console(width=80, record=True, file=io.StringIO())
    for table in gap_table(rows):
        console.print(table)
    return console.export_text()


def test_the_gap_table_by_hand():
    rows = []
    for i, (optimum, value) in enumerate([(10, 10), (10, 20), (3, 4), (0, 0), (0, 5)]):
        rows += [row(instance_hash=f"h{i}", seed=i, sort_key=optimum), rule(value, instance_hash=f"h{i}", seed=i)]
    rows.append(rule(None, instance_hash="h9", seed=9, sort_keys=None, status="failed", error="broke"))
    exact, heuristic = gap_lines(with_gaps(rows))
    assert (exact.instances, exact.gaps.optimal, exact.proven, exact.seconds) == (5, 1, 1, 0.5)
    assert (heuristic.instances, heuristic.gaps.count, heuristic.failures, heuristic.skipped) == (6, 5, 1, 0)
    assert heuristic.proven is None
    gaps = heuristic.gaps
    assert gaps.optimal == 0.4
    # Shares of 10, 10 and 3; an optimum of 0 has none, and its 0 and 5 seconds are averaged apart.
    assert gaps.relative == 3
    assert gaps.mean == pytest.approx((0 + 1 + 1 / 3) / 3)
    assert (gaps.median, gaps.largest) == (pytest.approx(1 / 3), 1)
    assert (gaps.absolute, gaps.mean_difference, gaps.unit, gaps.behind) == (2, 2.5, "s", 0)


def test_a_rank_is_compared_first():
    deferred = Primary("deferred jobs", 1000)
    rows = []
    for i, (optimum, value) in enumerate([(2010, 2015), (40, 2020), (3000, 3007)]):
        here = {"instance_hash": f"h{i}", "seed": i, "primary": deferred}
        rows += [row(sort_key=optimum, **here), rule(value, **here)]
    gaps = gap_lines(with_gaps(rows))[1].gaps
    # 10 against 15 behind two deferred jobs; two more deferred jobs; 0 against 7 behind three.
    assert (gaps.count, gaps.relative, gaps.mean, gaps.largest) == (3, 1, 0.5, 0.5)
    assert (gaps.behind, gaps.mean_behind, gaps.primary) == (1, 2, "deferred jobs")
    assert (gaps.absolute, gaps.mean_difference) == (1, 7)
    text = shown(with_gaps(rows))
    assert "50.0 %" in text
    assert "1: +2" in text
    assert "1: +7" in text
    assert "there are more deferred jobs than in the optimum" in " ".join(text.split())


def test_without_a_proof_there_is_no_gap():
    rows = with_gaps([row(status="feasible", sort_bound=8, stopped_by="time limit"), rule(12)])
    assert [r.gap_to_optimum for r in rows] == [None, None]
    exact, heuristic = gap_lines(rows)
    assert (exact.gaps.optimal, exact.proven, exact.wall_limited) == (None, 0, 1)
    assert heuristic.gaps.mean is None
    assert verification_of(rows).optima == 0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (row(solver="highs", sort_key=11), "cp-sat proves 10 optimal, but highs proves 11"),
        (rule(9), "cp-sat proves 10 optimal, but the plan of rule has 9"),
        (row(solver="highs", objective="other", sort_keys={"cost": 9, "other": 1}, sort_key=1), "plan of highs has 9"),
        (
            row(solver="highs", status="infeasible", sort_key=None, sort_bound=None),
            "highs calls the instance infeasible",
        ),
        (row(solver="highs", status="unknown", sort_key=None, sort_bound=11), "highs claims the bound 11"),
        (row(solver="lp", sort_key=10.1), "lp proves 10.1"),
    ],
)
def test_contradictions(other, said):
    found = disagreements([row(), other])
    assert len(found) == 1
    assert said in found[0]
    assert found[0].startswith("p small, seed 0, cost: ")
    assert failures([row(), other]) == found
    assert all(r.gap_to_optimum is None for r in with_gaps([row(), other]) if r.objective == "cost")
    assert verification_of([row(), other]).disagreements == 1


def test_contradictions_when_more_is_better():
    best = row(sense="max")
    assert "plan of rule has 11" in disagreements([best, rule(11, sense="max")])[0]
    assert (
        "h claims the bound 9"
        in disagreements([best, row(sense="max", solver="h", status="feasible", sort_bound=9)])[0]
    )
    assert disagreements([best, rule(9, sense="max")]) == []


def test_an_lp_agrees_up_to_its_tolerance():
    rows = with_gaps([row(), row(solver="lp", sort_key=10 + 1e-8, sort_bound=10 - 1e-8)])
    assert failures(rows) == []
    assert [r.gap_to_optimum.share for r in rows] == [0, 0]


def test_infeasible_with_a_plan_and_no_proof():
    rows = [row(status="infeasible", sort_key=None, sort_keys=None, sort_bound=None), rule(12)]
    assert disagreements(rows) == ["p small, seed 0, cost: cp-sat calls the instance infeasible, but rule has a plan"]


def test_confirmation_needs_two_methods_not_two_settings():
    same = [row(), row(solver="cp-sat:decompose=False", params={"decompose": False})]
    assert references(same)["h0", "cost"].engines == ("cp-sat",)
    assert (verification_of(same).optima, verification_of(same).confirmed) == (1, 0)
    assert verification_of([*same, row(solver="highs")]).confirmed == 1
    assert verification_of([*same, row(solver="mine:answer")]).confirmed == 1
    assert verification_of([*same, row(solver="mine:answer", proof_engine="cp-sat")]).confirmed == 0


def test_a_failed_call_is_one_sentence():
    bad = {"status": "failed", "sort_keys": None, "error": "rule raised ValueError: no"}
    rows = [rule(None, objective=name, **bad) for name in ("cost", "other")]
    assert failures(rows) == ["p small, seed 0: rule: rule raised ValueError: no"]


def test_a_rule_s_plan_counts_once():
    values = {"cost": 12, "other": 3}
    rows = [
        rule(12, sort_keys=values),
        rule(3, objective="other", sort_keys=values),
        row(sort_keys={"cost": 10, "other": 5}),
    ]
    assert verification_of(rows).plans == 2


def test_hardness_counts_one_plan_an_instance_of_the_first_objective():
    rows = [
        row(cases={"tight": True}),
        row(solver="highs", cases={"tight": True}),
        row(objective="other", cases={"tight": False}),
        row(instance_hash="h1", cases={"tight": False}),
        row(solver="brute-force", cases={"tight": True}, binding={"memory": True}),
    ]
    assert [(x.what, x.binding, x.count, x.of) for x in hardness_lines(rows)] == [
        ("tight", False, 1, 2),
        ("memory", True, 1, 1),
    ]


def test_versions_of_several_runs_are_all_told():
    assert version_sets([row(), row(versions={"mlsched": "2"})]) == {"mlsched": ["1", "2"]}


def test_the_summary_is_json_and_complete():
    rows = run_suite(suite("brute-force", "highs", "fitgpp", seeds=[0, 1]))
    data = json.loads(json.dumps(summary_json(rows), allow_nan=False))
    assert data["rows"] == 18
    assert data["failures"] == []
    assert data["verified"]["confirmed"] == 6
    assert {g["solver"] for g in data["gaps"]} == {"brute-force", "highs", "fitgpp"}
    assert {h["what"] for h in data["hardness"] if h["binding"]} >= {"preemption limit", "capacity of gpu"}


def test_empty():
    assert gap_table([]) == []
    assert summary_json([])["failures"] == []


def test_the_terminal_table_fits_80_columns_and_shows_trouble():
    rows = with_gaps(
        [
            row(),
            rule(20),
            rule(None, solver="[bold]odd", sort_keys=None, status="failed", error="x"),
            row(
                solver="brute-force",
                status="skipped",
                sort_key=None,
                sort_keys=None,
                sort_bound=None,
                error="too large",
            ),
        ]
    )
    text = shown(rows)
    assert "p: cost [s]" in text
    assert "100.0 %" in text
    assert "optimum 0" not in text.lower()
    assert "[bold]odd" in text
    assert "brute-force" in text
    assert "fail  skip" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, "–"),
        (0, "0 %"),
        (1, "100 %"),
        (0.5, "50.0 %"),
        (1e-9, "0.01 %"),
        (0.99999, "99.99 %"),
        (0.0005, "0.05 %"),
    ],
)
def test_percent(share, shown):
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "–"), (3.4e-4, "340 µs"), (0.012, "12.0 ms"), (0.9996, "1.00 s"), (3.4, "3.40 s"), (1234.5, "1234 s")],
)
def test_duration(seconds, shown):
    assert duration(seconds) == shown


def test_a_table_says_where_one_engine_stands_alone():
    alone, both = shown(with_gaps([row()])), shown(with_gaps([row(), row(solver="highs")]))
    assert "100 % *" in alone
    assert "rest on one engine's word" in alone
    assert "*" not in both


def test_what_a_proof_rests_on():
    def evidences(*rows):
        return [r.evidence for r in with_gaps(rows)]

    one, other = row(evidence="unconfirmed"), row(solver="highs", evidence="unconfirmed")
    assert evidences(one) == ["unconfirmed"]
    assert evidences(one, other) == ["confirmed", "confirmed"]
    assert evidences(other, row(solver="highs", params={"engine": "ortools-highs"})) == ["unconfirmed", "unconfirmed"]
    assert evidences(row(evidence="confirmed", confirmed_by="dp")) == ["confirmed"]
    assert evidences(row(evidence="certified"), other) == ["certified", "certified"]
    assert evidences(one, row(solver="highs", sort_key=9, sort_bound=9)) == ["unconfirmed", "unconfirmed"]
    assert evidences(rule(12), row(status="feasible", sort_bound=8)) == [None, None]
    nowhere = {"status": "infeasible", "sort_key": None, "sort_keys": None, "sort_bound": None}
    assert evidences(row(**nowhere)) == ["unconfirmed"]
    assert evidences(row(**nowhere), row(solver="highs", **nowhere)) == ["confirmed", "confirmed"]
    found = verification_of(
        with_gaps(
            [
                one,
                row(instance_hash="h1", evidence="confirmed"),
                row(instance_hash="h2"),
                row(instance_hash="h2", solver="highs"),
            ]
        )
    )
    assert found.backed == "2 confirmed by two or more engines, 1 unconfirmed"
    certified = verification_of(with_gaps([row(evidence="certified")]))
    assert certified.backed == "1 certified, 0 confirmed by two or more engines, 0 unconfirmed"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("fitgpp", ["fitgpp"]),
        ("my_rules:shortest_notice", ["my_rules:", "shortest_notice"]),
        ("optimus:stop=misfit,amount=share", ["optimus:stop=misfit,", "amount=share"]),
        ("my_rules:f", ["my_rules:f"]),
    ],
)
def test_long_names_break_between_their_parts(name: str, lines: list[str]) -> None:
    assert break_name(name).splitlines() == lines
