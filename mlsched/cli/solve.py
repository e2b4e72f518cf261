"""`mlsched solve FILE`: answer an instance."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import (
    ChecksFailed,
    Isolate,
    Json,
    Memory,
    Seed,
    complete_solver,
    emit,
    number,
    only_documents,
    result_at_interrupt,
    settings,
    table,
    to_write,
    waiting,
)
from mlsched.core.errors import InvalidFile

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mlsched.cli.output import Columns
    from mlsched.core.contract import Instance, Plan
    from mlsched.core.result import Result

#: Largest number of rows of a plan that is printed as a table.
MAX_ROWS = 40
Read = Annotated[
    list[str] | None,
    typer.Option(
        help="Set an option of the file's reader, e.g. processors=4 for .stg (repeatable). Default: the reader's value."
    ),
]
Goal = Annotated[
    str | None,
    typer.Option(
        help="Choose the objective, e.g. total_jct. Default: the problem's first; makespan for .stg, .sm and .txt "
        "files."
    ),
]


def read_instance(path: Path, options: list[str] | None = None) -> Instance:
    """Return the instance in a file, in mlsched's or a foreign format; raise InvalidFile for other records."""
    from mlsched import api
    from mlsched.core.contract import Instance

    instance = api.load(path, **settings(options or [], "--read"))
    if not isinstance(instance, Instance):
        raise InvalidFile(f"{path}: kind: '{instance.kind}', expected an instance; `mlsched generate` writes one")
    return instance


def read_plan(path: Path) -> tuple[Plan, str | None]:
    """Return the plan in a file of a plan or of a result, and the hash of the instance that it answers."""
    from mlsched import api
    from mlsched.core.contract import Plan
    from mlsched.core.result import Result

    content: Any
    content, answers = api.load_with_hash(path)
    if isinstance(content, Result) and content.plan is not None:
        content, answers = content.plan, content.instance_hash
    if not isinstance(content, Plan):
        raise InvalidFile(f"{path}: kind: '{content.kind}', expected a plan; `mlsched solve -o` writes one")
    return content, answers


def solve(
    file: Annotated[Path, typer.Argument(help="Read the instance from this file, e.g. instance.json.")],
    solver: Annotated[
        str | None,
        typer.Option(
            help="Choose the solver, e.g. cp-sat or fitgpp:s=8. Default: the problem's exact solver.",
            autocompletion=complete_solver,
        ),
    ] = None,
    objective: Goal = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop an exact search after this many wall seconds, e.g. 60. Default: no limit."),
    ] = None,
    threads: Annotated[
        int, typer.Option(help="Set the number of threads, e.g. 4; with 1 thread equal seeds give equal answers.")
    ] = 1,
    seed: Seed = 0,
    read: Read = None,
    output: Annotated[
        Path | None,
        to_write("-o", "--output", text="Write the plan to this file, e.g. plan.json. Default: not written."),
    ] = None,
    plot: Annotated[
        Path | None,
        to_write(text="Draw the plan to this file, e.g. plan.svg, .png or .pdf. Default: not drawn.", picture=True),
    ] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Confirm a proven optimum with a second engine.")] = False,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Search for a dual certificate of the optimum, at most as long as solving took, or one second. Not "
            "for admission and rounds: use `mlsched certify`.",
        ),
    ] = False,
    isolate: Isolate = False,
    memory_limit: Memory = None,
    as_json: Json = False,
) -> None:
    """Solve an instance exactly, by heuristic or by trained policy, e.g. `mlsched solve instance.json`."""
    from mlsched import api
    from mlsched.api.asked import default_solver
    from mlsched.core.request import resolve_objective

    instance = read_instance(file, read)
    if objective is None:
        objective = api.published_objective(file)
    solver_choice = default_solver(instance, resolve_objective(instance, objective).name) if solver is None else solver
    with result_at_interrupt() as interrupted, waiting(solver_choice, time_limit), only_documents():
        result = api.solve(
            instance,
            solver_choice,
            objective=objective,
            time_limit=time_limit,
            threads=threads,
            seed=seed,
            isolate=isolate,
            memory_limit=memory_limit,
            confirm=confirm,
            certify=certify,
        )
    if interrupted() and result.stopped_by != "proof":
        result = dataclasses.replace(result, stopped_by="interrupt")
    if output is not None and result.plan is not None:
        api.save(result.plan, output, instance=instance)
    if plot is not None and result.plan is not None:
        _plot(result, plot)
    emit(as_json, result.to_json, lambda: _render(instance, result, solver or result.solver, confirm, certify))
    if interrupted():
        raise KeyboardInterrupt
    if result.plan is None and result.status == "unknown":
        raise ChecksFailed(f"{file}: {result.solver} found no plan within its limits; give it more time")


