"""Running answerers over workloads."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlsched.api.adapters import as_rule
from mlsched.api.asked import AnyAnswerer, make_limits, resolve_answerer
from mlsched.api.functions import is_function
from mlsched.api.isolation import check_memory_limit, isolated_rule
from mlsched.api.records import load
from mlsched.api.starts import start_within
from mlsched.core.arguments import explained
from mlsched.core.clock import cpu_time
from mlsched.core.errors import InvalidInput, UnknownName, meant, shortened
from mlsched.core.files import read_json
from mlsched.core.opening import open_file
from mlsched.core.params import check_seed, parameters_of, resolve, split
from mlsched.core.registry import registry
from mlsched.core.versions import versions
from mlsched.instances.traces import Nodes, Trace, is_frame, read_nodes, read_trace
from mlsched.instances.traces.public import located
from mlsched.simulation import Run, Simulation, every_simulation, of_logs, simulation
from mlsched.simulation.clock import Rule, decision_rng
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.nodes import capacities, is_text, parse_nodes
from mlsched.simulation.run import AsLogged
from mlsched.simulation.wake import Wake


@explained
def workload(
    source: Any,
    problem: str | None = None,
    *,
    cluster: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    physics: str | None = None,
    read: str | Mapping[str, str] | None = None,
    read_cluster: str | Mapping[str, str] | None = None,
    strict: bool = False,
    **options: Any,
) -> Any:
    """Arrivals over time, and the cluster they run on.

    Args:
        source: "synthetic:NAME" with parameters if need be ("synthetic:z:jobs=4096"); a workload file that `save`
            wrote; a log of jobs (CSV or Parquet, Slurm's sacct, Standard Workload Format, or a public trace's format;
            see `read_log`); "twin:NAME" or "data:NAME" (see `mlsched data list`); a pandas or polars DataFrame; or what
            `read_log` returned.
        problem: which problem's world shall run it. A synthetic name that only one problem has, or a file, says it
            itself; a log runs as gangs of GPUs (taskgraph, by iterations) unless something else is named.
        cluster: for a log, "84x(32cpu,256gb,8gpu)" (84 nodes, each with so much), or a file of nodes; for rounds, GPUs
            of each type, "v100=8,k80=24".
        limit: of a log, its first so many jobs.
        seed: of what is drawn, an integer >= 0.
        physics: which of the problem's worlds, where it has several (taskgraph: "tasks", "iterations"), or of which
            problem ("gavel": rounds). Left out, the first that has the synthetic name, and for a log the one that
            replays it without drawing anything.
        read: which column of a log is what ("gpus=num_gpus").
        read_cluster: the same for the file of nodes.
        strict: refuse a row that is no job, instead of skipping it.
        options: further keywords are the source's own.

    Raises:
        InvalidInput: the call is wrong.
        InvalidFile: a log or a file of nodes cannot be read.
        UnknownName: there is no such synthetic workload, problem or physics.

    Examples:
        >>> mlsched.workload("synthetic:z", jobs=200).kind
        'preemption.workload'
    """
    world = simulation_of(source, problem, physics)
    text = str(source) if isinstance(source, (str, os.PathLike)) else ""
    if text.startswith("synthetic:"):
        if read is not None or read_cluster is not None or strict:
            raise InvalidInput(f"{text}: read, read_cluster and strict are for logs; leave them out")
        name, settings = split(text.removeprefix("synthetic:"))
        return _synthetic(world, name, cluster, limit, {"seed": check_seed(seed), **options, **settings})
    if world.from_file is not None and text and not _world_of_file(text):
        if read is not None or read_cluster is not None or strict:
            raise InvalidInput(f"{text}: read, read_cluster and strict are not for files of {world.problem}")
        return world.from_file(text, cluster, limit, **resolve("log", parameters_of(world.from_file), options))
    trace = read_log(source, limit=limit, read=read, strict=strict)
    if trace is None:
        if any(given is not None for given in (cluster, limit, physics, read, read_cluster)) or strict or options:
            raise InvalidInput(
                f"{source}: is a finished workload; cluster, limit, physics and further options do not apply"
            )
        return load(source)
    nodes = _nodes(cluster, read_cluster) if cluster is not None else None
    if isinstance(nodes, Nodes) and not world.knows_nodes:
        if cluster is not None and is_text(cluster):
            raise InvalidInput(f"cluster '{shortened(cluster)}': {world.problem} has no types of GPUs; leave them out")
        nodes = capacities(nodes)
    declared = {k: v for k, v in parameters_of(world.from_trace).items() if k != "seed"}
    settings = resolve("trace", declared, options)
    return world.from_trace(trace, nodes, seed=check_seed(seed), **settings)


@explained
def read_log(
    source: Any, *, limit: int | None = None, read: str | Mapping[str, str] | None = None, strict: bool = False
) -> Trace | None:
    """The jobs of a log, checked row by row; None where `source` is no log (a synthetic name, a workload file).

    `notes` of the trace says what the log lacks, `source` what was read, `account` what became of every row.

    Args:
        source: as for `workload`.
        limit: its first so many jobs.
        read: which column is what.
        strict: refuse a row that is no job, instead of skipping it.

    Raises:
        InvalidFile: the log cannot be read, or lacks a column.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame({"submit_time": [0, 60], "run_s": [600, 900], "gpus": [1, 8]})
        >>> len(mlsched.read_log(frame).submit)
        2
    """
    if isinstance(source, Trace):
        if limit is not None or read is not None or strict:
            raise InvalidInput("limit, read, strict: the log has been read already; give them to read_log")
        return source
    if is_frame(source):
        return read_trace(source, limit=limit, read=read, strict=strict)
    if not isinstance(source, (str, os.PathLike)):
        raise InvalidInput(f"source = {type(source).__name__}: must be a name, a path, or a table of columns")
    path = located(source)
    if path is None or _is_record(path):
        return None
    return read_trace(path, limit=limit, read=read, strict=strict)


def simulation_of(source: Any, problem: str | None, physics: str | None = None) -> Simulation:
    """The simulation that runs a workload source: by problem and physics, and by what the source itself says."""
    text = str(source) if isinstance(source, (str, os.PathLike)) else ""
    if text.startswith("synthetic:"):
        name = split(text.removeprefix("synthetic:"))[0]
        of_physics = None if physics is None else _problem_of_physics(physics)
        world = simulation(problem or of_physics or _problem_of_source(name), physics)
        having = [s for s in every_simulation() if s.problem == world.problem and name in s.sources]
        return having[0] if having and physics is None and world not in having else world
    if text and (own := _world_of_file(text)) is not None:
        return own
    if physics is None:
        return of_logs(problem)
    return simulation(problem or _problem_of_physics(physics) or of_logs().problem, physics)


def _problem_of_physics(physics: str) -> str | None:
    """The one problem that has a world of those physics."""
    having = {s.problem for s in every_simulation() if s.physics == physics}
    return having.pop() if len(having) == 1 else None


def problem_of(source: str | os.PathLike[str]) -> str | None:
    """The problem that a workload's source says it is for: a workload file, or a synthetic name. None for a trace.

    Raises UnknownName for a synthetic name that no problem has, or more than one.
    """
    text = str(source)
    if text.startswith("synthetic:"):
        return _problem_of_source(split(text.removeprefix("synthetic:"))[0])
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
    raise UnknownName(f"no synthetic workload '{name}'{meant(name, [n for n, _ in names])}; there are {known}")


def _synthetic(world: Simulation, name: str, cluster: str | None, limit: int | None, options: dict[str, Any]) -> Any:
    if name not in world.sources:
        close = meant(name, world.sources)
        raise UnknownName(
            f"no synthetic workload '{name}' for {world.problem}{close}; there are {', '.join(world.sources)}"
        )
    if cluster is not None or limit is not None:
        raise InvalidInput(f"synthetic:{name}: cluster and limit are for traces; set nodes= and jobs= instead")
    make = world.sources[name]
    return make(**resolve(f"synthetic:{name}", parameters_of(make), options))


def _is_record(path: Path) -> bool:
    """Whether a file starts like a JSON object of ours; traces are CSV, gzip or JSON lists."""
    with open_file(path) as stream:
        return stream.read(64).lstrip().startswith(b"{")


def _nodes(text: str, read: str | Mapping[str, str] | None) -> Any:
    """Capacities of a cluster's text, or the nodes of a file."""
    if is_text(text):
        if read is not None:
            raise InvalidInput(
                f"read_cluster: is for a file of nodes, and cluster is '{shortened(text)}'; leave it out"
            )
        return parse_nodes(text)
    return read_nodes(text, read=read)


