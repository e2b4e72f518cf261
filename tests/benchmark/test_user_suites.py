"""Suites of one's own: what files say, what is refused in one line, and what is asked."""

from __future__ import annotations

import pytest

import mlsched
from mlsched import InvalidInput, UnknownName
from mlsched.benchmark.reference import failures
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.user_suites import find_suite

GRAPH = "2\n0 0 0\n1 3 1 0\n2 2 1 1\n3 0 1 2\n"  # a chain of 3 and 2 ticks in the format of Standard Task Graphs
RULES = """def waits(instance, *, rng):
    return instance.plan_type(te_node=[-1] * len(instance.te_demand), victims=[])
"""


@pytest.fixture
def folder(tmp_path):
    """Two instances of preemption and one of quality."""
    made = tmp_path / "instances"
    made.mkdir()
    for seed in (0, 1):
        mlsched.save(mlsched.generate("preemption", preset="small", seed=seed), made / f"p{seed}.json")
    mlsched.save(mlsched.generate("quality", preset="small"), made / "q.json")
    return made


def test_a_folder_is_a_suite(folder):
    suite = find_suite(str(folder))
    assert [(case.problem, len(case.files)) for case in suite.cases] == [("preemption", 2), ("quality", 1)]
    rows = run_suite(suite, solvers=["fitgpp"])
    assert {row.solver for row in rows} == {"fitgpp", "cp-sat"}, "the reference is asked as well"
    assert all(row.gap_to_optimum is not None for row in rows)
    assert {row.source for row in rows} == {str(folder / "p0.json"), str(folder / "p1.json")}
    assert failures(rows) == []
    assert {row.solver for row in run_suite(suite, solvers=["fitgpp"], reference=False)} == {"fitgpp"}


def test_a_file_says_who_answers_what(folder, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "waiting_rules.py").write_text(RULES)
    (tmp_path / "mine.toml").write_text(
        '[[case]]\nproblem = "preemption"\npreset = "small"\nseeds = 2\nsolvers = ["fifo", "brute-force"]\n'
        'objectives = ["victim_count"]\n'
        '[[case]]\nname = "own"\nfiles = ["instances/*.json"]\nsolvers = ["waiting_rules:waits", "slaq"]\n'
        "reference = false\ntime_limit = 5\n"
    )
    rows = run_suite(str(tmp_path / "mine.toml"))
    found = {(row.problem, row.case, row.solver) for row in rows}
    assert ("preemption", "small", "fifo") in found
    assert ("preemption", "own", "waiting_rules:waits") in found
    assert ("quality", "own", "slaq") in found
    assert {row.suite for row in rows} == {"mine"}
    assert {r.objective for r in rows if r.case == "small"} == {"victim_count"}
    waits = [r for r in rows if r.solver == "waiting_rules:waits" and r.problem == "preemption"]
    assert all(r.status == "feasible" and r.cpu_seconds >= 0 and r.peak_mib > 1 and r.machine for r in waits)


def test_files_of_others_take_options_of_their_readers(tmp_path):
    (tmp_path / "chain.stg").write_text(GRAPH)
    (tmp_path / "mine.toml").write_text(
        '[[case]]\nfiles = ["*.stg"]\nread = {processors = 2}\nsolvers = ["cp-sat"]\nobjectives = ["makespan"]\n'
    )
    rows = run_suite(str(tmp_path / "mine.toml"))
    assert [(row.case, row.sort_key) for row in rows] == [("files processors=2", 5)]


BAD = {
    "no such thing": ("name = 3", "name: 3, expected a text"),
    "no case": ("", "[[case]] is missing; add one"),
    "not TOML": ("[[case", "is not a TOML file"),
    "another word": ("[[case]]\nproblem = 'preemption'\npresets = 'small'", "case 1: presets: unknown"),
    "another kind": ("[[case]]\nproblem = 3", "case 1: problem: 3, expected of kind str"),
    "both": ("[[case]]\nproblem = 'preemption'\nfiles = ['a']", "must name either a problem or files"),
    "of the other": ("[[case]]\nproblem = 'preemption'\nread = {a = 1}", "read: belongs to cases with files"),
    "seeds": ("[[case]]\nproblem = 'preemption'\nseeds = [-1]", "seeds: [-1], expected a list of integers >= 0"),
    "no file": ("[[case]]\nfiles = ['*.nothing']", "files: *.nothing: does not match any file"),
    "a suite of ours": (
        "name = 'quick'\n[[case]]\nproblem = 'preemption'",
        "expected a name that mlsched does not use",
    ),
    "no solver of these": (
        "[[case]]\nfiles = ['instances/*.json']\nsolvers = ['tiresias']",
        "solvers: 'tiresias' is unknown to the problems of these files",
    ),
}


@pytest.mark.parametrize("bad", list(BAD))
def test_what_is_refused(bad, folder, tmp_path):
    text, message = BAD[bad]
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InvalidInput) as refused:
        find_suite(str(tmp_path / "mine.toml"))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_suite(folder, tmp_path):
    with pytest.raises(UnknownName, match="unknown suite 'slow'"):
        find_suite("slow")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="instance files are missing"):
        find_suite(str(tmp_path / "empty"))
    mlsched.save(mlsched.solve(mlsched.load(folder / "p0.json"), "fitgpp").plan, folder / "plan.json")
    with pytest.raises(InvalidInput, match=r"plan\.json: is a preemption\.plan, expected an instance"):
        find_suite(str(folder))


def test_an_instance_that_changed_meanwhile_is_a_failed_row(folder, monkeypatch):
    from mlsched.benchmark.answer import answer
    from mlsched.benchmark.tasks import _instance, tasks_of

    task = tasks_of(find_suite(str(folder)), ["fitgpp"])[0]
    _instance.cache_clear()
    mlsched.save(mlsched.generate("preemption", preset="small", seed=9), folder / "p0.json")
    assert {(row.status, row.error) for row in answer(task)} == {
        ("failed", f"{folder / 'p0.json'} holds another instance by now")
    }
