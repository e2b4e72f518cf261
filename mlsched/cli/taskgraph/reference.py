"""`mlsched reference LOG`: how good the best schedule of a log can be, and is, with a certificate."""

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
    checking,
    emit,
    going_on,
    number,
    only_documents,
    settings,
    waiting,
)
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.safe_open import shown_path

#: Sentences on what does not hold that are shown.
MOST_SHOWN = 20

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

    given: dict[str, Any] = {"cluster": cluster, "read": read, "limit": limit, "set": settings(option or [], "--set")}
    if time_limit is not None and not time_limit >= 0:
        raise InvalidInput(f"time_limit: {time_limit}, expected a number from 0 on")
    workload = _workload(log, given)
    deadline = Deadline(time_limit)
    many = {} if moves is None else {"moves": moves}
    with waiting(f"reference of {count_of(len(workload.submit), 'job')}", time_limit) as tell, only_documents():

        def told(stage: str, made: int, value: int) -> bool:
            tell(f"{stage}: {value}" + (f" after {count_of(made, 'move')}" if made else ""))
            return deadline.passed()

        with going_on(lambda: _kept(output)):
            found = api.make_reference(
                workload, output, pausing=pausing, weights=weights, seed=seed, log_options=given, progress=told, **many
            )
    emit(as_json, lambda: document(output, found), lambda: shown(output, found))


def _kept(output: Path) -> str:
    if is_reference(output):
        return f"what was reached is in {output}; the same command goes on with it"
    return f"nothing was reached yet that could be kept in {output}"


def _workload(log: str, given: dict[str, Any]) -> Any:
    from mlsched import api
    from mlsched.core.params import parameters_of, resolve
    from mlsched.instances.traces.builder import LogOptions

    options = dict(given["set"])
    reading = parameters_of(LogOptions)
    options |= resolve("--set", reading, {name: options.pop(name) for name in reading if name in options})
    own = {p.name for p in inspect.signature(api.workload).parameters.values() if p.kind is not p.VAR_KEYWORD}
    for name in sorted((own & set(options)) - set(reading)):
        raise InvalidInput(f"--set {name}: is no option of a log; what has an option of its own is given with that")
    return api.workload(log, "taskgraph", cluster=given["cluster"], read=given["read"], limit=given["limit"],
                        simulator=_simulator(log), **options)  # fmt: skip


def _simulator(log: str) -> str | None:
    """Task graphs of synthetic names run by iterations here; a file says itself what it is."""
    return "iterations" if log.startswith("synthetic:") else None


def document(folder: Path, found: Reference) -> dict[str, Any]:
    """A reference as JSON."""
    return {"folder": str(folder), **dataclasses.asdict(found), "width": found.width}


def shown(folder: Path, found: Reference) -> list[str]:
    """The same for people."""
    from mlsched.benchmark.formats import gap

    kind = "with pauses" if found.pausing else "without pauses"
    weighted = "" if found.weights == "jobs" else f", weighted by {found.weights}"
    unit = "ticks" if found.weights == "jobs" else "ticks x weight"
    return [
        f"{found.source}",
        f"{count_of(found.jobs, 'job')} on {found.cluster}, {kind}{weighted}",
        f"no schedule has less than {number(found.bound)} {unit} of completion - arrival in all; one has "
        f"{number(found.value)}, {gap(found.width)} more ({found.how})",
        f"{folder}: `mlsched check {folder} --log LOG` recomputes both",
    ]


def is_reference(folder: Path) -> bool:
    """Whether a folder is one that this command made; else it may be a certificate, of which a file is missing."""
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
    with waiting(f"checking {shown_path(folder.name)}", None), checking(folder, seconds):
        claim, values, wrong = api.check_reference(folder, workload, time_limit=seconds)
    if not wrong:  # what the log is called, and how its cluster is, the log itself says
        claim = dataclasses.replace(claim, source=said(workload.source), cluster=workload.cluster)
    found = document(folder, claim) | {"recomputed": values, "violations": wrong}
    lines = [*shown(folder, claim)[:3], "both sides hold: recomputed from the log"]
    more = [f"and {len(wrong) - MOST_SHOWN} more"] if len(wrong) > MOST_SHOWN else []
    emit(as_json, lambda: found, lambda: wrong[:MOST_SHOWN] + more or lines)
    if wrong:
        raise ChecksFailed(f"{folder}: does not hold: {wrong[0]}")