def _plot(result: Result, path: Path) -> None:
    from mlsched.benchmark import plan_pictures, plots

    plots.save(plan_pictures.draw_plan(result).figure, path)


def _render(instance: Instance, result: Result, solver_text: str, confirm: bool, certify: bool) -> list[RenderableType]:
    """Return the lines and tables of a result.

    Args:
        instance: The instance.
        result: The result.
        solver_text: The solver with its parameters, as in the call.
        confirm: Whether confirmation was requested.
        certify: Whether a certificate was requested.
    """
    rows = []
    for goal in instance.objectives:
        optimised = goal.name == result.objective
        value = None if result.values is None else result.values[goal.name]
        bound, gap = (result.bound, result.gap) if optimised else (None, None)
        gap_text = "-" if gap is None else f"{100 * gap:.4g} %"
        name = ("* " if optimised else "  ") + goal.name
        rows.append([name, goal.sense, number(value), number(bound), gap_text, goal.unit])
    if result.primary is not None and result.values is not None:
        least_count = None if result.sort_bound is None else result.primary.split(result.sort_bound)[0]
        count = result.values[result.primary.column]
        column = result.primary.column
        rows.append([f"  {column}", "min", number(count), number(least_count), "-", unit_of(instance, column)])
    line = f"{solver_text}: {result.status} in {result.seconds:.3f} s{_evidence(result)}"
    if result.stopped_by in ("time limit", "work limit", "interrupt"):
        line += f" (stopped by the {result.stopped_by})"
    lines: list[RenderableType] = [
        line,
        *([] if result.doubt is None else [result.doubt]),
        *(["nothing to confirm: no optimum is proved"] if confirm and result.status == "feasible" else []),
        *(_reason_without_certificate(instance, result) if certify else []),
        table("", ["objective", "sense", "value", "bound", "gap to bound", "unit"], rows),
    ]
    if result.plan is not None:
        lines.append(_plan(instance, result.plan))
    return lines


def _reason_without_certificate(instance: Instance, result: Result) -> list[str]:
    """Return the reason of a missing certificate."""
    from mlsched.api.certified import missing_certificate

    reason = missing_certificate(instance, result)
    return [] if reason is None else [reason]


def unit_of(instance: Instance, figure: str) -> str:
    """Return the unit of an objective or of a primary criterion: "TE jobs" of "deferred TE jobs"."""
    for goal in instance.objectives:
        if goal.name == figure:
            return goal.unit
        rank = instance.primary(goal.name)
        if rank is not None and rank.column == figure:
            return rank.name.partition(" ")[2].partition(",")[0]
    return ""


def _plan(instance: Instance, plan: Plan) -> Columns | str:
    """Return the plan as a table with names if it is short; else its sizes in a line."""
    from mlsched.core import contract

    if type(instance).table is not contract.Instance.table:
        columns = instance.table(plan)
        rows = [[str(value) for value in row] for row in zip(*columns.values(), strict=True)]
        if len(rows) <= MAX_ROWS:
            return table("", list(columns), rows)
    return repr(plan)


def _evidence(result: Result) -> str:
    """Return the evidence of the proof: ", unconfirmed", ", confirmed (dp, 0.012 s)", or "" without a proof."""
    if result.evidence is None:
        return ""
    confirmation = "" if result.confirmed_by is None else f" ({result.confirmed_by}, {result.confirm_seconds:.3f} s)"
    return f", {result.evidence}{confirmation}"
