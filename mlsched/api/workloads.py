"""Workloads: arrivals over time and their cluster, from names, files and logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mlsched.api.records import load
from mlsched.core.arguments import validate_arguments
from mlsched.core.collector import collector_paused
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean, shorten
from mlsched.core.files import read_json
from mlsched.core.params import CountOrNone, Number, Seed, Value, parameters_of, resolve, split_settings
from mlsched.core.safe_open import open_file, shown_path
from mlsched.core.unread_files import refuse_unread
from mlsched.instances.traces import Nodes, Trace, is_frame, read_nodes, read_trace
from mlsched.instances.traces.public import located
from mlsched.simulation import Simulation, every_simulation, of_logs, simulation
from mlsched.simulation.nodes import capacities, is_text, parse_nodes


class Table(Protocol):
    """Table of columns by name: a pandas or polars DataFrame."""

    @property
    def columns(self) -> Any: ...

    def __getitem__(self, name: str, /) -> Any: ...


#: Source of a workload or a log: a name, a file, the result of `read_log`, or a table.
Source = str | os.PathLike[str] | Trace | Table | Mapping[str, Sequence[Any]]


@validate_arguments
def workload(
    source: Source,
    problem: str | None = None,
    *,
    cluster: str | None = None,
    limit: Number | None = None,
    seed: Seed = 0,
    simulator: str | None = None,
    read: str | Mapping[str, str] | None = None,
    read_cluster: str | Mapping[str, str] | None = None,
    strict: bool = False,
    log_cluster: str = "",
    log_shards: CountOrNone = 0,
    **options: Value,
) -> Any:
    """Return a workload: arrivals over time, and the cluster they run on.

    Args:
        source: "synthetic:NAME", optionally with parameters ("synthetic:z:jobs=4096"); a workload file from `save`; a
            job log (CSV or Parquet, Slurm's sacct, Standard Workload Format, or a public trace's format; see
            `read_log`); "sample:NAME" or "data:NAME" (see `mlsched data list`); a pandas or polars DataFrame; or the
            result of `read_log`.
        problem: Problem whose simulator runs the workload. By default the problem of the file, or the only one with the
            synthetic name; a log runs as gangs of GPUs (taskgraph, by iterations).
        cluster: For a log: "84x(32cpu,256gb,8gpu)" (84 nodes with these resources each), or a file of nodes. For
            rounds: GPUs of each type, "v100=8,k80=24".
        limit: Read only the first `limit` jobs of a log.
        seed: Random seed, an integer >= 0.
        simulator: One of the problem's simulators if it has several (taskgraph: "tasks", "iterations"), which may also
            imply the problem ("gavel": rounds). By default the first with the synthetic name, or, for a log, the one
            that replays it without random draws.
        read: Meaning of columns of a log ("gpus=num_gpus").
        read_cluster: Meaning of columns of the file of nodes.
        strict: Reject a row that is not a job, instead of skipping it.
        log_cluster: Name of the cluster to read, for Slurm's accounting of several clusters.
        log_shards: Number of Slurm shards (`gres/shard`) per GPU; 0 ignores shards.
        options: Further keywords are options of the source.

    Returns:
        The workload.

    Raises:
        InvalidInput: An argument is invalid.
        InvalidFile: A log or a file of nodes cannot be read.
        UnknownName: The synthetic workload, problem or simulator is unknown.

    Examples:
        >>> mlsched.workload("synthetic:z", jobs=200).kind
        'preemption.workload'
    """
    world = simulation_of(source, problem, simulator)
    text = str(source) if isinstance(source, (str, os.PathLike)) else ""
    log_options: dict[str, Any] = {"read": read, "strict": strict, "log_cluster": log_cluster, "log_shards": log_shards}
    given_options = [name for name, value in {**log_options, "read_cluster": read_cluster}.items() if value]
    if text.startswith("synthetic:"):
        if given_options:
            raise InvalidInput(f"{text}: {', '.join(given_options)}: options of logs; leave them out")
        name, settings = split_settings(text.removeprefix("synthetic:"))
        return _synthetic_workload(world, name, cluster, limit, {"seed": int(seed), **options, **settings})
    if world.from_file is not None and text and not _world_of_file(text):
        if given_options:
            raise InvalidInput(f"{text}: {', '.join(given_options)}: not for files of {world.problem}; leave them out")
        return world.from_file(text, cluster, limit, **resolve("log", parameters_of(world.from_file), options))
    trace = read_log(source, limit=limit, **log_options)
    if trace is None:
        if given_options or options or any(value is not None for value in (cluster, limit, simulator)):
            raise InvalidInput(
                f"{source}: is a finished workload; cluster, limit, simulator and further options do not apply"
            )
        return _saved_workload(text)
    nodes = _nodes(cluster, read_cluster) if cluster is not None else None
    if isinstance(nodes, Nodes) and not world.knows_nodes:
        if cluster is not None and is_text(cluster):
            raise InvalidInput(
                f"cluster '{shorten(cluster)}': {world.problem} does not distinguish GPU types; leave them out"
            )
        nodes = capacities(nodes)
    parameters = {k: v for k, v in parameters_of(world.from_trace).items() if k != "seed"}
    settings = resolve("trace", parameters, options)
    with collector_paused():
        return world.from_trace(trace, nodes, seed=int(seed), **settings)


def _saved_workload(source: str) -> Any:
    """Return the workload in a file."""
    content = load(source)
    if not isinstance(content, tuple(world.workload_type for world in every_simulation())):
        raise InvalidFile(
            f"{shown_path(source)}: kind: '{content.kind}', expected a log of jobs, or a workload; "
            "`mlsched.save` writes workloads"
        )
    return content


@validate_arguments
def read_log(
    source: Source,
    *,
    limit: Number | None = None,
    read: str | Mapping[str, str] | None = None,
    strict: bool = False,
    log_cluster: str = "",
    log_shards: CountOrNone = 0,
) -> Trace | None:
    """Return the jobs of a log, checked row by row; None if `source` is not a log (a synthetic name, a workload file).

    `notes` of the trace lists what the log lacks, `source` describes what was read, and `account` counts the fate of
    every row.

    Args:
        source: As for `workload`.
        limit: Read only the first `limit` jobs.
        read: Meaning of columns.
        strict: Reject a row that is not a job, instead of skipping it.
        log_cluster: Name of the cluster to read, for Slurm's accounting of several clusters.
        log_shards: Number of Slurm shards (`gres/shard`) per GPU; 0 ignores shards.

    Returns:
        The trace, or None.

    Raises:
        InvalidFile: The log cannot be read, or lacks a column.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame({"submit_time": [0, 60], "run_s": [600, 900], "gpus": [1, 8]})
        >>> len(mlsched.read_log(frame).submit)
        2
    """
    log_options: dict[str, Any] = {"read": read, "strict": strict, "log_cluster": log_cluster, "log_shards": log_shards}
    if isinstance(source, Trace):
        if limit is not None or any(log_options.values()):
            raise InvalidInput(f"limit, {', '.join(log_options)}: the log has been read already; give them to read_log")
        return source
    if is_frame(source):
        return read_trace(source, limit=limit, **log_options)
    if not isinstance(source, (str, os.PathLike)):
        raise InvalidInput(f"source: {type(source).__name__}, expected a name, a path, or a table of columns")
    path = located(source)
    if path is None or _is_record(path):
        return None
    return read_trace(path, limit=limit, **log_options)


def simulation_of(source: Source, problem: str | None, simulator: str | None = None) -> Simulation:
    """Return the simulation that runs a workload source: by problem and simulator, or by the source itself."""
    text = str(source) if isinstance(source, (str, os.PathLike)) else ""
    if text.startswith("synthetic:"):
        name = split_settings(text.removeprefix("synthetic:"))[0]
        of_simulator = None if simulator is None else _problem_of_simulator(simulator)
        world = simulation(problem or of_simulator or _problem_of_source(name), simulator)
        matches = [s for s in every_simulation() if s.problem == world.problem and name in s.sources]
        return matches[0] if matches and simulator is None and world not in matches else world
    if text and (own := _world_of_file(text)) is not None:
        return own
    if simulator is None:
        return of_logs(problem)
    return simulation(problem or _problem_of_simulator(simulator) or of_logs().problem, simulator)


def _problem_of_simulator(simulator: str) -> str | None:
    """Return the problem with a simulator of that name, if it is unique."""
    problems = {s.problem for s in every_simulation() if s.simulator == simulator}
    return problems.pop() if len(problems) == 1 else None


def problem_of(source: str | os.PathLike[str]) -> str | None:
    """Return the problem of a workload file or a synthetic name; None for a trace.

    Raises:
        UnknownName: The synthetic name is unknown, or belongs to several problems.
    """
    text = str(source)
    if text.startswith("synthetic:"):
        return _problem_of_source(split_settings(text.removeprefix("synthetic:"))[0])
    own = _world_of_file(text)
    return None if own is None else own.problem


def _world_of_file(source: str) -> Simulation | None:
    """Return the simulation whose workload is in a file; None for a trace, and for other files."""
    path = located(source)
    kind = read_json(path).get("kind") if path is not None and _is_record(path) else None
    return next((s for s in every_simulation() if s.workload_type.kind == kind), None)


def _problem_of_source(name: str) -> str:
    """Return the simulated problem with a synthetic workload of this name, which must be unique."""
    problems = {s.problem: None for s in every_simulation() if name in s.sources}
    if len(problems) == 1:
        return next(iter(problems))
    if problems:
        raise UnknownName(f"synthetic:{name}: {', '.join(problems)} all have one; give the problem")
    names = {(source, s.problem): None for s in every_simulation() for source in s.sources}
    listing = ", ".join(f"{source} ({problem})" for source, problem in names)
    raise UnknownName(
        f"unknown synthetic workload '{name}'{did_you_mean(name, [n for n, _ in names])}; there are {listing}"
    )


def _synthetic_workload(
    world: Simulation, name: str, cluster: str | None, limit: int | None, options: dict[str, Any]
) -> Any:
    if name not in world.sources:
        close = did_you_mean(name, world.sources)
        raise UnknownName(
            f"unknown synthetic workload '{name}' for {world.problem}{close}; there are {', '.join(world.sources)}"
        )
    if cluster is not None or limit is not None:
        raise InvalidInput(f"synthetic:{name}: cluster and limit are for traces; set nodes= and jobs= instead")
    make = world.sources[name]
    return make(**resolve(f"synthetic:{name}", parameters_of(make), options))


def _is_record(path: Path) -> bool:
    """Return whether a file begins like one of mlsched's JSON objects; traces are CSV, gzip or JSON lists.

    Raises:
        InvalidFile: The file has a known format of another program that mlsched does not read.
    """
    refuse_unread(path)
    with open_file(path) as stream:
        return stream.read(64).lstrip().startswith(b"{")


def _nodes(text: str, read: str | Mapping[str, str] | None) -> Any:
    """Return the capacities in a cluster's text, or the nodes of a file."""
    if is_text(text):
        if read is not None:
            raise InvalidInput(f"read_cluster: is for a file of nodes, and cluster is '{shorten(text)}'; leave it out")
        return parse_nodes(text)
    return read_nodes(text, read=read)
