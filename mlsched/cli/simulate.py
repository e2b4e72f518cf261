"""`mlsched simulate POLICY...`: run policies over a trace or a synthetic workload (see `simulation_output`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsched.cli import groups
from mlsched.cli.output import Isolate, Json, Memory, Seed, complete_solver, settings, to_write


def simulate(
    policies: Annotated[
        list[str],
        typer.Argument(
            help="Name the schedulers, e.g. fifo fitgpp:s=8 cp-sat, or your own as MODULE:FUNCTION.",
            metavar="POLICY...",
            autocompletion=complete_solver,
        ),
    ],
    trace: Annotated[
        str,
        typer.Option(
            help="Read jobs from a log or workload file, e.g. jobs.csv, or from synthetic:NAME, sample:NAME or "
            "data:NAME.",
            rich_help_panel=groups.WORKLOAD,
        ),
    ],
    read: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,...",
            help="Name the columns of your log, e.g. submit=queued,duration=hours:h,gpus=g. Default: recognised by "
            "name.",
            rich_help_panel=groups.WORKLOAD,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a log with an invalid row instead of skipping the row.",
            rich_help_panel=groups.WORKLOAD,
        ),
    ] = False,
    problem: Annotated[
        str | None,
        typer.Option(
            help="Choose the problem, e.g. taskgraph. Default: the problem of the schedulers.",
            rich_help_panel=groups.RUNS,
        ),
    ] = None,
    simulator: Annotated[
        str | None,
        typer.Option(
            help="Choose the simulator, e.g. iterations or tasks (taskgraph), gavel (rounds). Default: the workload's.",
            rich_help_panel=groups.RUNS,
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            help='Set the cluster of a log, e.g. "84x(32cpu,256gb,8gpu)" or nodes.csv (repeatable, to compare). '
            "Default: from the log.",
            rich_help_panel=groups.CLUSTER,
        ),
    ] = None,
    read_cluster: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,...",
            help="Name the columns of the node list, e.g. gpus=cards,name=host. Default: recognised by name.",
            rich_help_panel=groups.CLUSTER,
        ),
    ] = None,
    scale_load: Annotated[
        str | None,
        typer.Option(
            metavar="X,X,...",
            help="Multiply the arrival rate of a log, e.g. 0.8,1,1.2 to compare three loads. Default: 1.",
            rich_help_panel=groups.WORKLOAD,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Keep only the first N jobs, e.g. 1000. Default: all jobs.", min=1, rich_help_panel=groups.WORKLOAD
        ),
    ] = None,
    scheduling_events: Annotated[
        str | None,
        typer.Option(
            help="Choose the scheduling events, e.g. events+interval:60, or one of the two. Default: the simulator's.",
            rich_help_panel=groups.RUNS,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set an option of the log or simulator, e.g. oversize=drop (repeatable). Default: its own; a wrong "
            "KEY lists all.",
            rich_help_panel=groups.RUNS,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="Choose the objective of exact solvers at each decision, e.g. total_score. Default: the problem's "
            "first.",
            rich_help_panel=groups.RUNS,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Stop each exact search after this many wall seconds, e.g. 1. Default: no limit.",
            rich_help_panel=groups.RUNS,
        ),
    ] = None,
    record: Annotated[
        float,
        typer.Option(
            help="Set the share of decisions to compare with the optimum, e.g. 0.1.", rich_help_panel=groups.RUNS
        ),
    ] = 0.0,
    seed: Seed = 0,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Count only jobs submitted from this time, e.g. 7d or 2024-03-01. Default: the first submit.",
            rich_help_panel=groups.WINDOWS,
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="Count only jobs submitted before this time, e.g. 14d. Default: after the last submit.",
            rich_help_panel=groups.WINDOWS,
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="Split the run into windows of this length, e.g. 7d, and report intervals. Default: one window.",
            rich_help_panel=groups.WINDOWS,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Group the results, e.g. user,size; also group, partition, status. Default: not grouped.",
            rich_help_panel=groups.WINDOWS,
        ),
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(
            help="Report regret intervals from this folder of `mlsched reference`, e.g. ref (repeatable). Default: "
            "none.",
            rich_help_panel=groups.WINDOWS,
        ),
    ] = None,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts",
            help="Split the gap of each run to its bound into its causes (logs).",
            rich_help_panel=groups.WINDOWS,
        ),
    ] = False,
    table: Annotated[
        Path | None,
        to_write(
            text="Write the measures to this file, e.g. runs.csv or .parquet; .md, .tex or .html for the tables. "
            "Default: not written.",
            group=groups.FILES,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        to_write(
            "-o",
            "--output",
            text="Write the runs with every job to this file, e.g. runs.json. Default: not written.",
            group=groups.FILES,
        ),
    ] = None,
    jobs: Annotated[
        Path | None,
        to_write(
            text="Write one row per job to this file, e.g. jobs.csv or .parquet. Default: not written.",
            group=groups.FILES,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        to_write(
            text="Draw the runs to this file, e.g. runs.svg, .png or .pdf. Default: not drawn.",
            picture=True,
            group=groups.FILES,
        ),
    ] = None,
    isolate: Isolate = False,
    memory_limit: Memory = None,
    as_json: Json = False,
) -> None:
    """Simulate schedulers on a log or synthetic workload, and replay every run independently."""
    from mlsched.cli.simulation_output import OutputOptions, make_runs
    from mlsched.cli.simulation_runs import RunOptions
    from mlsched.cli.simulation_workloads import WindowOptions, WorkloadOptions, loads_of

    option_values, loads = settings(option or [], "--set"), loads_of(scale_load)
    workloads = WorkloadOptions(
        trace,
        problem,
        simulator,
        read,
        strict,
        limit,
        cluster or [],
        read_cluster,
        loads=loads,
        given=option_values,
        seed=seed,
    )
    runs = RunOptions(
        scheduling_events, objective, time_limit, record, seed, isolate=isolate, memory_limit=memory_limit
    )
    windows = WindowOptions(start, end, every, tuple(by.split(",")) if by else ())
    output_options = OutputOptions(output, jobs, plot, table, as_json, windows, tuple(reference or ()), parts)
    make_runs(policies, workloads, runs, output_options)
