"""`mlsched simulate POLICY...`: run policies over a trace or a synthetic workload (see `simulation_output`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsched.cli.output import Isolate, Json, Memory, Seed, complete_solver, settings, to_write


def simulate(
    policies: Annotated[
        list[str],
        typer.Argument(
            help="Solvers, e.g. fifo fitgpp:s=8 cp-sat, or your own: MODULE:FUNCTION.",
            metavar="POLICY...",
            autocompletion=complete_solver,
        ),
    ],
    trace: Annotated[str, typer.Option(help="Log of jobs, workload file, synthetic:NAME, sample:NAME or data:NAME.")],
    read: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,...", help="What the columns of your log are: submit=a,duration=b:min,gpus=c."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a row that is no job, instead of skipping it.")
    ] = False,
    problem: Annotated[str | None, typer.Option(help="The problem, where the policies' names leave it open.")] = None,
    simulator: Annotated[
        str | None, typer.Option(help="How jobs run: tasks or iterations (taskgraph), gavel (rounds).")
    ] = None,
    cluster: Annotated[
        list[str] | None, typer.Option(help="84x(32cpu,256gb,8gpu) or NODES.csv; for logs. Several: what if.")
    ] = None,
    read_cluster: Annotated[
        str | None, typer.Option(metavar="FIELD=COLUMN,...", help="What the columns of NODES.csv are: gpus=a,name=b.")
    ] = None,
    scale_load: Annotated[
        str | None, typer.Option(metavar="X,X,...", help="Arrivals of a log come X times as fast; several: what if.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many jobs of a trace.", min=1)] = None,
    scheduling_events: Annotated[str | None, typer.Option(help="events, interval:SECONDS or both joined by +.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the source or the world; a KEY that is none lists them."
        ),
    ] = None,
    objective: Annotated[str | None, typer.Option(help="What exact policies optimise at each decision.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Wall seconds for an exact policy's decision, and for each recorded optimum.")
    ] = None,
    record: Annotated[float, typer.Option(help="Share of decisions to replay and to compare with the optimum.")] = 0.0,
    seed: Seed = 0,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Count jobs submitted from then on: 7d, 2024-03-01.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="And before then; others run uncounted.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Windows so long (7d) as replications, with intervals.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Rows per user, group, partition, status or size.")
    ] = None,
    reference: Annotated[
        list[Path] | None, typer.Option(help="Folder of `mlsched reference`: how much runs lose at least, at most.")
    ] = None,
    parts: Annotated[
        bool, typer.Option("--parts", help="Of what each run's distance from its bound is made (logs).")
    ] = False,
    table: Annotated[
        Path | None, to_write(text="Write the figures (.csv, .parquet), or the tables as shown (.md, .tex, .html).")
    ] = None,
    output: Annotated[Path | None, to_write("-o", "--output", text="Write the runs, every job and log.")] = None,
    jobs: Annotated[Path | None, to_write(text="Write what came of every job (.csv or .parquet).")] = None,
    plot: Annotated[Path | None, to_write(text="A picture of the runs (.png, .svg or .pdf).", picture=True)] = None,
    isolate: Isolate = False,
    memory_limit: Memory = None,
    as_json: Json = False,
) -> None:
    """Run policies over a workload; every run is checked by an independent replay."""
    from mlsched.cli.simulation_output import OutputOptions, make_runs
    from mlsched.cli.simulation_runs import RunOptions
    from mlsched.cli.simulation_workloads import WindowOptions, WorkloadOptions, loads_of

    given, loads = settings(option or [], "--set"), loads_of(scale_load)
    workloads = WorkloadOptions(
        trace, problem, simulator, read, strict, limit, cluster or [], read_cluster, loads=loads, given=given, seed=seed
    )
    runs = RunOptions(
        scheduling_events, objective, time_limit, record, seed, isolate=isolate, memory_limit=memory_limit
    )
    windows = WindowOptions(start, end, every, tuple(by.split(",")) if by else ())
    written = OutputOptions(output, jobs, plot, table, as_json, windows, tuple(reference or ()), parts)
    make_runs(policies, workloads, runs, written)
