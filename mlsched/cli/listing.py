"""`mlsched list WHAT`: problems, solvers, suites and further lists."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlsched.cli.output import Json, complete_problem, emit, listing_of
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput


def list_(
    what: Annotated[str, typer.Argument(help="Choose the list, e.g. solvers; problems, suites or experiments.")],
    problem: Annotated[
        str | None,
        typer.Option(
            help="Restrict the list to a problem, e.g. preemption. Default: all problems.",
            autocompletion=complete_problem,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List problems, solvers, suites or experiments."""
    from mlsched.cli import inventory

    entries = inventory.entries(what)
    if problem is not None:
        key = {"problems": "name", "solvers": "problem"}.get(what)
        if key is None:
            raise InvalidInput(
                f"--problem: {what} do not belong to a problem; list problems or solvers, or leave it out"
            )
        inventory.check_problem(problem)
        entries = [entry for entry in entries if entry[key] == problem]
    emit(as_json, lambda: {what: entries}, lambda: [listing_of(_described(what, entry) for entry in entries)])


def _described(what: str, entry: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return a name with its description lines as (label, text)."""
    if what == "solvers":
        parts = [f"{entry['kind']} for {entry['problem']}", entry["information"]]
        goals, settings = ", ".join(entry["objectives"]), _pairs(entry["parameters"])
        parts += [f"for {goals}"] if goals and entry["kind"] == "exact" else []
        head = f"{entry['name']}: {', '.join(parts)}"
        return head, [("", entry["about"]), *([("", f"parameters: {settings}")] if settings else [])]
    if what == "problems":
        labels = ("paper", "objectives", "presets", "sizes")
        texts = {"sizes": _pairs(entry["sizes"])} | {k: ", ".join(entry[k]) for k in ("objectives", "presets")}
        lines = [(label, texts.get(label, entry[label])) for label in labels]
        return f"{entry['name']}: {entry['about']}", lines
    return str(entry["name"]), [("", str(entry["about"]))]


def _pairs(values: Data) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())
