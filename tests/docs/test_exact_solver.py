"""The example of an exact solver of a user's: it is the guide's, it agrees with others, and a limit ends it well."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from documentation import DOCS, ROOT, blocks

import mlsched

EXAMPLE = ROOT / "examples" / "exact_solver.py"


@pytest.fixture(scope="module")
def answer() -> Any:
    return runpy.run_path(str(EXAMPLE))["answer"]


def test_the_guide_has_the_example():
    block = next(block for block in blocks(DOCS / "guides" / "exact-solver.md") if block.file == "exact_solver.py")
    assert block.text.partition("\n")[2] in EXAMPLE.read_text(encoding="utf-8")


@pytest.mark.parametrize("objective", ["total_score", "victim_count", "max_grace_period"])
def test_it_proves_the_optimum(answer, objective):
    for preset, seed in (("small", 1), ("surge", 2)):
        instance = mlsched.generate("preemption", preset, seed)
        found = mlsched.solve(instance, answer, objective=objective)
        assert (found.status, found.sort_key) == ("optimal", mlsched.solve(instance, objective=objective).sort_key)


def test_a_limit_leaves_a_bound_that_the_judge_accepts(answer):
    instance = mlsched.generate("preemption", "paper-surge", 1)
    found = mlsched.solve(instance, answer, objective="total_score", time_limit=0.01)
    best = mlsched.solve(instance, objective="total_score")
    assert found.status in ("unknown", "feasible", "optimal")
    assert found.sort_bound is None or found.sort_bound <= best.sort_key
