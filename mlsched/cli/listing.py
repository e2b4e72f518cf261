"""`mlsched list WHAT`: what there is."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import Json, emit, table

if TYPE_CHECKING:
    from mlsched.core.registry import Answerer


class What(StrEnum):
    """What can be listed."""

    problems = "problems"
    solvers = "solvers"
    suites = "suites"
    experiments = "experiments"


def list_(
    what: Annotated[What, typer.Argument(help="What to list.")],
    problem: Annotated[str | None, typer.Option(help="Only the solvers of this problem.")] = None,
    as_json: Json = False,
) -> None:
    """List problems, solvers, suites or experiments."""
    from mlsched.core.registry import registry

    if what is What.problems:
        entries = [_problem(name) for name in sorted(registry().problems)]
    elif what is What.solvers:
        entries = [_solver(a) for a in registry().available(problem)]
    elif what is What.suites:
        from mlsched.benchmark.suites import SUITES

        entries = [{"name": name, "about": about} for name, about in SUITES.docs.items()]
    else:
        from mlsched.benchmark.experiments import EXPERIMENTS

        entries = [{"name": e.name, "about": e.doc} for e in EXPERIMENTS.values()]
    header = list(entries[0]) if entries else ["name"]
    rows = [[_cell(entry[key]) for key in header] for entry in entries]
    emit(as_json, lambda: {what.value: entries}, lambda: [table("", header, rows)])


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def _problem(name: str) -> dict[str, Any]:
    from mlsched.core.params import parameters_of
    from mlsched.core.registry import registry

    problem = registry().problems[name]
    return {
        "name": name,
        "about": problem.title,
        "paper": problem.paper,
        "objectives": [f"{o.name} ({o.sense})" for o in problem.instance_type.objectives],
        "presets": list(problem.presets),
        "sizes": {p.name: p.default for p in parameters_of(problem.generate).values()},
    }


def _solver(answerer: Answerer) -> dict[str, Any]:
    return {
        "name": answerer.name,
        "problem": answerer.problem,
        "kind": answerer.kind,
        "information": answerer.information,
        "objectives": list(answerer.objectives),
        "parameters": {p.name: p.default for p in answerer.parameters.values()},
        "about": answerer.summary,
    }
