"""`mlsched pareto FILE OBJECTIVE OBJECTIVE...`: all non-dominated plans of an instance."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlsched.cli.output import (
    ChecksFailed,
    Json,
    Seed,
    emit,
    number,
    only_documents,
    resume_hint,
    table,
    to_write,
    waiting,
)
from mlsched.cli.solve import Read, read_instance
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput, MlschedError
from mlsched.core.files import atomic_write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mlsched.certificates.checked import Checked
    from mlsched.certificates.claimed import Kind
    from mlsched.solvers.front import Front
    from mlsched.solvers.front.result import Box

#: Number of open regions that are printed.
MAX_REGIONS = 10


def pareto(
    file: Annotated[Path, typer.Argument(help="Read the instance from this file, e.g. instance.json.")],
    objectives: Annotated[
        list[str],
        typer.Argument(metavar="OBJECTIVE...", help="Name two objectives or more, e.g. total_score victim_count."),
    ],
    solver: Annotated[
        str | None, typer.Option(help="Choose the exact solver, e.g. cp-sat, or highs. Default: the problem's.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Choose the method, e.g. epsilon-constraint, laumanns or tamby-vanderpooten. Default: by the number "
            "of objectives."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after this many wall seconds with a partial front, e.g. 60. Default: no limit."),
    ] = None,
    resume: Annotated[
        Path | None,
        to_write(
            text="Record solved sub-problems in this file, e.g. front.jsonl, and continue from it. Default: not "
            "recorded."
        ),
    ] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Confirm every sub-problem with a second engine.")] = False,
    threads: Annotated[
        int, typer.Option(help="Set the number of threads, e.g. 4; with 1 thread equal seeds give equal answers.")
    ] = 1,
    seed: Seed = 0,
    read: Read = None,
    output: Annotated[
        Path | None,
        to_write(
            "-o",
            "--output",
            text="Write the front to this file, e.g. front.csv (one row per point), or .json for mlsched.load. "
            "Default: not written.",
        ),
    ] = None,
    certify: Annotated[
        Path | None,
        typer.Option(help="Write a certificate of the front to this new folder, e.g. proof. Default: not written."),
    ] = None,
    plot: Annotated[
        Path | None,
        to_write(text="Draw the front to this file, e.g. front.svg, .png or .pdf. Default: not drawn.", picture=True),
    ] = None,
    as_json: Json = False,
) -> None:
    """Enumerate the Pareto front of two objectives or more, and prove that it is complete."""
    from mlsched import api
    from mlsched.cli.certify import document as certified_document
    from mlsched.cli.certify import shown as certified_lines

    if output is not None and output.suffix not in WRITERS:
        raise InvalidInput(f"{output}: expected a name ending in .csv (one row per point) or .json (for mlsched.load)")
    instance = read_instance(file, read)
    kind = None
    if certify is not None:
        kind = api.check_objectives(instance, objectives)
        api.check_folder(certify, output, plot, resume, proof=kind)
    with resume_hint(lambda: _resume_message(resume)), _counter(time_limit) as update:
        front = api.pareto(
            instance,
            objectives,
            solver,
            method=method,
            time_limit=time_limit,
            resume=resume,
            threads=threads,
            seed=seed,
            confirm=confirm,
            progress=update,
        )
    if output is not None:
        WRITERS[output.suffix](front, output)
    if plot is not None:
        _plot(front, plot)
    proof, proof_error = (
        (None, None) if certify is None or kind is None else _certify_front(front, certify, kind, time_limit)
    )
    certificate = {} if certify is None or proof is None else {"certificate": certified_document(certify, proof)}
    lines = [] if certify is None or proof is None else certified_lines(certify, proof)
    values = {name: column.tolist() for name, column in front.table().items()}
    document = {"instance_hash": instance.hash, "objectives": objectives, "values": values}
    emit(as_json, lambda: {**document, **front.to_json(), **certificate}, lambda: [*_render(front), *lines])
    if front.status == "failed":
        raise ChecksFailed(f"{file}: the front is not complete: {front.failures[0]}")
    if not len(front) and not len(front.unproven) and not front.complete:
        raise ChecksFailed(f"{file}: no point was found within the limits; give it more time, or resume")
    if proof_error is not None:
        raise proof_error
    if certify is not None and proof is None:
        raise ChecksFailed(f"{certify}: was not made: the front is not complete; give it more time, or resume")


def _certify_front(
    front: Front, folder: Path, proof: Kind, time_limit: float | None
) -> tuple[Checked | None, MlschedError | None]:
    """Return the certificate of the front, or None with the error that prevented it.

    A logic proof needs a complete front. Dual proofs bound the distance of the points from all plans, even for a
    partial front.
    """
    from mlsched import api

    if not front.plans or not (front.complete or proof == "dual"):
        return None, None
    assert front.instance is not None
    assert front.objectives is not None
    try:
        with waiting(f"certifying in {folder}", time_limit) as progress, only_documents():
            return api.certify_front(
                front.instance,
                front.plans,
                folder,
                objectives=front.objectives,
                time_limit=time_limit,
                proof=proof,
                progress=progress,
            ), None
    except MlschedError as error:
        return None, error


def _resume_message(resume: Path | None) -> str:
    if resume is None:
        return "nothing is kept; with --resume FILE an interrupted front can go on"
    return f"the answers so far are in {resume}; the same command goes on"


@contextmanager
def _counter(time_limit: float | None) -> Iterator[Callable[[int, int], None]]:
    """Show points, sub-problems and seconds on standard error if it is a terminal."""
    if not sys.stderr.isatty():
        yield lambda points, solves: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    most = "" if time_limit is None else f"of at most {time_limit:g} s"
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TextColumn(most))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("0 points")
        yield lambda points, solves: bar.update(
            task, description=f"{count_of(points, 'point')}, {count_of(solves, 'sub-problem')}"
        )


def write_csv(front: Front, path: Path) -> None:
    """Write one row per point: the objectives and the primary criterion, then the plan as JSON."""
    columns = front.table()
    with atomic_write(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*columns, "plan"])
        points = zip(*(column.tolist() for column in columns.values()), front.plans or (), strict=True)
        for *values, plan in points:
            writer.writerow([*values, json.dumps(plan.to_json())])


def _write_json(front: Front, path: Path) -> None:
    from mlsched import api

    api.save(front, path)


#: Suffix of a file for a front -> writer.
WRITERS: Mapping[str, Callable[[Front, Path], None]] = {".csv": write_csv, ".json": _write_json}


def _plot(front: Front, path: Path) -> None:
    from mlsched.benchmark import plots

    plots.save(plots.draw_front(front), path)


def _render(front: Front) -> list[RenderableType]:

    columns = front.table()
    points = zip(*(column.tolist() for column in columns.values()), strict=True)
    rows = [[str(index), *map(number, values)] for index, values in enumerate(points)]
    counts = f"{count_of(len(front), 'point')} from {count_of(front.solves, 'solve')}"
    line = f"{front.backend}, {front.method}: {front.status}: {counts}"
    if front.recalled:
        line += f" and {front.recalled} remembered"
    evidence = front.evidence if front.confirmed_by is None else f"{front.evidence} by {front.confirmed_by}"
    lines: list[RenderableType] = [f"{line} in {front.seconds:.3f} s; {evidence}"]
    lines.append(table("", ["point", *columns], rows))
    if len(front.unproven):
        more = front.unproven_table()
        unproven_rows = zip(*(column.tolist() for column in more.values()), strict=True)
        lines.append(
            table("plans without a proof", list(more), [list(map(number, values)) for values in unproven_rows])
        )
    if front.open:
        names = front.objectives or tuple(columns)
        regions = [_region(box, names) for box in front.open[:MAX_REGIONS]]
        title = f"{count_of(len(front.open), 'open region')}: points may be missing there"
        lines.append(table(title, list(names), regions))
        if len(front.open) > MAX_REGIONS:
            lines.append(f"and {len(front.open) - MAX_REGIONS} more (--json lists all)")
    return lines


def _region(box: Box, names: Sequence[str]) -> list[str]:
    """Return the limits of an open region, one text per objective."""
    return [f"{number(low)} to {number(high)}" for low, high, _ in zip(box.lower, box.upper, names, strict=True)]
