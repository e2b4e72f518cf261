"""Reports: the paper's numbers beside the measured ones, the rule of verdicts, and none of a quick run."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest
from rich.console import Console

from mlsched.core.errors import InvalidInput
from mlsched_papers import EXPERIMENTS, reproduce
from mlsched_papers.claim import Bound, Claim, Estimate, Measurement, estimate, exact
from mlsched_papers.recorded import recorded
from mlsched_papers.rendering import render
from mlsched_papers.report import NO_VERDICTS, RULE, Number, Report, Table
from mlsched_papers.scoreboard import Outcome, Paper

ROW = (Number(Estimate(30.0, 2.0, 5), 25.0, lower_bound=True), Number(Estimate(11.0, 1.0, 5), 10.0), Number(exact(3.0)))
CLAIMS = tuple(
    Claim(name, f"it is {name}", "Section 1", "at least 0", (Measurement("A", "x", measured, Bound(low=0.0), "s"),))
    for name, measured in (("large", Estimate(9.0, 1.0, 5)), ("small", Estimate(-9.0, 1.0, 5)))
)
REPORT = Report("title", ("How.",), (Table("Table 1", "cuts", ("policy", "a", "b", "c"), (("p", ROW),)),), (), CLAIMS)
QUICK = dataclasses.replace(REPORT, quick=True)


PAPER = Paper("Sched (Venue 2020)", "which job runs", "small", "Jobs wait.", "Nodes are free.")


def lines(report, width=160, **options):
    console = Console(width=width, file=io.StringIO())
    for item in render(report, **options):
        console.print(item, highlight=False)
    return console.file.getvalue()


def printed(report):
    return " ".join(lines(report, verbose=True).split())


FORMS = {"terminal": printed, "json": lambda report: json.dumps(report.to_json()), "html": Report.to_html}


def test_a_deviation_is_relative_to_the_papers():
    assert Number(Estimate(11.0, 1.0, 5), 10.0).deviation == pytest.approx(0.1)
    assert Number(None, 10.0).deviation is None
    assert Number(Estimate(11.0, 1.0, 5)).deviation is None


def test_nothing_deviates_from_a_printed_lower_bound():
    assert ROW[0].deviation is None
    assert ROW[0].to_json() == {"measured": 30.0, "ci95": 2.0, "paper": 25.0, "deviation": None, "lower_bound": True}
    assert REPORT.tables[0].lines() == [
        ["p", "measured", "30.0", "11.0", "3.00"],
        ["", "± 95 %", "2.00", "1.00", "–"],
        ["", "paper", "≥ 25", "10.0", "–"],
        ["", "deviation", "–", "+10.0 %", "–"],
    ]
    assert "<td>≥ 25</td>" in REPORT.to_html()


@pytest.mark.parametrize("form", FORMS)
def test_a_report_says_its_rule_once_and_each_claims_interval(form):
    text = FORMS[form](REPORT)
    assert text.count(RULE) == 1
    assert NO_VERDICTS not in text
    assert "does not hold" in text.replace(RULE, "")
    assert REPORT.verdicts() == {"large": "holds", "small": "does not hold"}
    if form != "json":
        assert "x: -9.00 ± 1.00 s (needed: at least 0) [outside]" in text


@pytest.mark.parametrize("form", FORMS)
def test_a_quick_report_has_intervals_and_no_verdicts(form):
    text = FORMS[form](QUICK)
    assert text.count(NO_VERDICTS) == 1
    for word in ("holds", "does not hold", "verdict", "outside"):
        assert word not in text.replace(NO_VERDICTS, "").replace(RULE, "")
    assert ("-9.00 ± 1.00 s" if form != "json" else '"half": 1.0') in text
    assert QUICK.verdicts() == {}


@pytest.mark.parametrize("form", FORMS)
def test_a_quick_report_shows_the_recorded_verdicts_of_the_full_experiment(form):
    text = FORMS[form](
        dataclasses.replace(QUICK, recorded={"small": Outcome("does not hold", 0.5), "gone": Outcome("holds")})
    )
    assert "2 claims; verdicts recorded of the full experiment: 1 does not hold (docs/results)" in text
    assert text.replace(NO_VERDICTS, "").count("does not hold") == 3  # on top, and twice about its claim
    assert FORMS[form](dataclasses.replace(REPORT, recorded={"small": Outcome("not trained")})) == FORMS[form](REPORT)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_claim_of_an_experiment_has_a_recorded_verdict(name):
    statements = {statement.name for statement in EXPERIMENTS[name].statements}
    assert statements <= set(recorded()[name]), "record it anew: see tools/results.py"


def test_a_table_of_many_columns_fits_a_terminal_with_whole_words():
    header = ("policy", *(f"requirement {k} met [%]" for k in range(13)))
    numbers = tuple(Number(Estimate(-0.0121 * k, 0.00176, 8), 0.01 * k) for k in range(13))
    table = Table("Table 1", "many", header, (("min-max grace period (ours)", numbers),))
    report = dataclasses.replace(REPORT, tables=(table,))
    for width in (80, 120):
        text = lines(report, width, verbose=True)
        assert "…" not in text
        assert all(len(line) <= width for line in text.splitlines())
        assert all(word in text for word in ("min-max", "deviation", "requirement", "12"))
    assert lines(report, 80, verbose=True).count("min-max") > text.count("min-max")  # in fewer parts


def test_a_summary_counts_the_verdicts_and_stands_on_top():
    assert REPORT.summary == "2 claims, 1 holds, 1 does not hold"
    assert REPORT.to_json()["summary"] == REPORT.summary
    shown = [str(part) for part in render(REPORT)]
    assert shown[1] == REPORT.summary
    assert QUICK.summary == "2 claims"
    assert "docs/results" in NO_VERDICTS


def test_the_papers_paragraph_comes_first_and_then_a_line_per_claim():
    text = lines(dataclasses.replace(REPORT, paper=PAPER), 80)
    first, second = text.index("Sched (Venue 2020): which job runs."), text.index("Headline: it is small (Section 1)")
    third, fourth = text.index("Why claims fail or stay open: Jobs wait."), text.index("Condition: Nodes are free.")
    assert first < second < third < fourth < text.index("2 claims about the scheduler: 1 holds, 1 does not.")
    of_claims = [line.split() for line in text.splitlines() if "it is" in line and "Headline" not in line]
    assert [" ".join(words) for words in of_claims] == ["holds 100 % it is large", "does not hold 100 % it is small"]
    for evidence in ("Table 1", "±", "How.", "needed"):
        assert evidence not in text
    assert "--verbose" in text


def test_a_long_claim_has_one_line_of_the_terminals_width():
    claims = tuple(dataclasses.replace(claim, text=claim.text + " and longer" * 20) for claim in CLAIMS)
    for width in (60, 80, 140):
        shown = lines(dataclasses.replace(REPORT, claims=claims), width).splitlines()
        of_claims = [line.rstrip() for line in shown if "it is" in line]
        assert [len(line) in (width - 1, width) and line.endswith("…") for line in of_claims] == [True, True]


def test_few_workloads_have_no_interval():
    few = Measurement("A", "x", estimate([1.0, 2.0, 3.0, 4.0]), Bound(low=0.0), "s")
    assert few.sentence == "x: 2.50 s (needed: at least 0)"
    assert few.remark(1) == " [fewer than 5 workloads: no interval]"
    assert estimate([1.0, 2.0, 3.0, 4.0, 5.0]).half > 0


def test_some_claims_alone_are_shown_by_a_part_of_their_name_or_text():
    assert [claim.name for claim in REPORT.only("SMA").claims] == ["small"]
    assert REPORT.only("small").tables == ()
    with pytest.raises(
        InvalidInput, match=r"'tiny', expected a part of a claim's name or text; there are large, small"
    ):
        REPORT.only("tiny")


@pytest.mark.parametrize("name", sorted(set(EXPERIMENTS) - {"findings"}))
def test_a_claim_that_there_is_not_is_refused_before_anything_runs(name):
    with pytest.raises(InvalidInput, match=r"claim: 'no such claim'.*there are [a-z]") as error:
        reproduce(name, claim="no such claim")
    assert all(statement.name in str(error.value) for statement in EXPERIMENTS[name].statements)
