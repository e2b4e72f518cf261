"""`mlsched collection`: instances with their best known plans, to check and improve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsched.cli.output import ChecksFailed, Json, emit, only_documents, progress, say
from mlsched.core.aliases import Data

collection = typer.Typer(help="Maintain instances with their best known plans and bounds.")
Folder = Annotated[Path, typer.Argument(help="Name the folder of the collection, e.g. mlsched-bench.")]
By = Annotated[str, typer.Option(help='Name the author for the history, e.g. "Ada Lovelace".')]


@collection.command()
def make(
    folder: Folder,
    suite: Annotated[
        str, typer.Option(help="Choose the instances, e.g. quick; a suite, a folder of instances, or a .toml file.")
    ] = "quick",
    name: Annotated[str, typer.Option(help="Name the collection, e.g. my-bench.")] = "mlsched-bench",
    seeds: Annotated[
        int | None, typer.Option(help="Use only the first N seeds per preset, e.g. 2. Default: all seeds.", min=1)
    ] = None,
    work: Annotated[
        float, typer.Option(help="Limit each solve in deterministic seconds, e.g. 60 (nodes: 250 per second).")
    ] = 10.0,
    proofs: Annotated[
        float | None,
        typer.Option(help="Certify each optimum within this many wall seconds, e.g. 60. Default: do not certify."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted collection.")] = False,
    as_json: Json = False,
) -> None:
    """Make a collection: solve each instance of a suite for its first objective."""
    from mlsched.benchmark.collection import create, read_description, rewrite_card, write_table
    from mlsched.benchmark.gather import gather, tasks_for

    tasks = tasks_for(suite, seeds)
    if resume:
        read_description(folder)
    else:
        create(folder, name, f"The instances of suite {Path(suite).name}. Made and checked by mlsched.")
    with progress(name, 1.0) as update, only_documents():
        counts = gather(folder, tasks, work, proofs, lambda done, total: update(done / max(1, total)))
    write_table(folder)
    rewrite_card(folder)
    emit(as_json, lambda: counts, lambda: [_summary_line(folder, counts)])
    if disputed := counts["disputed"]:
        for sentence in disputed[1:]:
            say(sentence)
        raise ChecksFailed(disputed[0])


def _summary_line(folder: Path, counts: Data) -> str:
    evidences = ", ".join(
        f"{counts[name]} {name}" for name in ("certified", "confirmed", "unconfirmed", "open") if counts[name]
    )
    return f"{folder}: {counts['entries']} entries: {evidences}; {counts['cpu_seconds']:.0f} CPU s"


@collection.command()
def verify(
    folder: Folder,
    recompute: Annotated[
        float | None,
        typer.Option(
            help="Search again for each bound without a certificate, e.g. 60 wall seconds each. Default: do not search."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify every plan and certificate, and compare values, bounds, hashes and table."""
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
    instance: Annotated[Path, typer.Argument(help="Read the instance from this file, e.g. instance.json.")],
    plan: Annotated[Path, typer.Argument(help="Read the plan from this file, e.g. plan.json.")],
    objective: Annotated[
        str | None, typer.Option(help="Choose the objective, e.g. total_jct. Default: the problem's first.")
    ] = None,
    by: By = "anonymous",
    as_json: Json = False,
) -> None:
    """Submit a plan that is better than the best known plan; exit with status 1 if it is not better."""
    from mlsched.benchmark.collection import rewrite_card, write_table
    from mlsched.benchmark.collection import submit as enter
    from mlsched.cli.solve import read_instance, read_plan

    question, answer = read_instance(instance), read_plan(plan)[0]
    goal = objective or question.objectives[0].name
    entry = enter(folder, question, answer, question.objective(goal).name, by)
    value, refuted = (None, None) if entry is None else (entry.value, entry.refuted)
    document = {"plan": str(plan), "objective": goal, "entered": entry is not None, "value": value, "refuted": refuted}
    if entry is None:
        emit(as_json, lambda: document, list)
        raise ChecksFailed(f"{plan}: is not better than the best known plan for {goal}")
    write_table(folder)
    rewrite_card(folder)
    refutation = "" if refuted is None else f"; it refutes the bound {refuted}, which nobody had certified"
    emit(as_json, lambda: document, lambda: [f"{plan}: the best known plan for {goal} by now{refutation}"])


@collection.command()
def table(folder: Folder, as_json: Json = False) -> None:
    """Write TABLE.md from the entries, and update the card if it exists."""
    from mlsched.benchmark.collection import rewrite_card, write_table

    write_table(folder)
    rewrite_card(folder)
    emit(as_json, lambda: {"folder": str(folder)}, list)


@collection.command()
def card(
    folder: Folder,
    url: Annotated[str, typer.Option(help="Name the published address, e.g. https://example.org/bench.")],
    creator: Annotated[str, typer.Option(help='Name the creator, e.g. "Ada Lovelace".')] = "The mlsched developers",
    license_: Annotated[
        str, typer.Option("--license", help="Name the licence by its SPDX identifier, e.g. CC-BY-4.0.")
    ] = "MIT",
    version: Annotated[str, typer.Option(help="Set the version of the collection, e.g. 1.2.0.")] = "1.0.0",
    as_json: Json = False,
) -> None:
    """Write the card for data catalogues: README.md, croissant.json (Croissant 1.0), entries.csv."""
    from mlsched.benchmark.collection import Details, write_card

    write_card(folder, Details(url, creator, license_, version))
    emit(as_json, lambda: {"folder": str(folder)}, list)
