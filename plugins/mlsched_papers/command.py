"""`mlsched reproduce EXPERIMENT`: a paper's tables and figures, side by side with the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mlsched.cli.output import Json, completing, emit, progress, to_write
from mlsched.core.files import atomic_write


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            help="The experiment: see `mlsched list experiments`.", autocompletion=completing("experiments")
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer jobs and seeds, no verdicts: seconds, not minutes.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    jobs: Annotated[int | None, typer.Option(help="Jobs per workload (default: the paper's).", min=1)] = None,
    seeds: Annotated[int | None, typer.Option(help="Workloads a setting (default: the paper's).", min=1)] = None,
    papers_size: Annotated[
        bool, typer.Option("--papers-size", help="mlfs: as many servers and jobs as in the paper: hours.")
    ] = False,
    load: Annotated[list[float] | None, typer.Option(help="mlfs: a load x to run; may be given again.")] = None,
    trace: Annotated[str | None, typer.Option(help="Public trace that stands in for a private one.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Cluster of the trace: 84x(32cpu,256gb,8gpu) or a file.")] = None,
    claim: Annotated[
        str | None, typer.Option("--claim", help="Show only the claims with this in their name or text.")
    ] = None,
    html: Annotated[Path | None, to_write(text="Self-contained HTML report to write.", folders=True)] = None,
    as_json: Json = False,
) -> None:
    """Repeat a paper's evaluation and say which of its claims hold; every run passes the replay check first."""
    import mlsched_papers as papers
    from mlsched.benchmark import plots

    if html is not None:
        plots.figure()  # without matplotlib this says so now, not after the runs
    with progress(experiment, 1.0) as update:
        report = papers.reproduce(
            experiment,
            quick=quick,
            workers=workers,
            jobs=jobs,
            seeds=seeds,
            papers_size=papers_size,
            loads=load or None,
            trace=trace,
            cluster=cluster,
            claim=claim,
            progress=lambda done, total: update(done / max(1, total)),
        )
    if html is not None:
        with atomic_write(html, folders=True) as stream:
            stream.write(report.to_html())
    emit(as_json, report.to_json, lambda: papers.render(report))


def experiments() -> list[dict[str, Any]]:
    """What `mlsched list experiments` shows."""
    from mlsched_papers.reproduction import EXPERIMENTS

    return [{"name": one.name, "about": one.doc} for one in EXPERIMENTS.values()]
