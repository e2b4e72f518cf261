"""Workloads: arrivals over time and the cluster they run on, made of names, files and logs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlsched.api.records import load
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean, shorten
from mlsched.core.files import read_json
from mlsched.core.params import CountOrNone, Number, Seed, parameters_of, resolve, split_settings
from mlsched.core.safe_open import open_file, shown_path
from mlsched.core.unread_files import refuse_unread
from mlsched.instances.traces import Nodes, Trace, is_frame, read_nodes, read_trace
from mlsched.instances.traces.public import located
from mlsched.simulation import Simulation, every_simulation, of_logs, simulation
from mlsched.simulation.nodes import capacities, is_text, parse_nodes


@validate_arguments
def workload(
    source: Any,
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
    **options: Any,
) -> Any:
    """Arrivals over time, and the cluster they run on.

    Args:
        source: "synthetic:NAME" with parameters if need be ("synthetic:z:jobs=4096"); a workload file that `save`
            wrote; a log of jobs (CSV or Parquet, Slurm's sacct, Standard Workload Format, or a public trace's format;
            see `read_log`); "sample:NAME" or "data:NAME" (see `mlsched data list`); a pandas or polars DataFrame; or
            what `read_log` returned.
        problem: which problem's world shall run it. A synthetic name that only one problem has, or a file, says it
            itself; a log runs as gangs of GPUs (taskgraph, by iterations) unless something else is named.
        cluster: for a log, "84x(32cpu,256gb,8gpu)" (84 nodes, each with so much), or a file of nodes; for rounds, GPUs
            of each type, "v100=8,k80=24".
        limit: of a log, its first so many jobs.
        seed: of what is drawn, an integer >= 0.
        simulator: which of the problem's worlds, where it has several (taskgraph: "tasks", "iterations"), or of which
            problem ("gavel": rounds). Left out, the first that has the synthetic name, and for a log the one that
            replays it without drawing anything.
        read: which column of a log is what ("gpus=num_gpus").
        read_cluster: the same for the file of nodes.
        strict: refuse a row that is no job, instead of skipping it.
        log_cluster: of Slurm's accounting of several clusters, the name of the one that is read.
        log_shards: how many shards of Slurm (`gres/shard`) make a GPU; 0 leaves shards uncounted.
        options: further keywords are the source's own.

    Raises:
        InvalidInput: the call is wrong.
        InvalidFile: a log or a file of nodes cannot be read.
        UnknownName: there is no such synthetic workload, problem or simulator.

    Examples:
        >>> mlsched.workload("synthetic:z", jobs=200).kind
        'preemption.workload'
    """
    world = simulation_of(source, problem, simulator)
    text = str(source) if isinstance(source, (str, os.PathLike)) else ""
    reading: dict[str, Any] = {"read": read, "strict": strict, "log_cluster": log_cluster, "log_shards": log_shards}
    given = [name for name, value in {**reading, "read_cluster": read_cluster}.items() if value]
    if text.startswith("synthetic:"):
        if given:
            raise InvalidInput(f"{text}: {', '.join(given)}: options of logs; leave them out")
        name, settings = split_settings(text.removeprefix("synthetic:"))
        return _synthetic(world, name, cluster, limit, {"seed": int(seed), **options, **settings})
    if world.from_file is not None and text and not _world_of_file(text):
        if given:
            raise InvalidInput(f"{text}: {', '.join(given)}: not for files of {world.problem}; leave them out")
        return world.from_file(text, cluster, limit, **resolve("log", parameters_of(world.from_file), options))
    trace = read_log(source, limit=limit, **reading)
    if trace is None:
        if given or options or any(value is not None for value in (cluster, limit, simulator)):
            raise InvalidInput(
                f"{source}: is a finished workload; cluster, limit, simulator and further options do not apply"
            )
        return _finished(source)
    nodes = _nodes(cluster, read_cluster) if cluster is not None else None
    if isinstance(nodes, Nodes) and not world.knows_nodes:
        if cluster is not None and is_text(cluster):
            raise InvalidInput(f"cluster '{shorten(cluster)}': {world.problem} has no types of GPUs; leave them out")
        nodes = capacities(nodes)
    declared = {k: v for k, v in parameters_of(world.from_trace).items() if k != "seed"}
    settings = resolve("trace", declared, options)
    return world.from_trace(trace, nodes, seed=int(seed), **settings)


def _finished(source: str | os.PathLike[str]) -> Any:
    """The workload that a file holds."""
    found = load(source)
    if not isinstance(found, tuple(world.workload_type for world in every_simulation())):
        raise InvalidFile(
            f"{shown_path(source)}: kind = '{found.kind}': must be a log of jobs, or a workload; "
            "`mlsched.save` writes workloads"
        )
    return found


@validate_arguments
def read_log(
    source: Any,
    *,
    limit: Number | None = None,
    read: str | Mapping[str, str] | None = None,
    strict: bool = False,
    log_cluster: str = "",
    log_shards: CountOrNone = 0,
) -> Trace | None:
    """Return the jobs of a log, checked row by row; None if `source` is no log (a synthetic name, a workload file).

    `notes` of the trace says what the log lacks, `source` what was read, `account` what became of every row.

    Args:
        source: as for `workload`.
        limit: its first so many jobs.
        read: which column is what.
        strict: refuse a row that is no job, instead of skipping it.
        log_cluster: of Slurm's accounting of several clusters, the name of the one that is read.
        log_shards: how many shards of Slurm (`gres/shard`) make a GPU; 0 leaves shards uncounted.

    Raises:
        InvalidFile: the log cannot be read, or lacks a column.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame({"submit_time": [0, 60], "run_s": [600, 900], "gpus": [1, 8]})
        >>> len(mlsched.read_log(frame).submit)
        2
    """
    reading: dict[str, Any] = {"read": read, "strict": strict, "log_cluster": log_cluster, "log_shards": log_shards}
    if isinstance(source, Trace):
        if limit is not None or any(reading.values()):
            raise InvalidInput(f"limit, {', '.join(reading)}: the log has been read already; give them to read_log")
        return source
    if is_frame(source):
        return read_trace(source, limit=limit, **reading)
    if not isinstance(source, (str, os.PathLike)):
        raise InvalidInput(f"source = {type(source).__name__}: must be a name, a path, or a table of columns")
    path = located(source)
    if path is None or _is_record(path):
        return None
    return read_trace(path, limit=limit, **reading)


def simulation_of(source: Any, problem: str | None, simulator: str | None = None) -> Simulation:
    """The simulation that runs a workload source: by problem and simulator, and by what the source itself says."""
    text = str(source) if isinstance(source, (str, os.PathLike)) else ""
    if text.startswith("synthetic:"):
        name = split_settings(text.removeprefix("synthetic:"))[0]
        of_simulator = None if simulator is None else _problem_of_simulator(simulator)
        world = simulation(problem or of_simulator or _problem_of_source(name), simulator)
        having = [s for s in every_simulation() if s.problem == world.problem and name in s.sources]
        return having[0] if having and simulator is None and world not in having else world
    if text and (own := _world_of_file(text)) is not None:
        return own
    if simulator is None:
        return of_logs(problem)
    return simulation(problem or _problem_of_simulator(simulator) or of_logs().problem, simulator)


def _problem_of_simulator(simulator: str) -> str | None:
    """The one problem that has a world of those simulator."""
    having = {s.problem for s in every_simulation() if s.simulator == simulator}
    return having.pop() if len(having) == 1 else None


def problem_of(source: str | os.PathLike[str]) -> str | None:
    """The problem that a workload's source says it is for: a workload file, or a synthetic name. None for a trace.

    Raises UnknownName for a synthetic name that no problem has, or more than one.
    """
    text = str(source)
    if text.startswith("synthetic:"):
        return _problem_of_source(split_settings(text.removeprefix("synthetic:"))[0])
    own = _world_of_file(text)
    return None if own is None else own.problem


def _world_of_file(source: str) -> Simulation | None:
    """The simulation whose workload a file holds; None for a trace, and for a file of something else."""
    path = located(source)
    kind = read_json(path).get("kind") if path is not None and _is_record(path) else None
    return next((s for s in every_simulation() if s.workload_type.kind == kind), None)


def _problem_of_source(name: str) -> str:
    """The one simulated problem that has a synthetic workload of this name."""
    having = {s.problem: None for s in every_simulation() if name in s.sources}
    if len(having) == 1:
        return next(iter(having))
    if having:
        raise UnknownName(f"synthetic:{name}: {', '.join(having)} all have one; give the problem")
    names = {(source, s.problem): None for s in every_simulation() for source in s.sources}
    known = ", ".join(f"{source} ({problem})" for source, problem in names)
    raise UnknownName(f"no synthetic workload '{name}'{did_you_mean(name, [n for n, _ in names])}; there are {known}")


def _synthetic(world: Simulation, name: str, cluster: str | None, limit: int | None, options: dict[str, Any]) -> Any:
    if name not in world.sources:
        close = did_you_mean(name, world.sources)
        raise UnknownName(
            f"no synthetic workload '{name}' for {world.problem}{close}; there are {', '.join(world.sources)}"
        )
    if cluster is not None or limit is not None:
        raise InvalidInput(f"synthetic:{name}: cluster and limit are for traces; set nodes= and jobs= instead")
    make = world.sources[name]
    return make(**resolve(f"synthetic:{name}", parameters_of(make), options))


def _is_record(path: Path) -> bool:
    """Whether a file starts like a JSON object of ours; traces are CSV, gzip or JSON lists.

    Raises InvalidFile about a file of another program that is known and not read.
    """
    refuse_unread(path)
    with open_file(path) as stream:
        return stream.read(64).lstrip().startswith(b"{")


def _nodes(text: str, read: str | Mapping[str, str] | None) -> Any:
    """Capacities of a cluster's text, or the nodes of a file."""
    if is_text(text):
        if read is not None:
            raise InvalidInput(f"read_cluster: is for a file of nodes, and cluster is '{shorten(text)}'; leave it out")
        return parse_nodes(text)
    return read_nodes(text, read=read)
