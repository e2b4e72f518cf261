"""`mlsched reproduce EXPERIMENT`: a paper's tables and figures, side by side with the paper."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsched.cli import groups
from mlsched.cli.output import HtmlReport, Json, emit, name_completion, progress
from mlsched.core.aliases import Data
from mlsched.core.files import atomic_write


@groups.in_group(groups.PAPERS)
def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            help="Choose the experiment, e.g. fitgpp; see `mlsched list experiments`.",
            autocompletion=name_completion("experiments"),
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Run fewer jobs and seeds, in about a minute. Default: the full experiment.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Set the number of processes, e.g. 8.", min=1)] = 1,
    jobs: Annotated[
        int | None, typer.Option(help="Set the number of jobs per workload, e.g. 500. Default: the paper's.", min=1)
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Set the number of workloads per setting, e.g. 5. Default: the paper's.", min=1)
    ] = None,
    papers_size: Annotated[
        bool,
        typer.Option("--papers-size", help="Run mlfs at the paper's number of servers and jobs, which takes hours."),
    ] = False,
    load: Annotated[
        list[float] | None, typer.Option(help="Run mlfs at this load, e.g. 2 (repeatable). Default: the paper's loads.")
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="Replace a private trace by a public one, e.g. philly. Default: a synthetic workload."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help='Set the cluster of the trace, e.g. "84x(32cpu,256gb,8gpu)" or nodes.csv. Default: the paper\'s.'
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option("--claim", help="Show only claims with this text, e.g. preemption. Default: all claims."),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Print the evidence of each claim and the tables. Default: one line per claim."),
    ] = False,
    html: HtmlReport = None,
    as_json: Json = False,
) -> None:
    """Reproduce a paper's evaluation, and test its claims."""
    import mlsched_papers as papers
    from mlsched.benchmark import plots

    if html is not None:
        plots.figure()  # fail now without matplotlib, not after the runs
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
    emit(as_json, report.to_json, lambda: papers.render(report, verbose=verbose))


def experiments() -> list[Data]:
    """Return the rows of `mlsched list experiments`."""
    from mlsched_papers.reproduction import EXPERIMENTS

    return [{"name": one.name, "about": one.doc} for one in EXPERIMENTS.values()]
