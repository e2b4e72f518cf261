"""The report: one file that needs nothing else, and says what is wrong before any number."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest
from benchmark_examples import row, rule, suite

from mlsched import InvalidFile
from mlsched.benchmark.figures import gap_distribution
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.report import report, write_report
from mlsched.benchmark.runner import run_suite
from mlsched.core.contract import Rank

VOID = {"meta", "br", "hr", "img", "link", "path", "use", "rect"}


class Balanced(HTMLParser):
    """Fails on a tag that is closed but not open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def rows():
    return [
        *run_suite(suite("brute-force", "cp-sat", "fitgpp", "rand")),
        *run_suite(suite("brute-force", "cp-sat", "rand", preset="surge", seeds=[0])),
    ]


@pytest.fixture(scope="module")
def page(rows):
    return report(rows)


def test_it_is_one_well_formed_page(page):
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert page.count("<svg") == 2


def test_it_needs_no_network(page):
    assert not re.search(r"""(src|href|url|@import)\s*[=(]?\s*["']?\s*(https?:)?//""", page)
    assert "<script" not in page
    assert "<link" not in page
    assert "<img" not in page


def test_it_says_what_was_run_and_verified(page):
    assert "mlsched bench: tiny" in page
    assert re.search(r"\d+ plans for 4 instances were checked", page)
    assert "Of 12 questions (an instance with an objective) 12 have a proven optimum: 12 agreed by" in page
    assert "ortools" in page
    assert "Failed checks" not in page
    assert "preemption: how hard the instances are" in page
    assert "preemption limit binds" in page
    assert "3 questions were skipped" in page
    assert "are more than" in page


def test_the_same_rows_are_the_same_page(rows, page):
    assert report(rows) == page


def test_failed_checks_stand_first():
    page = report(with_gaps([row(), row(answerer="highs", value=11), rule(12)]))
    assert "Failed checks: 1" in page
    assert page.index("but highs proves 11") < page.index("gaps to the optimum")
    assert "no undisputed proven optimum" in page


def test_gaps_are_defined_and_those_without_a_percentage_stand_apart():
    rank = Rank("deferred jobs", 1000)
    rows = [row(), rule(12), row(instance_hash="h1", value=0), rule(7, instance_hash="h1")]
    rows += [row(instance_hash="h2", value=2010, rank=rank), rule(4000, instance_hash="h2", rank=rank)]
    page = report(with_gaps(rows))
    assert page.index("Gap: (value - optimum) / |optimum|") < page.index("<th class=text>answerer")
    assert "<td>20.0 %</td><td>20.0 %</td><td>20.0 %</td><td>1: +7</td><td>1: +2</td>" in page
    assert "Optimum 0: how many instances" in page
    assert "there are more deferred jobs than in the optimum" in page
    assert "Behind" not in report(with_gaps([row(), rule(12)]))


def test_gaps_beyond_100_percent_are_drawn():
    rows = with_gaps([row(), rule(40), row(instance_hash="h1"), rule(11, instance_hash="h1")])
    (axes,) = gap_distribution(rows).axes
    assert axes.get_xlim() == (-2, pytest.approx(306))
    (line,) = axes.get_lines()
    assert line.get_xdata().tolist() == pytest.approx([0, 10, 300, 300])
    assert line.get_ydata().tolist() == [0, 0.5, 1, 1]


def test_an_answer_that_is_behind_is_within_no_gap():
    rank = Rank("deferred jobs", 1000)
    rows = with_gaps([row(rank=rank), rule(1010, rank=rank), row(instance_hash="h1"), rule(10, instance_hash="h1")])
    (axes,) = gap_distribution(rows).axes
    assert axes.get_lines()[0].get_ydata().tolist() == [0, 0.5, 0.5]


def test_text_is_escaped():
    evil = "<script>alert(1)</script>"
    rows = with_gaps(
        [
            row(),
            rule(12, answerer=evil),
            rule(None, answerer="bad", values=None, status="failed", error=evil),
            row(answerer="b", preset=evil, status="skipped", value=None, values=None, bound=None, error=evil),
        ]
    )
    page = report(rows, title=evil)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_solves_cut_by_the_clock_are_told():
    page = report(with_gaps([row(status="feasible", bound=8, gap=0.2, stopped_by="time limit"), rule(12)]))
    assert "1 solves were cut by the wall clock" in page
    assert "cut by the clock" in page


def test_without_rows():
    assert "no rows" in report([])


def test_without_matplotlib_the_numbers_remain(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = report(rows)
    assert "No pictures: pictures need matplotlib" in page
    assert "<svg" not in page
    assert "fitgpp" in page


def test_it_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "report.html"
    write_report(with_gaps([row(), rule(12)]), target, title="mine")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(InvalidFile, match="cannot be written"):
        write_report([], tmp_path / "missing" / "report.html")
