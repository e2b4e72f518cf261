"""`mlsched export`, `compare` and `rerun`: what can be done with a store."""

from __future__ import annotations

import csv
import json

import pytest
from benchmark_examples import changed

from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.store import read_rows
from mlsched.benchmark.suites import Case, Suite
from mlsched.cli.main import run


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of two preemption instances, answered by a rule at random, a rule, and exactly."""
    path = tmp_path_factory.mktemp("store") / "rows.sqlite"
    case = Case("preemption", "small", seeds=(0, 1), solvers=("rand", "fitgpp:s=8", "cp-sat"))
    run_suite(Suite("tiny", "for tests", (case,)), store=path)
    return path


def test_rows_and_tables_for_others(store, tmp_path, capsys):
    for suffix in ("csv", "parquet", "md", "tex", "html"):
        assert run(["export", str(store), "-o", str(tmp_path / f"rows.{suffix}")]) == 0
    with (tmp_path / "rows.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert [int(line["row"]) for line in table] == list(range(1, 19))
    exact = [line for line in table if line["solver"] == "cp-sat"]
    assert {(line["status"], line["gap_to_optimum"]) for line in exact} == {("optimal", "0.0")}
    assert json.loads(exact[0]["versions"])["ortools"]
    tex = (tmp_path / "rows.tex").read_text()
    assert "\nfitgpp:s=8.0 & 2 &" in tex
    assert tex.count(r"\begin{tabular}{@{}lrrr@{}}") == 3
    assert r"\label{tab:preemption-total-score}" in tex
    assert "| cp-sat | 2 | 100 % | 0 |" in (tmp_path / "rows.md").read_text()
    assert run(["export", str(store), "-o", str(tmp_path / "rows.doc")]) == 2
    assert (
        "ends in '.doc', expected .csv, .parquet, .html, .bib, .md, .tex, .pdf, .svg, .png" in capsys.readouterr().err
    )
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    assert run(["export", str(store), "-o", str(one), "--suite", "tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(one), "rows": 18}
    assert one.read_bytes() == (tmp_path / "rows.csv").read_bytes()
    assert run(["export", str(store), "-o", str(other), "--suite", "tini"]) == 2
    assert f"--suite: 'tini', expected a suite of {store}: tiny" in capsys.readouterr().err
    assert not other.exists()


def test_the_columns_and_the_figure_of_an_export(store, tmp_path, capsys):
    target = str(tmp_path / "rows.md")
    assert run(["export", str(store), "-o", target, "--columns", "preset, solver, largest gap, CPU time"]) == 0
    assert "| preset | solver | largest gap, % | CPU time |" in (tmp_path / "rows.md").read_text()
    assert run(["export", str(store), "-o", target, "--columns", "all"]) == 0
    assert (
        "| preset | solver | n | optimal | mean gap, % [95 %] | median gap, % |" in (tmp_path / "rows.md").read_text()
    )
    for figure in ([], ["--figure", "profile"]):
        assert run(["export", str(store), "-o", str(tmp_path / "figure.svg"), *figure]) == 0
        text = (tmp_path / "figure.svg").read_text()
        assert text.startswith("<?xml")
    capsys.readouterr()
    for suffix, words, said in (
        ("md", ["--columns", "solver,mean gp"], "--columns mean gp (did you mean 'mean gap'?): there are all, preset,"),
        ("md", ["--columns", "n,n"], "--columns n: is given twice; leave one out"),
        ("csv", ["--columns", "n"], "--columns: rows.csv is not a table; leave it out, or write a .tex or .md"),
        ("md", ["--figure", "gaps"], "--figure: rows.md is not a picture; leave it out, or write a .pdf or .svg"),
        ("svg", ["--figure", "box"], "--figure: box, expected gaps or profile"),
    ):
        assert run(["export", str(store), "-o", str(tmp_path / f"rows.{suffix}"), *words]) == 2
        assert said in capsys.readouterr().err


def test_one_row_again(store, tmp_path, capsys):
    for number in (1, 4, 7, 18):
        assert run(["rerun", str(store), str(number)]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run(["rerun", str(store), "19"]) == 2
    assert "row 19, expected at most 18" in capsys.readouterr().err
    forged = tmp_path / "forged.sqlite"
    forged.write_bytes(store.read_bytes())
    changed(forged, "sort_key", read_rows(forged)[0].sort_key - 1, "id = 1")
    assert run(["rerun", str(forged), "1", "--json"]) == 1
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["differences"]) == 1
    assert "row 1 came out otherwise: sort_key:" in shown.err


def test_two_stores(store, capsys):
    assert run(["compare", str(store), str(store), "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["comparisons"]
    assert len(lines) == 9
    assert all((line["pairs"], line["better"], line["worse"], line["time"]) == (2, 0, 0, 1.0) for line in lines)
    assert run(["compare", str(store), str(store), "--solver", "fitgpp:s=8=cp-sat"]) == 0
    assert "fitgpp:s=8.0 -> cp-sat" in capsys.readouterr().out


def test_shards_and_their_merger(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(
        '[[case]]\nproblem = "preemption"\npreset = "small"\nseeds = 3\nsolvers = ["fitgpp", "brute-force"]\n'
    )
    for number in (1, 2):
        assert run(["bench", "mine.toml", "--shard", f"{number}/2", "--store", f"{number}.sqlite", "--json"]) == 0
    capsys.readouterr()
    assert run(["merge", "2.sqlite", "-o", "all.sqlite"]) == 1
    shown = capsys.readouterr()
    assert shown.out == "all.sqlite: 6 of 18 rows of suite mine\n"
    assert shown.err == "mlsched: all.sqlite: 12 rows are missing: no store has shard 1/2\n"
    assert run(["merge", "1.sqlite", "2.sqlite", "-o", "all.sqlite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "suite": "mine",
        "rows": 18,
        "total": 18,
        "repeated": 6,
        "absent": [],
        "unfinished": [],
        "complete": True,
    }
    assert run(["export", "all.sqlite", "-o", "table.md"]) == 0
    # Parts of one suite asked in two ways; a shard that is none; a shard with nothing to do.
    assert run(["bench", "mine.toml", "--no-confirm", "--shard", "1/2", "--store", "other.sqlite", "--json"]) == 0
    capsys.readouterr()
    assert run(["merge", "2.sqlite", "other.sqlite", "-o", "none.sqlite"]) == 2
    assert "different requests for suite mine: confirm true and false; bench both" in capsys.readouterr().err
    assert run(["bench", "mine.toml", "--shard", "3/2"]) == 2
    assert (
        capsys.readouterr().err == "mlsched: --shard: '3/2', expected I/N with 1 <= I <= N <= 1000000, such as 1/16\n"
    )
    assert run(["bench", "mine.toml", "--shard", "9/9", "--store", "9.sqlite"]) == 0
    assert capsys.readouterr().out == "there was nothing to do\n"
    assert not (tmp_path / "none.sqlite").exists()
    # A store without rows has no table, and a call that is refused makes no folder.
    assert run(["export", "9.sqlite", "-o", "table.tex"]) == 2
    assert capsys.readouterr().err == "mlsched: 9.sqlite: has no rows to export; `mlsched merge` joins it with others\n"
    assert run(["merge", "1.sqlite", "absent.sqlite", "-o", "folder/of/all.sqlite"]) == 2
    assert capsys.readouterr().err == "mlsched: absent.sqlite: file not found; check the path\n"
    assert run(["bench", "absent.toml", "--html", "folder/report.html"]) == 2
    assert not (tmp_path / "table.tex").exists()
    assert not (tmp_path / "folder").exists()
    assert run(["merge", "1.sqlite", "2.sqlite", "-o", "folder/of/all.sqlite"]) == 0
    assert (tmp_path / "folder" / "of" / "all.sqlite").is_file()
