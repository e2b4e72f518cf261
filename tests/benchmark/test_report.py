"""The report: one file that needs nothing else, and says what is wrong before any number."""

from __future__ import annotations

import dataclasses
import re
import sys
from html.parser import HTMLParser

import pytest
from benchmark_examples import row, rule, suite

from mlsched import InvalidFile
from mlsched.benchmark.export import export
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.report import report, write_report
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.suites import Case, Suite
from mlsched.core.contract import Primary

VOID = {"meta", "br", "hr", "img", "link"}
#: The report on a handful of rows is shorter, in characters; that of `quick`, with 2 100 rows, is below 1.2 million.
MOST = 300_000


class Balanced(HTMLParser):
    """Fails on a tag that is closed but not open; collects tags with their attributes, and the texts of headings."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.headings = [], [], {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h2", "h3"):
            self.headings[self.tags[-1][1]["id"]] = data

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


@pytest.fixture(scope="module")
def parsed(page):
    return Balanced(page)


def test_it_is_one_well_formed_page(page, parsed):
    assert parsed.open == []
    names = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(names) == len(set(names))
    assert len(page) < MOST


def test_it_needs_no_network(page, parsed):
    assert "default-src 'none'" in page
    assert not [(tag, a) for tag, a in parsed.tags if a.keys() & {"src", "srcset", "action", "data", "poster"}]
    targets = [a[name] for _, a in parsed.tags for name in ("href", "xlink:href") if name in a]
    assert [target for target in targets if not target.startswith("#")] == ["data:,"]
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", page)
    assert [tag for tag, _ in parsed.tags].count("script") == 1


def test_the_contents_are_the_sections(page, parsed):
    contents = re.search(r"<nav.*?</nav>", page, re.DOTALL)[0]
    assert re.findall(r'<a href="#(\w+)">([^<]*)</a>', contents) == list(parsed.headings.items())
    assert list(parsed.headings.values()) == [
        "Failed checks: none",
        "What was run, and what is verified",
        "What the cells mean",
        "preemption",
        "Mean gaps",
        "Every solver",
        "Differences from the best rule",
        "CPU time by preset",
        "Performance profiles by time, exact solvers",
        "Performance profiles by value, everyone",
        "Time to gap",
        "Solve times",
        "Plans",
        "How hard the instances are",
        "Skipped",
        "Cite",
    ]


def test_every_table_can_be_sorted_and_has_headers(page):
    tables = re.findall(r"<table.*?</table>", page, re.DOTALL)
    assert len(tables) >= 8
    for table in tables:
        head, body = re.search(r"<thead>(.*?)</thead><tbody>(.*?)</tbody>", table, re.DOTALL).groups()
        titles = re.findall(r'<th scope=col[^>]* aria-sort="none"><button type="button">', head)
        assert len(titles) == head.count("<th")
        assert all(line.startswith("<th scope=row") for line in body.split("<tr>")[1:])


def test_every_picture_says_what_it_is(page, parsed):
    pictures = [attrs for tag, attrs in parsed.tags if tag == "svg" and "aria-hidden" not in attrs]
    # Profiles of proofs by 3 objectives; one preset lacks a rule: profiles of values and 3 gaps are by 6 groups.
    # Then solve times and 2 plans.
    assert len(pictures) == 3 + 6 + 3 * 6 + 1 + 2
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)
    assert page.count("<figure>") == page.count("<figcaption>")


def test_it_says_what_was_run_and_verified(page):
    assert "mlsched bench: tiny" in page
    assert re.search(r"The judge checked \d+ plans for 4 instances", page)
    assert "Of 12 pairs of an instance and an objective, 12 have a proven optimum: 12 confirmed by" in page
    assert "ortools" in page
    assert "CPUs" in page
    assert "preemption limit binds" in page
    assert "refuse instances of that size: 3." in page
    assert "are more than" in page
    assert re.search(r"<dt>run</dt><dd>20\d\d-\d\d-\d\d \d\d:\d\d UTC", page)
    assert "<dt>written</dt>" not in page
    assert "<dt>written</dt><dd>yesterday</dd>" in report([row()], written="yesterday")


@pytest.fixture(scope="module")
def few(rows):
    return [r for r in rows if (r.case, r.objective, r.seed) == ("small", "total_score", 0)]


def test_the_same_rows_are_the_same_page(few):
    assert report(few) == report(few)


def test_failed_checks_stand_first():
    page = report(with_gaps([row(), row(solver="highs", sort_key=11), rule(12)]))
    assert "Failed checks: 1" in page
    assert page.index("but highs proves 11") < page.index("What was run, and what is verified</h2>")
    assert "Questions without an undisputed proven optimum: 1" in page
    assert page.index("Failed checks: 1</h2>") == page.index("</h2>") - len("Failed checks: 1")


def test_gaps_are_defined_and_those_without_a_percentage_stand_apart():
    rank = Primary("deferred jobs", 1000)
    rows = [row(), rule(12), row(instance_hash="h1", sort_key=0), rule(7, instance_hash="h1")]
    rows += [row(instance_hash="h2", sort_key=2010, primary=rank), rule(4000, instance_hash="h2", primary=rank)]
    page = report(with_gaps(rows))
    assert page.index("(value - optimum) / |optimum|") < page.index(">solver</button>")
    line = cells(page, "rule")
    assert line[:3] == ["small", "heuristic", "1 of 3"]
    assert line[4:9] == ["20.0 %", "20.0 %", "20.0 %", "1: +7", "1: +2"]
    assert "Optimum 0: how many instances" in page
    assert "there are more deferred jobs than in the optimum" in page
    assert "Behind:" not in report(with_gaps([row(), rule(12)]))


@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_tables_for_papers_say_what_is_in_no_mean(tmp_path, suffix):
    rank = Primary("deferred jobs", 1000)
    rows = [row(), rule(12), row(instance_hash="h1", sort_key=0), rule(7, instance_hash="h1")]
    rows += [row(instance_hash="h2", sort_key=2010, primary=rank), rule(4000, instance_hash="h2", primary=rank)]
    export(with_gaps(rows), tmp_path / f"table.{suffix}", columns=["all"])
    text = (tmp_path / f"table.{suffix}").read_text()
    between = " | " if suffix == "md" else " & "
    header, of_the_rule = (next(x for x in text.splitlines() if word in x) for word in ("preset", between + "rule"))
    told = dict(zip(header.split(between), of_the_rule.split(between), strict=True))
    assert (told["n"], told["optimum 0"], told["behind"]) == ("1 of 3", "1: +7", "1: +2")
    assert "there are more deferred jobs than in the optimum" in text
    export(with_gaps([row(), rule(12)]), tmp_path / f"table.{suffix}")
    assert "behind" not in (tmp_path / f"table.{suffix}").read_text().lower()


def cells(page, solver, table=1):
    """The cells of a solver in the full table."""
    line = re.search(rf"<tr><th scope=row[^>]*>{solver}</th>(.*?)</tr>", page)[1]
    return re.findall(r"<td[^>]*>([^<]*)<", line)


def paired_rows(*gaps, **changes):
    """A proven optimum of 100 and an answer for each gap in percent."""
    found = []
    for k, gap in enumerate(gaps):
        found += [row(instance_hash=f"h{k}", seed=k, sort_key=100, cpu_seconds=0.2)]
        found += [rule(100 + gap, instance_hash=f"h{k}", seed=k, cpu_seconds=0.1, **changes)]
    return found


def test_the_best_of_a_line_is_marked_among_means_over_the_same_instances():
    worse = [r for r in paired_rows(9, 9, 9, 9, 9, 9, solver="worse") if r.kind != "exact"]
    part = [r for r in paired_rows(0, 0, solver="part") if r.kind != "exact"]
    page = report(with_gaps([*paired_rows(1, 2, 3, 4, 5, 6), *worse, *part]))
    assert re.findall(r'<td class="best"[^>]*>([^<]*)<', page) == ["3.5 %"]
    assert "0 % (2)" in page


def test_where_every_optimum_is_0_differences_are_compared():
    page = report(with_gaps([row(sort_key=0), rule(3), rule(2, solver="better")]))
    assert "cost, small (optimum 0: difference, s)" in page
    assert re.findall(r'<td class="best"[^>]*>([^<]*)<', page) == ["+2"]


def test_means_have_intervals_and_rules_are_compared_in_pairs():
    worse = [r for r in paired_rows(9, 8, 9, 8, 9, 8, solver="worse") if r.kind != "exact"]
    page = report(with_gaps([*paired_rows(1, 2, 3, 4, 5, 6), *worse]))
    low, high = map(float, re.search(r">3\.5 %<small>\[([\d.]+) %, ([\d.]+) %\]<", page).groups())
    assert 1 < low < 3.5 < high < 6
    assert "cost: against rule" in page
    verdict, pairs, better, losses, change, ratio = cells(page.partition("against rule")[2], "worse")[:6]
    assert (verdict, pairs, better, losses, ratio) == ("worse", "6", "0", "6", "1×")
    assert change == "+5.00 points"


def test_a_restricted_model_is_not_called_exact():
    here = {"problem": "taskgraph", "cpu_seconds": 1.0}
    moulded = row(solver="moulded", status="feasible", sort_bound=None, gap=None, **here)
    page = report(with_gaps([row(**here), row(solver="highs", **here), moulded]))
    assert cells(page, "moulded")[1] == "restricted"
    assert cells(page, "highs")[1] == "exact"
    assert cells(page, "moulded")[6:9] == ["0 %", "", ""]  # no share of proofs, none agreed
    for heading in ("Performance profiles by time, exact solvers", "Solve times"):
        picture = page.partition(f"{heading}</h3>")[2].partition("<h3")[0]
        assert 'data-name="highs"' in picture
        assert "moulded" not in picture


def test_a_restricted_model_is_never_the_best_rule():
    here = {"problem": "taskgraph", "cpu_seconds": 1.0}
    rows = []
    for number in range(3):
        place = {**here, "instance_hash": f"h{number}", "seed": number}
        moulded = row(solver="moulded", status="feasible", sort_bound=None, gap=None, **place)
        rows += [row(**place), moulded, rule(12, **place)]
    page = report(with_gaps(rows))
    assert "cost: against rule" in page
    assert "cost: against moulded" not in page


def test_times_of_calls_that_a_limit_ended_are_lower_bounds():
    cut = row(status="feasible", sort_bound=8, gap=0.2, stopped_by="work limit", cpu_seconds=2.0, seconds=3.0)
    page = report(with_gaps([cut, rule(12, cpu_seconds=0.002)]))
    assert [c for c in cells(page, "cp-sat") if "s" in c and "≥" in c] == ["≥ 2.00 s", "≥ 3.00 s"]
    assert "2.00 ms" in cells(page, "rule")


def test_text_is_escaped():
    evil = "<script>alert(1)</script>"
    rows = with_gaps(
        [
            row(),
            rule(12, solver=evil),
            rule(None, solver="bad", sort_keys=None, status="failed", error=evil),
            row(solver="b", preset=evil, status="skipped", sort_key=None, sort_keys=None, sort_bound=None, error=evil),
        ]
    )
    page = report(rows, title=evil)
    assert page.count("<script") == 1
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_solves_cut_by_the_clock_are_told():
    page = report(with_gaps([row(status="feasible", sort_bound=8, gap=0.2, stopped_by="time limit"), rule(12)]))
    assert "Solves cut by the wall clock: 1;" in page
    assert "cut by the clock" in page


def test_without_rows():
    assert "no rows" in report([])


def test_without_matplotlib_all_but_the_plans_remains(few, monkeypatch):
    drawn = report(few)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    without = report(few)
    assert "No pictures of plans: pictures need matplotlib" in without
    assert without.count("<svg") == drawn.count("<svg") - 2


def test_cost_by_preset_and_its_growth():
    rows = []
    for preset, size, seconds in (("one", 10, 0.1), ("two", 20, 0.4), ("four", 40, 1.6)):
        here = {"preset": preset, "size": size, "instance_hash": preset}
        rows += [row(cpu_seconds=seconds, **here), rule(12, cpu_seconds=0.001, stopped_by="work limit", **here)]
    rows.append(row(solver="judge", kind="heuristic", status="feasible", preset="one", size=10, cpu_seconds=1e-5))
    costs = report(with_gaps(rows)).partition("CPU time by preset</h3>")[2]
    assert cells(costs, "cp-sat") == ["100 ms", "400 ms", "1.60 s", "2.00"]
    assert cells(costs, "rule") == ["≥ 1.00 ms"] * 3 + ["–"]
    assert cells(costs, "judge") == ["10.0 µs", "–", "–", "–"]
    assert "judge" not in costs.partition("<h3")[2]


def test_rows_of_what_is_no_problem_here_are_shown():
    rows = [row(problem="programs", solver=name, cpu_seconds=1.0) for name in ("published", "highs")]
    page = report(with_gaps(rows))
    assert "programs</h2>" in page
    assert "Plans</h3>" not in page


def test_a_front_of_several_plans_is_drawn():
    case = Case("quality", "small", seeds=(2,), solvers=("dp", "fair"))
    page = report(run_suite(Suite("tiny", "for tests", (case,))))
    assert "quality small, seed 2: 2 non-dominated plans (all) by total_loss_reduction and worst_loss" in page


def test_a_plan_that_comes_out_otherwise_is_not_drawn(few):
    changed = [dataclasses.replace(r, sort_key=r.sort_key + 1) if r.solver in ("fitgpp", "rand") else r for r in few]
    assert re.search(r"No (more )?pictures of plans: .*: \w+ gives \d+ now, \d+ then", report(changed))


def test_rows_without_cpu_times_make_no_charts_of_them():
    page = report(with_gaps([row(), row(solver="highs"), rule(12)]))
    assert "No charts of CPU times" in page
    assert "by time, exact" not in page


def test_it_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "report.html"
    export(with_gaps([row()]), target)  # what `mlsched export` does
    assert target.read_text(encoding="utf-8").count("<h2") > 3
    write_report(with_gaps([row(), rule(12)]), target, title="mine")
    text = target.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert re.search(r"<dt>written</dt><dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC</dd>", text)
    with pytest.raises(InvalidFile, match="cannot be written"):
        write_report([], tmp_path / "missing" / "report.html")


def test_the_summary_has_one_row_per_problem_and_objective():
    page = report(with_gaps([row(), rule(12), rule(11, solver="better")]))
    summary = re.search(r'<section class="summary".*?</section>', page, re.DOTALL)[0]
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", summary.partition("<tbody>")[2])
    assert cells[2:] == ["1", "1", "better", "10.0 %"]
