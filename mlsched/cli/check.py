"""`mlsched check FILE PLAN`: run the judge. `mlsched check FOLDER`: verify a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlsched.cli import certify, problems
from mlsched.cli.output import ChecksFailed, Json, checking_limits, emit, number, table, waiting
from mlsched.cli.solve import Read, read_instance, read_plan, unit_of
from mlsched.core.errors import InvalidInput
from mlsched.core.safe_open import shown_path

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Default wall seconds of a check, and the most that can be given.
SECONDS, MAX_SECONDS = 300.0, 1e7


def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="Read the instance from this file, e.g. instance.json, or check this folder of a certificate or "
            "reference."
        ),
    ],
    plan: Annotated[
        Path | None,
        typer.Argument(help="Read the plan from this file, e.g. plan.json; omit it for a folder. Default: none."),
    ] = None,
    read: Read = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop the check of a folder after this many wall seconds, e.g. 60. Default: 300."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(help="Read the log of a folder of `mlsched reference` from here, e.g. jobs.csv. Default: none."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a plan, a certificate or a reference, e.g. `mlsched check instance.json plan.json`."""
    reference = problems.module("reference")
    if file.is_dir() and (log is not None or reference.is_reference(file)):
        if log is None or plan is not None or read:
            raise InvalidInput(f"{file}: is a reference; check it with --log LOG only")
        if not reference.is_reference(file):
            raise InvalidInput(f"{file}: is not a reference; give --log with a folder that `mlsched reference` made")
        reference.check(file, log, time_limit_of(time_limit), as_json)
    elif log is not None and not file.exists():
        raise InvalidInput(f"{file}: folder not found; check the path")
    elif log is not None:
        raise InvalidInput(f"--log: is for a folder that `mlsched reference` made; {file} is not a folder")
    elif file.is_dir():
        if plan is not None or read:
            raise InvalidInput(f"{file}: is a folder with its own plan; leave out other arguments")
        _check_certificate(file, time_limit, as_json)
    elif plan is None:
        missing = "is not a folder of a certificate; give an instance file and a plan file"
        raise InvalidInput(f"{file}: {missing if file.exists() else 'file or folder not found; check the path'}")
    elif time_limit is not None:
        raise InvalidInput("--time-limit: is for the folder of a certificate or a reference; leave it out for a plan")
    else:
        _check_plan(file, plan, read, as_json)


def _check_plan(file: Path, plan: Path, read: list[str] | None, as_json: bool) -> None:
    instance, (answer, answers) = read_instance(file, read), read_plan(plan)
    faults = [] if answers in (None, instance.hash) else [f"the plan answers another instance (hash {answers[:12]})"]
    faults += instance.violations(answer)
    values = None if faults else instance.evaluate(answer)
    values_by_name = {} if values is None else instance.values(values)
    document = {
        "instance_hash": instance.hash,
        "feasible": not faults,
        "violations": faults,
        "values": None if values is None else {name: values_by_name[name] for name in values},
        "counts": {name: count for name, count in values_by_name.items() if values is not None and name not in values},
        "sort_keys": values,
    }
    rows = [[name, number(value), unit_of(instance, name)] for name, value in values_by_name.items()]
    deferred = [] if faults else instance.deferrals(answer)
    lines: list[RenderableType] = ["feasible", table("", ["objective", "value", "unit"], rows), *deferred]
    emit(as_json, lambda: document, lambda: faults or lines)
    if faults:
        raise ChecksFailed(f"{plan}: infeasible: {faults[0]}")


def time_limit_of(time_limit: float | None) -> float:
    """Return the wall seconds of a check; raise InvalidInput outside the allowed range."""
    if time_limit is not None and not 0 < time_limit <= MAX_SECONDS:
        raise InvalidInput(f"--time-limit: {time_limit:g}, expected above 0, and at most {MAX_SECONDS:g} s")
    return SECONDS if time_limit is None else time_limit


def _check_certificate(folder: Path, time_limit: float | None, as_json: bool) -> None:
    from mlsched import api

    limit = time_limit_of(time_limit)
    with waiting(f"checking {shown_path(folder.name)}", None), checking_limits(folder, limit):
        checked = api.check_certificate(folder, time_limit=limit)
    emit(as_json, lambda: certify.document(folder, checked), lambda: certify.shown(folder, checked))
    if checked.wrong:
        raise ChecksFailed(f"{folder}: not certified: {checked.wrong[0]}")