@explained
def simulate(
    workload: Any,
    solver: AnyAnswerer,
    *,
    seed: int = 0,
    wake: str | None = None,
    record: float = 0.0,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    isolate: bool = False,
    memory_limit: int | None = None,
    **params: Any,
) -> Run:
    """Run an answerer over a workload.

    "as-logged" is the log itself: every job starts and ends when the log says so (`Run.lint`: what in it cannot be). A
    workload with a job that fits no node is refused; one whose offered load is above capacity only warns.

    Args:
        workload: what `workload` returned.
        solver: as for `solve`. Exact ones are asked for `objective` at every decision, within `time_limit` each; they
            then start from the problem's warm-start rules, and another machine may answer differently.
        seed: of everything random in the run, an integer >= 0.
        wake: the cadence ("events", "interval:60", "events+interval:600"; default: the problem's).
        record: share of decisions to keep for replay and exact gaps.
        options: the world's readings by name (see its Options); a rule's own implications (FIFO: no priority) apply
            unless set here.
        objective: what exact answerers are asked for; the problem's first by default.
        time_limit: wall seconds of each decision.
        progress: called with (time, unfinished jobs) at every wake.
        isolate: ask the answerer in a process of its own, one for the run; it is ended when a decision takes longer
            than `time_limit`, or more than `memory_limit` bytes (`solve` says more).
        memory_limit: bytes that such a process may take.
        params: further keywords are the answerer's parameters.

    Returns:
        A `Run`: every job's fate, figures of merit, and the log by which the run is checked.

    Raises:
        InvalidInput: the call is wrong, or a job fits no node.
        AnswererError: the answerer breaks its contract; the error says at which decision.

    Examples:
        >>> run = mlsched.simulate(mlsched.workload("synthetic:z", jobs=200), "fitgpp")
        >>> run.violations()
        []
    """
    names = {s.workload_type: s for s in every_simulation()}
    if type(workload) not in names:
        raise InvalidInput(f"workload = {type(workload).__name__}: must be a workload; see mlsched.workload")
    world = names[type(workload)]
    if world.as_logged is not None and solver == world.as_logged.name:
        if params:
            raise InvalidInput(f"{solver}: has no parameter; leave {', '.join(params)} out")
        return _as_logged(world, world.as_logged, workload, dict(options or {}), wake, check_seed(seed))
    answerer, values = resolve_answerer(world.problem, solver, params)
    settings = world.options({**answerer.world(values), **(options or {})})
    _refuse_endless(world, workload)
    for reason in world.overload(workload):
        warnings.warn(reason, stacklevel=3)  # above `explained`
    aim = _objective(world.problem, objective)
    seconds = make_limits(time_limit, None, seed, 1).seconds
    check_memory_limit(memory_limit, isolate)
    state, cadence = world.world(workload, settings), Wake.parse(wake or world.wake)
    with contextlib.ExitStack() as stack:
        process = None
        if isolate:
            rule, process = isolated_rule(answerer, values, aim, seconds, memory_limit, tell_memory=record > 0)
            stack.enter_context(process)
        else:
            rule = as_rule(answerer, values, aim, seconds, start_within)
        wall, cpu = time.perf_counter(), cpu_time()
        trip = run_clock(
            state, rule, wake=cadence, seed=check_seed(seed), record=record, progress=progress, unit=world.unit
        )
    cpu = cpu_time() - cpu + (0.0 if process is None else process.cpu_seconds)
    return Run(
        simulation=world,
        workload=workload,
        answerer=answerer.name,
        params=values,
        options=settings,
        wake=cadence,
        seed=seed,
        log=state.log,
        decisions=trip.decisions,
        recorded=trip.recorded,
        seconds=time.perf_counter() - wall,
        cpu_seconds=cpu,
        versions=versions(),
        rule=rule,
    )


