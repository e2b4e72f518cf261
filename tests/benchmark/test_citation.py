"""Entries to cite mean gaps by: complete BibTeX with the instances and the command."""

from __future__ import annotations

import re

import pytest
from benchmark_examples import row, rule, suite

import mlsched
from mlsched.benchmark.citation import mean_gap_entries, software_entry, write_bibtex
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.report import report
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.table import gap_lines
from mlsched.core.gap import format_percentage


def parsed(text):
    """Key -> fields of the entries, by a reader of its own: braces are counted, escaped ones not."""
    entries, at = {}, 0
    for found in re.finditer(r"@(\w+)\{([^,]+),", text):
        assert found.start() >= at, "an entry begins inside another"
        depth, at = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0) if text[at - 1] != "\\" else 0
            at += 1
        body = text[found.end() : at - 1]
        entries[found[2]] = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", body, re.MULTILINE))
    return entries


@pytest.fixture(scope="module")
def rows():
    return run_suite(suite("fitgpp:s=8", "cp-sat", seeds=(0, 1)))


def test_every_mean_gap_has_one_entry(rows, tmp_path):
    write_bibtex(rows, tmp_path / "gaps.bib")
    entries = parsed((tmp_path / "gaps.bib").read_text())
    (own,) = (key for key in entries if key == f"mlsched-{mlsched.__version__}")
    assert entries[own]["version"] == mlsched.__version__
    lines = [line for line in gap_lines(rows) if line.kind == "heuristic" and line.gaps.mean is not None]
    assert len(entries) == 1 + len(lines) > 1
    for line in lines:
        (entry,) = (e for key, e in entries.items() if f"-{line.objective.replace('_', '-')}-" in key)
        assert "preemption small, 2 instances, hash " in entry["note"]
        assert "; optima: 2 confirmed; " in entry["note"]
        assert format_percentage(line.gaps.mean).replace("%", "\\%") in entry["title"]
        assert entry["howpublished"] == r"\texttt{mlsched bench tiny --solver fitgpp:s=8.0}"
        assert {"title", "author", "year", "note", "howpublished"} == set(entry)


def test_no_gap_no_entry_and_signs_of_latex_are_escaped():
    made = with_gaps([row(), rule(12, solver="a_b:x=1%"), rule(None, solver="c", status="unknown")])
    (entry,) = mean_gap_entries(made).values()
    assert r"Mean gap of a\_b:x=1\% to the optimum of p small, cost: 20.0 \%" in entry
    assert mean_gap_entries(with_gaps([rule(12)])) == {}
    assert parsed(software_entry())


def test_the_report_says_how_to_cite(rows):
    page = report(rows)
    assert "<h2" in page
    assert f"@software{{mlsched-{mlsched.__version__}," in page
    cited = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1]
    assert "Mean gap of fitgpp:s=8.0" in cited
    assert cited.count("@misc") <= 3
