"""Runs of solvers over workloads."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from mlsched.api.adapters import as_rule
from mlsched.api.asked import AnySolver, resolve_solver
from mlsched.api.functions import is_function
from mlsched.api.isolation import NO_MEMORY_LIMIT, isolated_rule
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of
from mlsched.core.clock import cpu_time
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.formulation import Limits
from mlsched.core.params import Number, Positive, Seed, Share
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.core.request import Setup
from mlsched.core.versions import versions
from mlsched.simulation import Run, Simulation, every_simulation
from mlsched.simulation.clock import Rule, decision_rng
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.run import AsLogged
from mlsched.simulation.wake import Wake


@validate_arguments
def simulate(
    workload: Record,
    solver: AnySolver,
    *,
    seed: Seed = 0,
    scheduling_events: str | None = None,
    record: Share = 0.0,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    time_limit: Positive | None = None,
    progress: Callable[[int, int], None] | None = None,
    isolate: bool = False,
    memory_limit: Number | None = None,
    **params: Any,
) -> Run:
    """Run a solver over a workload.

    "as-logged" is the log itself: every job starts and ends as logged (`Run.lint` lists impossible entries). A workload
    with a job that fits no node is rejected. An offered load above capacity only warns.

    Args:
        workload: A workload from `workload`.
        solver: As for `solve`. Exact solvers optimise `objective` at every decision, within `time_limit` each. They
            then start from the problem's warm-start rules, and another machine may answer differently.
        seed: Random seed of the run, an integer >= 0.
        scheduling_events: Cadence of decisions ("events", "interval:60", "events+interval:600", in seconds; default:
            the problem's).
        record: Share of decisions to record for replay and exact gaps.
        options: Simulator options by name (see its Options). Options that a rule implies (FIFO: no priority) apply
            unless set here.
        objective: Objective of exact solvers; by default the problem's first.
        time_limit: Wall seconds of each decision.
        progress: Called with (time, unfinished jobs) at every scheduling event.
        isolate: Run the solver in its own process for the complete run. The process is ended if a decision exceeds
            `time_limit` or `memory_limit` (see `solve`).
        memory_limit: Bytes that the isolated process may use.
        params: Further keywords are the solver's parameters.

    Returns:
        A `Run`: every job's times, measures, and the log by which the run is checked.

    Raises:
        InvalidInput: An argument is invalid, or a job fits no node.
        SolverError: The solver breaks its contract; the error names the decision.

    Examples:
        >>> run = mlsched.simulate(mlsched.workload("synthetic:z", jobs=200), "fitgpp")
        >>> run.violations()
        []
    """
    seed = int(seed)
    names = {s.workload_type: s for s in every_simulation()}
    if type(workload) not in names:
        raise InvalidInput(f"workload: {type(workload).__name__}, expected a workload; see mlsched.workload")
    world = names[type(workload)]
    if world.as_logged is not None and solver == world.as_logged.name:
        _refuse_options(world, solver, params)
        if params:
            raise InvalidInput(f"{solver}: does not take parameters; leave out {', '.join(params)}")
        return _run_of_log(world, world.as_logged, workload, dict(options or {}), scheduling_events, seed)
    try:
        registered, values = resolve_solver(world.problem, solver, params)
    except UnknownName:
        _refuse_options(world, solver, params)
        raise
    settings = world.options({**registered.world_options(values), **(options or {})})
    _refuse_endless(world, workload)
    for reason in world.overload(workload):
        warnings.warn(reason, stacklevel=3)  # above `validate_arguments`
    setup = Setup(registered, _objective(world.problem, objective), values, Limits(seconds=time_limit))
    if memory_limit is not None and not isolate:
        raise InvalidInput(NO_MEMORY_LIMIT)
    state, cadence = (
        world.world(workload, settings),
        Wake.parse(world.scheduling_events if scheduling_events is None else scheduling_events),
    )
    unit = world.parts_of_second(workload)
    with contextlib.ExitStack() as stack:
        process = None
        if isolate:
            rule, process = isolated_rule(setup, memory_limit, tell_memory=record > 0)
            stack.enter_context(process)
        else:
            rule = as_rule(setup, starts=True)
        wall, cpu = time.perf_counter(), cpu_time()
        clock_result = run_clock(
            state, rule, scheduling_events=cadence, seed=seed, record=record, progress=progress, unit=unit
        )
    cpu = cpu_time() - cpu + (0.0 if process is None else process.cpu_seconds)
    return Run(
        simulation=world,
        workload=workload,
        solver=registered.name,
        params=values,
        options=settings,
        scheduling_events=cadence,
        seed=seed,
        log=state.log,
        decisions=clock_result.decisions,
        recorded=clock_result.recorded,
        seconds=time.perf_counter() - wall,
        cpu_seconds=cpu,
        versions=versions(),
        rule=rule,
    )


def _refuse_options(world: Simulation, solver: AnySolver, params: Mapping[str, Any]) -> None:
    """Raise InvalidInput for an option of the simulator among the parameters of a solver."""
    of_world = {field.name for field in dataclasses.fields(world.options_type)}
    if own := [name for name in params if name in of_world]:
        raise InvalidInput(
            f"{solver}: '{own[0]}' is an option of the simulator, not of the solver; pass options={{'{own[0]}': ...}}"
        )


def _refuse_endless(world: Simulation, workload: Record) -> None:
    """Raise InvalidInput for a workload with a job that fits no node."""
    if reasons := world.never_start(workload):
        remedy = (
            "drop such jobs of a trace with oversize=drop" if world.from_file is None else "take them out of the log"
        )
        more = f"; also {count_of(len(reasons) - 1, 'other kind')} of job" if len(reasons) > 1 else ""
        raise InvalidInput(f"the run could never end: {reasons[0]}{more}; enlarge the cluster, or {remedy}")


def refusal(
    workload: Record,
    solver: AnySolver,
    *,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    seed: int = 0,
) -> str:
    """Return the error with which `simulate` would reject a solver over a workload, or "" if none is foreseeable.

    A rule or policy of mlsched is called for the run's first decision. User functions and exact solvers are not called;
    only their parameters, options and objective are checked.

    Args:
        workload: The workload.
        solver: The solver.
        options: Simulator options by name.
        objective: Objective of exact solvers.
        seed: Random seed of the run.

    Returns:
        The error message, or "".
    """
    world = next((s for s in every_simulation() if s.workload_type is type(workload)), None)
    if world is None:
        raise InvalidInput(f"workload: {type(workload).__name__}, expected a workload; see mlsched.workload")
    try:
        if world.as_logged is not None and solver == world.as_logged.name:
            world.as_logged.played(workload)
            return ""
        registered, values = resolve_solver(world.problem, solver, {})
        settings = world.options({**registered.world_options(values), **(options or {})})
        goal = _objective(world.problem, objective)
        _refuse_endless(world, workload)
        own = isinstance(solver, str) and not is_function(solver)
        if not own or registered.rule is None or registered.called == "offline" or registered.searches:
            return ""
        state = world.world(workload, settings)
        first = state.next_event()
        if first is None:
            return ""
        state.advance(first)
        question = state.ask()
        if question is not None:
            as_rule(Setup(registered, goal, values)).call(question, None, decision_rng(seed, 0))
    except InvalidInput as error:
        return str(error)
    except (Exception, SystemExit):
        return ""  # the run reports other failures, with the decision at which they occur
    return ""


def _run_of_log(
    world: Simulation,
    policy: AsLogged,
    workload: Record,
    options: dict[str, Any],
    scheduling_events: str | None,
    seed: int,
) -> Run:
    """Return the run that the log describes."""
    wall, cpu = time.perf_counter(), cpu_time()
    log = policy.played(workload)
    return Run(
        simulation=policy.simulation,
        workload=workload,
        solver=policy.name,
        params={},
        options=world.options({"pausing": "keep", **options}),  # any pause in the log was allowed
        scheduling_events=Wake.parse(world.scheduling_events if scheduling_events is None else scheduling_events),
        seed=seed,
        log=log,
        decisions=0,
        recorded=[],
        seconds=time.perf_counter() - wall,
        cpu_seconds=cpu_time() - cpu,
        versions=versions(),
        rule=Rule(policy.name, _no_decision),
    )


def _no_decision(*_: object) -> NoReturn:
    raise InvalidInput("replay: the run of a log has no decisions to replay; simulate a scheduler")


def _objective(problem: str, name: str | None) -> str:
    """Return the objective of exact solvers: the named one, or the problem's first."""
    main = registry().problem(problem).instance_type
    return main.objectives[0].name if name is None else main.objective(name).name
