"""Formulations are mathematics: nothing in `mlsched/formulations` starts a solver, a thread or a process."""

from __future__ import annotations

import ast
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import installed
import pytest

import mlsched
from mlsched.core.formulation import NO_LIMITS
from mlsched.core.registry import registry

FOLDER = Path(mlsched.__file__).parent / "formulations"
#: Modules that start threads or processes, or hold algorithms that search.
MODULES = {"asyncio", "concurrent", "multiprocessing", "mlsched.solvers", "queue", "subprocess", "threading"}
#: Names whose use starts a solver, and methods that run one.
STARTERS = {"CpSolver", "Highs", "SolveWrapper", "SolverFactory", "linprog", "milp"}
METHODS = {"run", "solve"}


def starters(source: str) -> Iterator[str]:
    """What in a piece of code starts a solver, a thread or a process, a sentence each."""
    for node in ast.walk(ast.parse(source)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
        for module in modules:
            if any(module == bad or module.startswith(bad + ".") for bad in MODULES):
                yield f"line {node.lineno} imports {module}"
        if isinstance(node, ast.ImportFrom):
            yield from (f"line {node.lineno} imports {n.name}" for n in node.names if n.name in STARTERS)
        if isinstance(node, ast.Attribute) and node.attr in STARTERS:
            yield f"line {node.lineno} uses {node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield f"line {node.lineno} calls {node.func.attr}()"


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_formulation_starts_no_solver_thread_or_process(path):
    assert list(starters(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "from ortools.sat.python import cp_model\nsolver = cp_model.CpSolver()",
        "from ortools.sat.python.cp_model import CpSolver",
        "import highspy\nhighspy.Highs()",
        "import pyomo.environ as pyo\npyo.SolverFactory('highs')",
        "from scipy.optimize import linprog",
        "import threading",
        "from concurrent.futures import ThreadPoolExecutor",
        "import subprocess",
        "from mlsched.solvers.backends import cp_sat",
        "def f(made):\n    made.solve()",
    ],
)
def test_the_check_sees_whatever_starts_one(source):
    assert list(starters(source))


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("a formulation started a solver, a thread or a process")


def test_building_every_model_starts_nothing(monkeypatch):
    """The same by experiment: each builder that is registered here builds its model while nothing can be started."""
    import highspy
    from ortools.sat.python import cp_model

    solvers = registry().available(kind="exact")
    monkeypatch.setattr(cp_model.CpSolver, "solve", refuse)
    monkeypatch.setattr(highspy.Highs, "run", refuse)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    built = set()
    for solver in solvers:
        if solver.fronts_by is None or ".formulations." not in solver.model.__module__:
            continue
        instance = mlsched.generate(solver.problem, preset="small", seed=0)
        solver.model(instance, objectives=(instance.objectives[0].name,), limits=NO_LIMITS)
        built.add(solver.problem)
    assert built == set(installed.problems("admission", "preemption", "quality", "rounds", "taskgraph"))
