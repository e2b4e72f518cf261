"""`mlsched reproduce` and `mlsched list experiments`."""

from __future__ import annotations

import json
import os

import pytest
from cli_fixtures import refuses_what_is_no_file

from mlsched.cli.main import run


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["reproduce", "nope"], "nope"),
        (["reproduce", "fitgpp", "--jobs", "0"], "--jobs"),
        (["reproduce", "fitgpp", "--papers-size"], "fitgpp has one size"),
        (["reproduce", "mlfs", "--load", "0.25", "--load", "4"], "expected some of 0.25"),
        (["reproduce", "fitgpp", "--quick", "--trace", "missing.csv"], "missing.csv"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(call, said, capsys):
    assert run(call) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert said in shown.err


def test_a_quick_reproduction_reports_claims_and_no_verdicts(tmp_path, capsys):
    html = tmp_path / "fitgpp.html"
    assert run(["reproduce", "fitgpp", "--quick", "--jobs", "128", "--seeds", "2", "--html", str(html), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["claims"]
    assert report["quick"]
    assert not any({"verdict", "by_interpretation"} & claim.keys() for claim in report["claims"])
    assert report["summary"].startswith("Recorded of the full experiment: 33 claims about the scheduler")
    page = html.read_text(encoding="utf-8")
    assert "<svg" in page
    assert "No verdicts" in page
    assert all(claim["recorded_verdict"] for claim in report["claims"])
    assert "full run, recorded" in page


def test_every_experiment_is_listed(capsys):
    assert run(["list", "experiments", "--json"]) == 0
    assert "fitgpp" in {e["name"] for e in json.loads(capsys.readouterr().out)["experiments"]}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_what_is_no_file_is_refused_before_any_work(cli, tmp_path):
    refuses_what_is_no_file(cli, ("reproduce", "none", "--html"), tmp_path)
