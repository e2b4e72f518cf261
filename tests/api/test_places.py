"""Errors of users' code name the file and the line, and keep the error that they come from."""

from __future__ import annotations

import sys

import pytest

from mlsched import api
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.testing import CheckFailed, check_scheduler

INSTANCE = api.generate("preemption", "small", seed=1)
RULES = """
def divides(instance, *, rng):
    return deeper(instance)

def deeper(instance):
    return 1 / 0

def rngless(instance):
    return None

def sees(snapshot, *, rng):
    raise KeyError(snapshot)
"""
PLACE = r"\(placed_rules\.py, line 6\)"


@pytest.fixture(scope="module", autouse=True)
def rules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    (folder / "placed_rules.py").write_text(RULES)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("PYTHONPATH", str(folder))
        yield
    sys.modules.pop("placed_rules", None)


def test_a_call_says_where_and_keeps_the_cause():
    with pytest.raises(SolverError, match=f"divides raised ZeroDivisionError: division by zero {PLACE}") as caught:
        api.solve(INSTANCE, "placed_rules:divides")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_process_of_its_own_says_where():
    with pytest.raises(SolverError, match=PLACE):
        api.solve(INSTANCE, "placed_rules:divides", isolate=True)


def test_a_run_says_where():
    work = api.workload("synthetic:gangs", jobs=3)
    with pytest.raises(SolverError, match=r"sees: .* raised KeyError.*\(placed_rules\.py, line 12\)"):
        api.simulate(work, "placed_rules:sees")


def test_checks_keep_the_cause():
    with pytest.raises(CheckFailed, match=PLACE) as caught:
        check_scheduler("placed_rules:divides", "preemption", raise_failures=True)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_rule_without_rng_is_told_so():
    with pytest.raises(InvalidInput, match=r"add `\*, rng` to its parameters"):
        api.solve(INSTANCE, "placed_rules:rngless")
