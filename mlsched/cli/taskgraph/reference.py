"""`mlsched reference LOG`: bounds on the best schedule of a log from both sides, with a certificate."""

from __future__ import annotations

import dataclasses
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli.output import (
    ChecksFailed,
    Json,
    Seed,
    checking_limits,
    emit,
    number,
    only_documents,
    resume_hint,
    settings,
    waiting,
)
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.safe_open import shown_path

#: Largest number of faults that are printed.
MAX_FAULTS = 20

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.reference.folder import Reference


def reference(
    log: Annotated[
        str,
        typer.Argument(
            help="Read jobs from a log or workload file, e.g. jobs.csv, or from synthetic:NAME, sample:NAME or "
            "data:NAME."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Write the reference to this folder, e.g. ref; an existing one is continued."
        ),
    ],
    cluster: Annotated[
        str | None,
        typer.Option(
            help='Set the cluster of a log, e.g. "84x(32cpu,256gb,8gpu)" or nodes.csv. Default: from the log.'
        ),
    ] = None,
    read: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,...",
            help="Name the columns of your log, e.g. submit=queued,duration=hours:h,gpus=g. Default: recognised by "
            "name.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Keep only the first N jobs, e.g. 1000. Default: all jobs.", min=1)
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set an option of the log, e.g. oversize=drop (repeatable). Default: its own.",
        ),
    ] = None,
    pausing: Annotated[bool, typer.Option(help="Allow jobs to pause and to resume on other nodes.")] = False,
    weights: Annotated[
        str, typer.Option(help="Choose the weight of a job, e.g. area, urgency, class, or jobs (weight 1).")
    ] = "jobs",
    moves: Annotated[
        int | None,
        typer.Option(
            help="Set the number of search moves, e.g. 20000; --pausing changes ranks once per 100. Default: 5000.",
            min=0,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after this many wall seconds and keep the best, e.g. 600. Default: no limit."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Bound the best schedule of a log from both sides. Re-run to continue an interrupted search."""
    from mlsched import api
    from mlsched.core.deadline import Deadline

    given: Data = {"cluster": cluster, "read": read, "limit": limit, "set": settings(option or [], "--set")}
    if time_limit is not None and not time_limit >= 0:
        raise InvalidInput(f"time_limit: {time_limit}, expected a number from 0 on")
    workload = _workload(log, given)
    deadline = Deadline(time_limit)
    moves_option = {} if moves is None else {"moves": moves}
    with waiting(f"reference of {count_of(len(workload.submit), 'job')}", time_limit) as tell, only_documents():

        def report(stage: str, made: int, value: int) -> bool:
            tell(f"{stage}: {value}" + (f" after {count_of(made, 'move')}" if made else ""))
            return deadline.passed()

        with resume_hint(lambda: _resume_message(output)):
            result = api.make_reference(
                workload,
                output,
                pausing=pausing,
                weights=weights,
                seed=seed,
                log_options=given,
                progress=report,
                **moves_option,
            )
    emit(as_json, lambda: document(output, result), lambda: shown(output, result))


def _resume_message(output: Path) -> str:
    if is_reference(output):
        return f"what was reached is in {output}; the same command goes on with it"
    return f"nothing was reached yet that could be kept in {output}"


def _workload(log: str, log_options: Data) -> Any:
    from mlsched import api
    from mlsched.core.params import parameters_of, resolve
    from mlsched.instances.traces.builder import LogOptions

    options = dict(log_options["set"])
    log_parameters = parameters_of(LogOptions)
    options |= resolve("--set", log_parameters, {name: options.pop(name) for name in log_parameters if name in options})
    own = {p.name for p in inspect.signature(api.workload).parameters.values() if p.kind is not p.VAR_KEYWORD}
    for name in sorted((own & set(options)) - set(log_parameters)):
        raise InvalidInput(f"--set {name}: is not an option of a log; use the command's own option")
    return api.workload(
        log,
        "taskgraph",
        cluster=log_options["cluster"],
        read=log_options["read"],
        limit=log_options["limit"],
        simulator=_simulator(log),
        **options,
    )


def _simulator(log: str) -> str | None:
    """Return "iterations", the simulator of synthetic task graphs here, or None for a file, which names its own."""
    return "iterations" if log.startswith("synthetic:") else None


def document(folder: Path, reference_: Reference) -> Data:
    """Return a reference as JSON."""
    return {"folder": str(folder), **dataclasses.asdict(reference_), "width": reference_.width}


def shown(folder: Path, reference_: Reference) -> list[str]:
    """Return a reference as lines."""
    from mlsched.benchmark.formats import gap

    kind = "with pauses" if reference_.pausing else "without pauses"
    weight_note = "" if reference_.weights == "jobs" else f", weighted by {reference_.weights}"
    unit = "ticks" if reference_.weights == "jobs" else "ticks x weight"
    return [
        f"{reference_.source}",
        f"{count_of(reference_.jobs, 'job')} on {reference_.cluster}, {kind}{weight_note}",
        f"no schedule has less than {number(reference_.bound)} {unit} of completion - arrival in all; one has "
        f"{number(reference_.value)}, {gap(reference_.width)} more ({reference_.how})",
        f"{folder}: `mlsched check {folder} --log LOG` recomputes both",
    ]


def is_reference(folder: Path) -> bool:
    """Return whether a folder was written by this command; a certificate with missing files is not a reference."""
    from mlsched.simulation.taskgraph.iterations.reference.folder import MANIFEST

    certificate = any(os.path.lexists(folder / name) for name in ("instance.json", "checker.py"))
    return (folder / MANIFEST).exists() and not certificate


def check(folder: Path, log: str, seconds: float, as_json: bool) -> None:
    """Recompute a reference from its log."""
    from mlsched import api
    from mlsched.simulation.taskgraph.iterations.reference.proof import said

    claim = api.read_reference(folder)
    given = claim.log_options
    for name, kind in (("cluster", str), ("read", str), ("limit", int)):
        if given.get(name) is not None and not isinstance(given[name], kind):
            raise InvalidFile(f"{folder}: log_options: {name}: is of the wrong type")
    if not isinstance(given.get("set", {}), dict):
        raise InvalidFile(f"{folder}: log_options: set: expected an object")
    workload = _workload(log, {"cluster": None, "read": None, "limit": None, "set": {}, **given})
    with waiting(f"checking {shown_path(folder.name)}", None), checking_limits(folder, seconds):
        claim, values, faults = api.check_reference(folder, workload, time_limit=seconds)
    if not faults:  # names of log and cluster, which the log itself states
        claim = dataclasses.replace(claim, source=said(workload.source), cluster=workload.cluster)
    checked_document = document(folder, claim) | {"recomputed": values, "violations": faults}
    lines = [*shown(folder, claim)[:3], "both sides hold: recomputed from the log"]
    omission = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    emit(as_json, lambda: checked_document, lambda: faults[:MAX_FAULTS] + omission or lines)
    if faults:
        raise ChecksFailed(f"{folder}: does not hold: {faults[0]}")
