"""Entries to cite gaps by: BibTeX that is whole, and commands that make the numbers again."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from benchmark_examples import row, rule, suite

import mlsched
from mlsched.benchmark.citation import commands, gaps, software, write_bibtex
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.report import report
from mlsched.benchmark.runner import run_suite
from mlsched.cli.main import run


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


def test_every_gap_has_one_entry_that_is_whole(rows, tmp_path):
    write_bibtex(rows, tmp_path / "gaps.bib")
    entries = parsed((tmp_path / "gaps.bib").read_text())
    (own,) = (key for key in entries if key == f"mlsched-{mlsched.__version__}")
    assert entries[own]["version"] == mlsched.__version__
    ruled = [r for r in rows if r.kind == "heuristic" and r.gap_to_optimum is not None]
    assert len(entries) == 1 + len(ruled) > 1
    for r in ruled:
        (entry,) = (
            e
            for key, e in entries.items()
            if key.startswith(f"mlsched-{r.instance_hash[:12]}-{r.objective.replace('_', '-')}-")
        )
        exact = next(
            x for x in rows if (x.instance_hash, x.objective, x.kind) == (r.instance_hash, r.objective, "exact")
        )
        assert f"Instance {r.instance_hash}; " in entry["note"]
        assert f"bound {exact.sort_key if r.primary is None else r.primary.split(exact.sort_key)[1]} " in entry["note"]
        assert str(r.gap_to_optimum).replace("%", "\\%") in entry["title"]
        assert {"title", "author", "year", "note", "howpublished"} == set(entry)


def test_the_commands_make_the_number_again(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for r in rows:
        drawn, solved = commands(r)
        assert run(shlex.split(drawn)[1:]) == 0
        assert mlsched.load("instance.json").hash == r.instance_hash
        capsys.readouterr()
        assert run([*shlex.split(solved)[1:], "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["sort_keys"]["value"] == r.sort_key


def test_an_instance_in_a_file_is_solved_from_it():
    assert commands(row(source="my dir/a.stg", sizes={"processors": 4})) == [
        "mlsched solve 'my dir/a.stg' --solver cp-sat --objective cost --seed 7 --read processors=4"
    ]


def test_no_gap_no_entry_and_signs_of_latex_are_escaped():
    made = with_gaps([row(), rule(12, solver="a_b:x=1%"), rule(None, solver="c", status="unknown")])
    (entry,) = gaps(made)
    assert r"Gap of a\_b:x=1\% to the optimum of p, cost: 20.0 \%" in entry
    assert gaps(with_gaps([rule(12)])) == []
    assert parsed(software())


def test_the_report_says_how_to_cite(rows):
    page = report(rows)
    assert "<h2" in page
    assert f"@software{{mlsched-{mlsched.__version__}," in page
    cited = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1]
    largest = max(
        (r for r in rows if r.kind == "heuristic" and r.objective == "total_score"),
        key=lambda r: r.gap_to_optimum.share or 0,
    )
    assert largest.instance_hash in cited
    assert cited.count("@misc") <= 3
