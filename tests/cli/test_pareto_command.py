"""`mlsched pareto`: outputs, exit statuses, one-line errors."""

from __future__ import annotations

import contextlib
import csv
import json

import pytest
from preemption_examples import row

import mlsched
from mlsched.cli.main import run
from mlsched.core import deadline
from mlsched.instances.preemption import Plan

PAIR = ["total_score", "victim_count"]


@pytest.fixture
def instance():
    return row([6, 4, 3, 2, 1], [6], grace=[30, 8, 9, 2, 1] * 2)


@pytest.fixture
def file(tmp_path, instance):
    path = tmp_path / "inst.json"
    mlsched.save(instance, path)
    return path


def call(*arguments) -> int:
    return run(["pareto", *map(str, arguments)])


def test_a_table_of_points(file, capsys):
    assert call(file, *PAIR) == 0
    out, err = capsys.readouterr()
    assert "cp-sat, epsilon-constraint: complete: 2 points from 3 solves" in out
    assert "victim_count" in out
    assert " s; unconfirmed\n" in out
    assert err == ""


def test_another_engine_confirms(file, capsys):
    assert call(file, *PAIR, "--confirm") == 0
    assert " s; confirmed by highs\n" in capsys.readouterr().out


def test_json_and_csv_agree_with_the_library(file, instance, capsys, tmp_path, solver):
    table = tmp_path / "front.csv"
    assert call(file, *PAIR, "--solver", solver, "--json", "-o", table) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    front = mlsched.pareto(instance, PAIR, solver)
    assert document["sort_keys"] == front.sort_keys.tolist()
    assert (document["status"], document["complete"], document["open"]) == ("complete", True, [])
    assert (document["objectives"], document["instance_hash"]) == (PAIR, instance.hash)
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [[int(r[name]) for name in PAIR] for r in rows] == front.sort_keys.tolist()
    for found, plan in zip(rows, front.plans, strict=True):
        assert Plan.from_json(json.loads(found["plan"])) == plan


def test_methods_and_resume(file, capsys, tmp_path):
    journal = tmp_path / "front.jsonl"
    for remembered in (False, True):
        assert call(file, *PAIR, "max_grace_period", "--method", "laumanns", "--resume", journal) == 0
        out = capsys.readouterr().out
        assert "laumanns: complete" in out
        assert ("from 0 solves and" in out and "remembered" in out) == remembered
    assert call(file, *PAIR, "--resume", journal) == 2
    assert "belongs to another model or other objectives" in capsys.readouterr().err


def test_an_interrupt_says_how_to_go_on(file, capsys, tmp_path, monkeypatch, control_c):
    journal = tmp_path / "front.jsonl"

    @contextlib.contextmanager
    def counter(time_limit):
        yield lambda points, solves: control_c() if solves == 2 else None

    with monkeypatch.context() as patch:
        patch.setattr("mlsched.cli.pareto._counter", counter)
        assert call(file, *PAIR, "--resume", journal) == 130
        going_on = f"mlsched: the answers so far are in {journal}; the same command goes on"
        assert capsys.readouterr().err.splitlines() == [going_on, "mlsched: interrupted"]
        assert call(file, *PAIR) == 130
        assert capsys.readouterr().err.startswith("mlsched: nothing is kept; with --resume FILE ")
    assert call(file, *PAIR, "--resume", journal) == 0
    assert "2 remembered" in capsys.readouterr().out


@pytest.mark.parametrize("names", [PAIR, [*PAIR, "max_grace_period"]])
def test_a_picture(file, names, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "front.png"
    assert call(file, *names, "--plot", picture) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_time_limit_without_any_point_is_status_1(file, capsys, ticking):
    ticking(deadline)
    assert call(file, *PAIR, "--time-limit", "500") == 1
    out, err = capsys.readouterr()
    assert "time limit: 0 points" in out
    assert "open region: points may be missing there" in out
    assert err.count("\n") == 1
    assert "no point was found within the limits; give it more time, or resume" in err


def test_a_failed_sub_problem_is_status_1_and_keeps_the_points(file, capsys, monkeypatch, tmp_path):
    from mlsched.core.scalar import Answer
    from mlsched.solvers.front.cp_sat import CpSatScalar

    true, calls = CpSatScalar.minimise, []

    def spoilt(self, *arguments):
        calls.append(arguments)
        return Answer("failed", note="numerical trouble") if len(calls) >= 2 else true(self, *arguments)

    monkeypatch.setattr(CpSatScalar, "minimise", spoilt)
    table = tmp_path / "front.csv"
    assert call(file, *PAIR, "-o", table) == 1
    out, err = capsys.readouterr()
    assert "failed: 1 point from" in out
    assert "the front is not complete: sub-problem 2 (bounds" in err
    assert err.count("\n") == 1
    assert len(table.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["total_score"], "1 given: a front needs two or more"),
        (["total_score", "cost"], "unknown objective 'cost'"),
        ([*PAIR, "--solver", "fitgpp"], "expected a solver with a model to enumerate; use cp-sat or highs"),
        ([*PAIR, "--method", "guess"], "--method: 'guess', expected one of"),
        ([*PAIR, "--time-limit", "0"], "--time-limit: 0.0, expected above 0"),
        ([*PAIR, "-o", "front.txt"], "front.txt: expected a name ending in .csv (one row per point) or .json"),
        ([*PAIR, "--plot", "front.txt"], "expected a name ending in .png, .svg or .pdf"),
        ([*PAIR, "--nonsense"], "see `mlsched pareto --help`"),
        ([], "see `mlsched pareto --help`"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(file, capsys, arguments, words):
    assert call(file, *arguments) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err


def test_a_front_is_written_for_load_too(file, tmp_path):
    assert call(file, *PAIR, "-o", tmp_path / "front.json") == 0
    front = mlsched.load(tmp_path / "front.json")
    assert front.complete
    assert front.sort_keys.tolist() == mlsched.pareto(mlsched.load(file), PAIR).sort_keys.tolist()


def test_a_plan_is_no_instance(tmp_path, capsys):
    path = tmp_path / "plan.json"
    mlsched.save(Plan(te_node=[0], victims=[]), path)
    assert call(path, *PAIR) == 2
    assert "expected an instance" in capsys.readouterr().err
