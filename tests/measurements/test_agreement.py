"""The agreement of four engines: its file is only added to, and a disagreement is seen."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def agreement(monkeypatch):
    """The script as a module; one problem and one engine are enough here."""
    path = Path(__file__).parents[2] / "measurements" / "agreement.py"
    spec = importlib.util.spec_from_file_location("agreement", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SIZES", {"quality": ({},)})
    monkeypatch.setattr(module, "engines", lambda problem, objective: {"dp": "dp"})
    return module


def run(agreement, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["agreement.py", *map(str, arguments)])
    return agreement.main()


def test_it_goes_on_where_it_stopped(agreement, monkeypatch, tmp_path, capsys):
    path = tmp_path / "lines.jsonl"
    assert run(agreement, monkeypatch, path, "--most", 3) == 0
    first = path.read_text()
    assert run(agreement, monkeypatch, path, "--most", 5, "--json") == 0
    assert path.read_text().startswith(first)
    assert len(path.read_text().splitlines()) == 5
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["questions"], found["disagreements"]) == (5, [])
    assert found["tables"][0]["rows"][0][1:] == ["quality", 0, 0, 0, 0, 5, 0]  # here one engine is asked


def test_a_disagreement_stays_one(agreement, monkeypatch, tmp_path, capsys):
    path = tmp_path / "lines.jsonl"
    monkeypatch.setattr(agreement, "ask", lambda *question: {**LINE, "said": {"dp": 5, "highs": 6}})
    assert run(agreement, monkeypatch, path, "--most", 1) == 1
    assert "disagreement" in capsys.readouterr().err
    assert run(agreement, monkeypatch, path) == 1


LINE = {"problem": "quality", "sizes": {}, "seed": 0, "objective": "worst_loss"}


def test_what_is_agreement(agreement):
    assert agreement.agree({"a": 5, "b": 5, "c": "too large", "d": "feasible"})
    assert not agreement.agree({"a": 5, "b": "infeasible"})
    assert not agreement.agree({"a": 5, "b": "BackendError: it broke down"})


def test_engines_of_a_problem():
    path = Path(__file__).parents[2] / "measurements" / "agreement.py"
    spec = importlib.util.spec_from_file_location("agreement", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert list(module.engines("preemption", "total_score")) == ["cp-sat", "highs", "scip", "brute-force"]
    assert list(module.engines("quality", "worst_loss")) == ["highs", "scip", "dp", "brute-force"]


def test_a_draw_without_an_instance_is_passed_over(agreement, monkeypatch, tmp_path):
    """On two nodes of the small preset seven jobs do not always fit."""
    sizes = {"nodes": 1, "jobs": 7, "tes": 3}
    seeds = [s for s in range(20) if agreement.ask("preemption", sizes, s, "total_score") is None]
    assert seeds
    monkeypatch.setattr(agreement, "SIZES", {"preemption": (sizes,)})
    monkeypatch.setattr(agreement, "engines", lambda problem, objective: {"cp-sat": "cp-sat"})
    path = tmp_path / "lines.jsonl"
    assert run(agreement, monkeypatch, path, "--most", 2) == 0
    assert len(path.read_text().splitlines()) == 2