def _refuse_endless(world: Simulation, workload: Any) -> None:
    """Raise InvalidInput for a workload with a job that fits no node."""
    if reasons := world.never_start(workload):
        remedy = (
            "drop such jobs of a trace with oversize=drop" if world.from_file is None else "take them out of the log"
        )
        raise InvalidInput(f"the run could never end: {'; '.join(reasons)}; enlarge the cluster, or {remedy}")


def refusal(
    workload: Any,
    solver: AnyAnswerer,
    *,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    seed: int = 0,
) -> str:
    """Why `simulate` would refuse an answerer over a workload, as far as that can be known without a run; "" if not.

    A rule or policy of mlsched is asked the run's first question. A function of the user's is not called, and an exact
    answerer is not asked to solve: of these, parameters, options and objective are looked at alone.
    """
    world = next((s for s in every_simulation() if s.workload_type is type(workload)), None)
    if world is None:
        raise InvalidInput(f"workload = {type(workload).__name__}: must be a workload; see mlsched.workload")
    try:
        if world.as_logged is not None and solver == world.as_logged.name:
            world.as_logged.played(workload)
            return ""
        answerer, values = resolve_answerer(world.problem, solver, {})
        settings = world.options({**answerer.world(values), **(options or {})})
        aim = _objective(world.problem, objective)
        _refuse_endless(world, workload)
        own = isinstance(solver, str) and not is_function(solver)
        if not own or answerer.rule is None or answerer.asks == "horizon" or answerer.searches:
            return ""
        state = world.world(workload, settings)
        first = state.next_event()
        if first is None:
            return ""
        state.advance(first)
        question = state.ask()
        if question is not None:
            as_rule(answerer, values, aim, None).call(question, None, decision_rng(check_seed(seed), 0))
    except InvalidInput as error:
        return str(error)
    except (Exception, SystemExit):
        return ""  # what breaks is for the run to report, with the decision at which it does
    return ""


def _as_logged(
    world: Simulation, policy: AsLogged, workload: Any, options: dict[str, Any], wake: str | None, seed: int
) -> Run:
    """The run that the log is."""
    wall, cpu = time.perf_counter(), cpu_time()
    log = policy.played(workload)
    return Run(
        simulation=policy.simulation,
        workload=workload,
        answerer=policy.name,
        params={},
        options=world.options({"pausing": "keep", **options}),  # whatever happened in it was allowed
        wake=Wake.parse(wake or world.wake),
        seed=seed,
        log=log,
        decisions=0,
        recorded=[],
        seconds=time.perf_counter() - wall,
        cpu_seconds=cpu_time() - cpu,
        versions=versions(),
        rule=Rule(policy.name, _nobody_decided),
    )


def _nobody_decided(*_: Any) -> Any:
    raise InvalidInput("replay: nobody decided anything in a log; there is nothing to replay")


def _objective(problem: str, name: str | None) -> str:
    """The objective that exact answerers are asked for: the named one, or the problem's first."""
    main = registry().problem(problem).instance_type
    return main.objectives[0].name if name is None else main.objective(name).name
