"""Numbers are what their names say, in every problem: printed, exported, in JSON, in tables, files and DataFrames.

Each is held against a recomputation by its name: base values apart from the judge's rank, and who waits counted from
the plan.
"""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from draws import draws
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import mlsched
from mlsched.benchmark.export import export
from mlsched.cli.main import run
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
from mlsched.core.result import Result

PROBLEMS = tuple(sorted(registry().problems))
#: Fields of a plan that say who waits, and how: of problems in which that is compared first.
WAITS = {"preemption": lambda plan: (plan.te_node < 0).sum(), "admission": lambda plan: (plan.start == 0).sum()}
COLUMN = {"preemption": "deferred", "admission": "waiting"}


def recomputed(instance: Any, plan: Any) -> dict[str, int]:
    """Objective -> its own value, and how many wait: sums over the plan where something is compared first."""
    values = instance.evaluate(plan)
    if instance.problem == "preemption":
        victims = plan.victims.tolist()
        return {
            "total_score": sum(int(instance.score[j]) for j in victims),
            "victim_count": len(victims),
            "max_grace_period": max((int(instance.job_grace[j]) for j in victims), default=0),
            "deferred": int(WAITS["preemption"](plan)),
        }
    if instance.problem == "admission":
        weight = int(sum(instance.waiting_weight[plan.start == 0].tolist()))
        values = {name: value - weight * instance.primary(name).weight for name, value in values.items()}
        return {**values, "waiting": int(WAITS["admission"](plan))}
    assert all(instance.primary(name) is None for name in values), (
        "a problem that compares something first is added here"
    )
    return dict(values)


def solvers(problem: str) -> list[str]:
    """Who answers the main question of a problem without training or long search."""
    asks = registry().problem(problem).instance_type.called
    rules = [a.name for a in mlsched.solvers.available(problem, "heuristic") if a.called == asks]
    return [registry().problem(problem).default, *rules]


def check_result(result: Result, names: dict[str, int]) -> None:
    """A result's own numbers, its table, DataFrame and JSON document."""
    objectives = [name for name in names if name not in COLUMN.values()]
    assert result.values == names
    assert result.value == names[result.objective]
    table, frame, document = result.table(), result.dataframe(), json.loads(json.dumps(result.to_json()))
    for name, value in names.items():
        assert table[name] == [value], name
        assert frame[name].tolist() == [value], name
    assert document["values"] == {name: names[name] for name in objectives}
    assert table["value"] == [document["value"]] == [names[result.objective]]
    assert str(names[result.objective]) in repr(result)
    assert document["sort_keys"]["values"] == result.instance.evaluate(result.plan)
    if result.status == "optimal":
        assert result.bound == document["bound"] == table["bound"][0] == result.value


@pytest.mark.parametrize("problem", PROBLEMS)
@settings(max_examples=draws(4, 60), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_what_python_shows_agrees_with_a_recomputation_by_name(problem, data):
    instance = data.draw(registry().problem(problem).strategy())
    name = data.draw(st.sampled_from(solvers(problem)))
    goal = data.draw(st.sampled_from([objective.name for objective in instance.objectives]))
    try:
        result = mlsched.solve(instance, name, objective=goal, time_limit=20)
    except MlschedError:
        assume(False)  # an instance that the solver refuses
    assume(result.plan is not None)
    check_result(result, recomputed(instance, result.plan))


def called(*arguments: Any) -> str:
    """What a command prints."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run([str(a) for a in arguments])
    assert status == 0, err.getvalue()
    return out.getvalue()


def printed(text: str, names: dict[str, int]) -> dict[str, str]:
    """Name -> the number in the line of a printed table that begins with it."""
    return {name: found[1] for name in names if (found := re.search(rf"^\W*{name}\s+([\d,.-]+)", text, re.MULTILINE))}


def hard(problem: str) -> Any:
    """An instance; of preemption, one in which a TE job must wait."""
    seed = 1 if problem == "preemption" else 0
    return mlsched.generate(problem, preset="surge" if problem == "preemption" else "small", seed=seed)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_is_printed_saved_and_exported_agrees_with_a_recomputation_by_name(problem, tmp_path):
    instance, name = hard(problem), solvers(problem)[:2][-1]  # a rule, where one answers such instances
    result = mlsched.solve(instance, name)
    names = recomputed(instance, result.plan)
    file, plan = tmp_path / "suite" / "0.json", tmp_path / "plan.json"
    file.parent.mkdir()
    mlsched.save(instance, file)
    mlsched.save(result.plan, plan, instance=instance)

    checked = json.loads(called("check", file, plan, "--json"))
    assert checked["values"] | checked["counts"] == names
    assert checked["sort_keys"] == instance.evaluate(result.plan)
    shown = printed(called("check", file, plan), names)
    assert {key: int(value.replace(",", "")) for key, value in shown.items()} == names
    solved = json.loads(called("solve", file, "--solver", name, "--json"))
    assert solved["value"] == names[result.objective]
    assert solved["values"].items() <= names.items()

    mlsched.save(result, tmp_path / "result.json")
    check_result(mlsched.load(tmp_path / "result.json"), names)

    rows = mlsched.run_suite(str(file.parent), solvers=[name], reference=False)
    export(rows, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8") as stream:
        found = [row for row in csv.DictReader(stream) if row["objective"] == result.objective]
        assert found
        for row in found:
            assert int(row["value"]) == names[row["objective"]]
            if problem == "preemption":
                assert int(row["count"]) == names[COLUMN[problem]]


def test_plans_that_make_jobs_wait_are_among_them():
    """There the value that orders plans is another than the one that is read."""
    instance = hard("preemption")
    result = mlsched.solve(instance, "fifo")
    assert result.values["deferred"] > 0
    assert result.sort_key != result.value
