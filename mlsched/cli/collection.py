"""`mlsched collection`: instances with their best known plans, that anyone can check and improve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mlsched.cli.output import ChecksFailed, Json, emit, only_documents, progress, say

collection = typer.Typer(help="Instances with best known plans and bounds, that anyone can check and improve.")
Folder = Annotated[Path, typer.Argument(help="Folder of the collection.")]
By = Annotated[str, typer.Option(help="Whose the plan is, for the history.")]


@collection.command()
def make(
    folder: Folder,
    suite: Annotated[str, typer.Option(help="Instances: a suite, a folder of instances, or a .toml file.")] = "quick",
    name: Annotated[str, typer.Option(help="Name of the collection.")] = "mlsched-bench",
    seeds: Annotated[int | None, typer.Option(help="Only so many seeds per preset.", min=1)] = None,
    work: Annotated[float, typer.Option(help="Deterministic seconds per solve (nodes: 250 per second).")] = 10.0,
    proofs: Annotated[float | None, typer.Option(help="Certify optima, in so many wall seconds each.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a collection that was interrupted.")] = False,
    as_json: Json = False,
) -> None:
    """Write a collection: the suite's instances by their first objective, each with what an exact solver finds."""
    from mlsched.benchmark.collection import create, described, rewrite_card, write_table
    from mlsched.benchmark.gather import gather, tasks_for

    tasks = tasks_for(suite, seeds)
    if resume:
        described(folder)
    else:
        create(folder, name, f"The instances of suite {Path(suite).name}. Made and checked by mlsched.")
    with progress(name, 1.0) as update, only_documents():
        counts = gather(folder, tasks, work, proofs, lambda done, total: update(done / max(1, total)))
    write_table(folder)
    rewrite_card(folder)
    emit(as_json, lambda: counts, lambda: [_sentence(folder, counts)])
    if disputed := counts["disputed"]:
        for sentence in disputed[1:]:
            say(sentence)
        raise ChecksFailed(disputed[0])


def _sentence(folder: Path, counts: dict[str, Any]) -> str:
    evidences = ", ".join(
        f"{counts[name]} {name}" for name in ("certified", "confirmed", "unconfirmed", "open") if counts[name]
    )
    return f"{folder}: {counts['entries']} entries: {evidences}; {counts['cpu_seconds']:.0f} CPU s"


@collection.command()
def verify(
    folder: Folder,
    recompute: Annotated[
        float | None, typer.Option(help="Search anew for each bound without a certificate, so many wall seconds each.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Judge every plan anew, check every certificate, and hold values, bounds, hashes and table against each other."""
    from mlsched.benchmark.collection import verify as faults

    with progress("verify", 1.0) as update, only_documents():
        report = faults(folder, recompute, lambda done, total: update(done / max(1, total)))
    bounds = ", ".join(f"{count} {standing}" for standing, count in report.bounds.items())
    sentence = f"{report.entries} entries, {len(report.wrong)} wrong; bounds: {bounds or 'none'}"
    document = {"entries": report.entries, "wrong": list(report.wrong), "bounds": report.bounds}
    emit(as_json, lambda: document, lambda: [sentence])
    if report.wrong:
        for fault in report.wrong[1:]:
            say(fault)
        raise ChecksFailed(report.wrong[0])


@collection.command()
def submit(
    folder: Folder,
    instance: Annotated[Path, typer.Argument(help="Instance file.")],
    plan: Annotated[Path, typer.Argument(help="Plan file.")],
    objective: Annotated[str | None, typer.Option(help="Objective (default: the problem's first).")] = None,
    by: By = "anonymous",
    as_json: Json = False,
) -> None:
    """Enter a plan that is better than the best known one; status 1 where it is not."""
    from mlsched.benchmark.collection import rewrite_card, write_table
    from mlsched.benchmark.collection import submit as enter
    from mlsched.cli.solve import read_instance, read_plan

    question, answer = read_instance(instance), read_plan(plan)[0]
    goal = objective or question.objectives[0].name
    noted = enter(folder, question, answer, question.objective(goal).name, by)
    value, refuted = (None, None) if noted is None else (noted.value, noted.refuted)
    document = {"plan": str(plan), "objective": goal, "entered": noted is not None, "value": value, "refuted": refuted}
    if noted is None:
        emit(as_json, lambda: document, list)
        raise ChecksFailed(f"{plan}: is not better than the best known plan for {goal}")
    write_table(folder)
    rewrite_card(folder)
    gone = "" if refuted is None else f"; it refutes the bound {refuted}, which nobody had certified"
    emit(as_json, lambda: document, lambda: [f"{plan}: the best known plan for {goal} by now{gone}"])


@collection.command()
def table(folder: Folder, as_json: Json = False) -> None:
    """Write TABLE.md from the entries, and the card where there is one."""
    from mlsched.benchmark.collection import rewrite_card, write_table

    write_table(folder)
    rewrite_card(folder)
    emit(as_json, lambda: {"folder": str(folder)}, list)


@collection.command()
def card(
    folder: Folder,
    url: Annotated[str, typer.Option(help="Where the collection is published.")],
    creator: Annotated[str, typer.Option(help="Whose it is.")] = "The mlsched developers",
    license_: Annotated[str, typer.Option("--license", help="SPDX identifier.")] = "MIT",
    version: Annotated[str, typer.Option(help="Of the collection: three numbers.")] = "1.0.0",
    as_json: Json = False,
) -> None:
    """Describe the collection to catalogues of data sets: README.md, croissant.json (Croissant 1.0), entries.csv."""
    from mlsched.benchmark.collection import Details, write_card

    write_card(folder, Details(url, creator, license_, version))
    emit(as_json, lambda: {"folder": str(folder)}, list)
