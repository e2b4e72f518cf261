"""The plain models that the defaults are held against are right: they find what brute force finds."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from ortools.sat.python import cp_model
from taskgraph_examples import small

import mlsched
from mlsched.benchmark.plain import build
from mlsched.core.contract import Instance
from mlsched.core.registry import registry
from mlsched.instances.placement.models import KINDS

MEASUREMENTS = Path(__file__).resolve().parents[2] / "measurements"
#: Knobs of tiny instances of each problem that the preset "small" leaves alone.
DRAWN = {
    "taskgraph": [
        {"runs": 5, "longest": 4, "optional": 0.6, "movement": movement, "accuracy_at": at, "graph": "dags"}
        for movement in ("none", "between_iterations")
        for at in ("deadline", "final")
    ]
    + [{"runs": 6, "longest": 4, "nodes": 2, "gpus": 2, "sharing": share} for share in (0.5, 1.0)],
    "placement": [
        {"model": kind, "servers": 2, "contention": 1.2, "all_reduce": share, "most_new": 2}
        for kind in KINDS
        for share in (0.0, 0.5)
    ],
    "workers": [{"speed": "table", "gaps": 0.3, "jobs": 3, "waiting": "pair"}],
    "preemption": [{"tes": 3, "nodes": 2, "jobs": 6}],
    "quality": [{"least": 0, "jobs": 3, "important": 0.5, "cap": 6}, {"rounding": "fluid", "jobs": 3}],
}


def value_of_plain(instance: Instance, objective: str) -> int | None:
    """The judge's value of the plain model's plan; None when the model has none."""
    model, plan = build(instance, objective)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    found = plan(solver)
    assert instance.violations(found) == []
    value = instance.evaluate(found)[objective]
    assert round(solver.objective_value) == value
    return value


def agree(instance: Instance) -> None:
    for objective in instance.objectives:
        best = mlsched.solve(instance, "brute-force", objective=objective.name)
        assert value_of_plain(instance, objective.name) == best.sort_key, objective.name


@pytest.mark.parametrize("problem", DRAWN)
def test_preset_for_brute_force(problem: str) -> None:
    for seed in range(3):
        agree(mlsched.generate(problem, "small", seed=seed))


@pytest.mark.parametrize(("problem", "knobs"), [(problem, k) for problem, drawn in DRAWN.items() for k in drawn])
def test_other_knobs(problem: str, knobs: dict) -> None:
    for number in range(3):
        agree(registry().problem(problem).generate(np.random.default_rng([91, number]), **knobs))


def test_task_graph_by_hand() -> None:
    agree(small())
    agree(small(movement="between_iterations"))


def test_separated_types_and_tasks_network() -> None:
    drawn = mlsched.generate("placement", "small", seed=4)
    agree(drawn.replace(apart=np.ones_like(drawn.apart)))
    agree(drawn.replace(network_at="tasks"))


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--problem", "quality", "--preset", "small", "--seeds", "1000", "--json"]
    monkeypatch.setattr(sys, "argv", ["plain.py", *given])
    runpy.run_path(str(MEASUREMENTS / "plain.py"), run_name="__main__")
    shown = capsys.readouterr()
    assert shown.err.count("proven by plain  1, by default  1") == 2
    assert [table["name"] for table in json.loads(shown.out)["tables"]][-1] == "quality"
