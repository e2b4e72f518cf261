"""`mlsched worst SOLVER`: the instances with the largest gaps of a solver, its plans beside the optimum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlsched.cli.output import (
    Json,
    Preset,
    Seed,
    Sizes,
    complete_problem,
    complete_solver,
    emit,
    only_documents,
    settings,
    table,
    to_write,
    waiting,
)
from mlsched.cli.solve import Goal, Read, read_instance
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mlsched.benchmark.worst import Losses
    from mlsched.core.contract import Instance


def worst(
    solver: Annotated[
        str,
        typer.Argument(
            help="Choose the solver, e.g. fitgpp, or your own as MODULE:FUNCTION.", autocompletion=complete_solver
        ),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Read instances from these files, e.g. instance.json. Default: draw them with --problem.",
        ),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(
            help="Draw instances of this problem, e.g. preemption. Default: read the files.",
            autocompletion=complete_problem,
        ),
    ] = None,
    preset: Preset = None,
    size: Sizes = None,
    count: Annotated[int, typer.Option(help="Set the number of instances to draw, e.g. 100.", min=1)] = 20,
    most: Annotated[int, typer.Option(help="Set the number of instances to show, e.g. 5.", min=1)] = 3,
    best: Annotated[
        str | None, typer.Option(help="Choose the exact solver of the optimum, e.g. cp-sat. Default: the problem's.")
    ] = None,
    objective: Goal = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop the search for each optimum after this many wall seconds, e.g. 60. Default: no limit."),
    ] = None,
    seed: Seed = 0,
    read: Read = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the instances and both plans to this folder, e.g. worst. Default: not written.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        to_write(
            text="Draw the plan beside the optimum to this file, e.g. worst.svg, .png or .pdf. Default: not drawn.",
            picture=True,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the instances with the largest gap of a solver to the optimum."""
    from mlsched import api
    from mlsched.benchmark import worst as losses

    instances: dict[str, Instance]
    if (problem is None) == (not files):
        raise InvalidInput("worst: give instance files, or --problem to draw instances")
    if problem is not None:
        sizes = settings(size or [], "--size")
        instances = {f"seed {s}": api.generate(problem, preset, s, **sizes) for s in range(seed, seed + count)}
    else:
        instances = {path.name: read_instance(path, read) for path in files or ()}
        objective = objective or api.published_objective((files or [])[0])
    count, interrupted = len(instances), False
    with waiting(f"{solver} and the optimum of {count} instances", None) as tell, only_documents():
        try:
            worst_losses = losses.worst_cases(
                solver,
                instances,
                most=most,
                best=best,
                objective=objective,
                time_limit=time_limit,
                report=lambda losses_so_far: tell(
                    f"worst so far {losses_so_far[0].gap} on {losses_so_far[0].name}" if losses_so_far else ""
                ),
            )
        except losses.Interrupted as interruption:
            worst_losses, count, interrupted = interruption.losses, interruption.done, True
    if output is not None:
        _write(worst_losses, output)
    if plot is not None and worst_losses:
        losses.plot_losses(worst_losses, plot)
    emit(as_json, lambda: {"instances": count, **worst_losses.table()}, lambda: _render(worst_losses, count))
    if interrupted:
        raise KeyboardInterrupt


def _write(worst_losses: Losses, folder: Path) -> None:
    """Write the instance, the solver's result and the best result of each gap."""
    from mlsched import api

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be made: {error.strerror}") from None
    for place, loss in enumerate(worst_losses, start=1):
        api.save(loss.instance, folder / f"{place}.json")
        api.save(loss.result, folder / f"{place}.{loss.result.solver}.json")
        api.save(loss.best, folder / f"{place}.{loss.best.solver}.json")


def _render(worst_losses: Losses, count: int) -> list[RenderableType]:
    if not worst_losses:
        return [f"none of {count_of(count, 'instance')} has a feasible plan"]
    first = worst_losses[0]
    rows = [[loss.name, *loss.worded, loss.best.status, str(loss.gap)] for loss in worst_losses]
    which = f"{len(worst_losses)} worst of {count_of(count, 'instance')}"
    title = f"{first.result.solver}: {first.result.objective} [{first.result.unit}], {which}"
    return [table(title, ["instance", "value", first.best.solver, "which is", "gap"], rows)]
