"""`mlsched bench` and `mlsched reproduce`: exit statuses, JSON, reports, stores."""

from __future__ import annotations

import dataclasses
import json

import pytest
from draws import THOROUGH

from mlsched.benchmark import runner
from mlsched.benchmark.suites import SUITES, Suite
from mlsched.benchmark.user_suites import find_suite
from mlsched.cli.main import run
from mlsched.core.registry import registry, solver
from mlsched.instances.preemption import Plan

#: Problem -> who would take more than half of what its small instance costs; each problem has other engines that agree.
DEAREST = {"admission": ("brute-force",), "placement": ("brute-force",), "taskgraph": ("highs",)}


@pytest.fixture
def one_seed(monkeypatch):
    """`quick` asks solvers, with little work each, about the first seed of the smallest instances.

    In the thorough profile every solver of every case, with all its work; `make demo` runs all seeds.
    """

    def find(name: str) -> Suite:
        suite = find_suite(name)
        cases = [dataclasses.replace(case, seeds=case.seeds[:1]) for case in suite.cases]
        if not THOROUGH:
            work = {"cp-sat": 0.2, "highs": 20.0}
            cases = [
                dataclasses.replace(c, work_limit=work, without=(*c.without, *DEAREST.get(c.problem, ())))
                for c in cases
                if c.preset in (None, "small")
            ]
        return dataclasses.replace(suite, cases=tuple(cases))

    monkeypatch.setattr(runner, "find_suite", find)


@pytest.mark.slow
@pytest.mark.usefixtures("one_seed")
def test_bench_writes_a_report_and_says_what_is_verified(tmp_path, capsys):
    html = tmp_path / "new" / "report.html"
    assert run(["bench", "quick", "--html", str(html)]) == 0
    shown = capsys.readouterr()
    assert "they all agree" in shown.out
    assert shown.err == ""
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.usefixtures("one_seed")
def test_bench_json_is_one_document(capsys):
    assert run(["bench", "quick", "--solver", "fitgpp", "--solver", "cp-sat", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("one_seed")
def test_a_store_is_completed_only_on_request(tmp_path, capsys):
    call = ["bench", "quick", "--solver", "fifo", "--no-reference", "--store", str(tmp_path / "rows.sqlite")]
    assert run([*call, "--workers", "2"]) == 0
    capsys.readouterr()
    assert run(call) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*call, "--resume"]) == 0


@pytest.mark.usefixtures("one_seed")
def test_an_interrupt_says_how_to_go_on(tmp_path, capsys, monkeypatch, control_c):
    answer, calls, store = runner.answer, [], tmp_path / "rows.sqlite"

    def interrupted(task, isolate):
        calls.append(task)
        if len(calls) == 3:
            control_c()
        return answer(task, isolate)

    call = ["bench", "quick", "--solver", "fifo"]
    with monkeypatch.context() as patch:
        patch.setattr(runner, "answer", interrupted)
        assert run([*call, "--store", str(store)]) == 130
        said = f"mlsched: the rows so far are in {store}; the same command with --resume goes on"
        assert capsys.readouterr().err.splitlines() == [said, "mlsched: interrupted"]
        calls.clear()
        assert run(call) == 130
        assert "only these rows are kept; with --store FILE" in capsys.readouterr().err
    assert run([*call, "--store", str(store), "--resume"]) == 0


@pytest.mark.usefixtures("one_seed")
def test_a_solver_that_breaks_the_contract_exits_1(capsys, monkeypatch):
    @solver("liar", problem="preemption", kind="heuristic")
    def liar(instance, *, rng):
        return Plan(te_node=[0] * len(instance.te_demand), victims=[])

    (entry,) = liar.__mlsched__
    monkeypatch.setitem(registry().solvers, ("preemption", "liar"), entry)
    assert run(["bench", "quick", "--solver", "liar", "--no-isolate"]) == 1
    shown = capsys.readouterr()
    assert "liar returned an infeasible plan" in shown.err
    assert "preemption: total_score" in shown.out, "the table is shown all the same"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["bench", "nope"], "unknown suite 'nope'; there are quick"),
        (["bench", "quick", "--solver", "nope"], "unknown solver 'nope'"),
        (["bench", "quick", "--resume"], "needs a store"),
        (["bench", "quick", "--workers", "0"], "--workers"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(call, said, capsys):
    assert run(call) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert said in shown.err


def test_every_suite_is_listed(capsys):
    assert run(["list", "suites", "--json"]) == 0
    assert {s["name"] for s in json.loads(capsys.readouterr().out)["suites"]} == set(SUITES)
