"""Suites are data: they name real presets, cover every problem, and always mean the same instances."""

from __future__ import annotations

import dataclasses
import functools

import pytest
from benchmark_examples import suite

import mlsched
from mlsched import InvalidInput, UnknownName
from mlsched.api.adapters import can_answer
from mlsched.api.asked import resolve_solver
from mlsched.benchmark.cases import SEEDS
from mlsched.benchmark.suites import MORE_PRESETS, SUITES
from mlsched.benchmark.tasks import tasks_of
from mlsched.benchmark.user_suites import find_suite
from mlsched.core.contract import InSuites
from mlsched.core.registry import registry


@functools.cache
def quick():
    return tasks_of(find_suite("quick"), None)


@pytest.mark.parametrize("name", SUITES)
def test_every_case_names_what_exists(name):
    made = SUITES[name]
    assert made.name == name
    for case in made.cases:
        problem = registry().problem(case.problem)
        runs = case.preset in problem.suites.runs
        assert case.preset is None or runs or case.preset in problem.presets
        assert set(case.objectives or ()) <= {o.name for o in problem.instance_type.objectives}
        assert case.work_limit or case.repeat, "limits are deterministic work"
        called = mlsched.generate(case.problem, case.preset).called if runs else problem.instance_type.called
        for text in case.solvers or ():
            assert can_answer(resolve_solver(case.problem, text, {})[0], called)


def test_quick_covers_every_problem():
    for problem in registry().problems.values():
        cases = [c for c in SUITES["quick"].cases if c.problem == problem.name]
        assert cases[0].seeds == SEEDS
        runs = problem.suites.runs
        assert len(cases) == 1 + min(MORE_PRESETS, len(set(problem.presets) - {"small"})) + len(runs)
        assert [case.preset for case in cases[len(cases) - len(runs) :]] == list(runs)


def test_policies_made_for_runs_are_asked_about_runs_only():
    """What is made for decision after decision is judged on complete runs, beside the optimum of each decision."""
    asked = {(task.problem, task.preset, task.solver) for task in quick()}
    assert registry().problem("workers").suites.for_runs
    for problem in registry().problems.values():
        suites = problem.suites
        for name in suites.for_runs:
            assert registry().solver(problem.name, name)[0].kind != "exact"
            assert {preset for who, preset, solver in asked if (who, solver) == (problem.name, name)} <= {*suites.runs}
        for preset in suites.runs:
            called = mlsched.generate(problem.name, preset).called
            assert registry().solver(problem.name, suites.on_runs[0])[0].kind == "exact"
            assert registry().solver(problem.name, suites.on_runs[0])[0].answers(called), "the optimum of the run"
            assert all((problem.name, preset, name) in asked for name in suites.on_runs)


def test_who_is_asked_about_small_instances_only_is_asked_about_all_of_those():
    """What `quick` leaves out stands in its definition, is left out there only, and is an exact solver."""
    asked = {(task.problem, task.preset, task.solver) for task in quick()}
    assert registry().problem("taskgraph").suites.small_only
    for problem, names in {p.name: p.suites.small_only for p in registry().problems.values()}.items():
        presets = [case.preset for case in find_suite("quick").cases if case.problem == problem]
        for name in names:
            assert registry().solver(problem, name)[0].kind == "exact"
            assert [preset for preset in presets if (problem, preset, name) in asked] == ["small"]
        assert not any(case.without for case in find_suite(problem).cases)


def test_quick_grows_with_the_registry(monkeypatch):
    second = dataclasses.replace(registry().problem("preemption"), name="second", presets={}, suites=InSuites())
    monkeypatch.setitem(registry().problems, "second", second)
    assert [(c.problem, c.preset) for c in SUITES["quick"].cases if c.problem == "second"] == [("second", None)]
    assert "second" in list(SUITES)
    assert [c.preset for c in SUITES["second"].cases] == [None]


def test_preemption_is_six_presets_with_20_seeds():
    cases = SUITES["preemption"].cases
    assert len(cases) == 6
    assert all(len(set(c.seeds)) == 20 and c.time_limit is None for c in cases)


def test_an_unknown_suite_lists_those_there_are():
    with pytest.raises(UnknownName, match=r"unknown suite 'slow'; there are quick, .*preemption"):
        find_suite("slow")
    assert "slow" not in SUITES


def test_the_same_suite_makes_the_same_tasks():
    assert quick() == tasks_of(SUITES["quick"], None)


def test_an_exact_solver_is_asked_for_each_objective_a_rule_once():
    tasks = tasks_of(suite("cp-sat", "fifo", seeds=[0]), None)
    assert [(t.solver, len(t.objectives)) for t in tasks] == [("cp-sat", 1)] * 3 + [("fifo", 3)]


def test_solvers_replace_those_of_the_suite_and_have_one_label_however_written():
    tasks = tasks_of(suite("cp-sat", seeds=[0]), ["fitgpp:s=8", "fitgpp:s=8.0", "fitgpp:s=4"])
    assert [t.label for t in tasks] == ["fitgpp:s=8.0", "fitgpp", "cp-sat", "cp-sat", "cp-sat"], (
        "the reference is exact"
    )
    assert [t.label for t in tasks_of(suite(seeds=[0]), ["fifo"], reference=False)] == ["fifo"]


@pytest.mark.parametrize(
    ("solvers", "said"),
    [
        (["fitgp"], "unknown solver 'fitgp' for suite tiny; there are .*fitgpp"),
        (["fitgpp:z=1"], "unknown parameter 'z'"),
        (["fitgpp:s=many"], "expected a number"),
    ],
)
def test_a_wrong_solver_is_refused_before_any_work(solvers, said):
    with pytest.raises(InvalidInput, match=said):
        tasks_of(suite(), solvers)


def test_an_unknown_objective_is_refused():
    with pytest.raises(UnknownName, match="unknown objective 'cost'"):
        tasks_of(suite(objectives=("cost",)), None)


def test_an_instance_described_twice_is_asked_once():
    one = suite("fifo", seeds=[0]).cases[0]
    same = dataclasses.replace(one, preset=None, sizes={"nodes": 3, "jobs": 9, "tes": 2})
    assert len(tasks_of(dataclasses.replace(suite(), cases=(one, same)), None)) == 1
