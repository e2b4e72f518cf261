"""Running solvers over workloads."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from mlsched.api.adapters import as_rule
from mlsched.api.asked import AnySolver, resolve_solver
from mlsched.api.functions import is_function
from mlsched.api.isolation import NO_MEMORY_LIMIT, isolated_rule
from mlsched.core.arguments import validate_arguments
from mlsched.core.clock import cpu_time
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.formulation import Limits
from mlsched.core.params import Number, Positive, Seed, Share
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
    workload: Any,
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

    "as-logged" is the log itself: every job starts and ends when the log says so (`Run.lint`: what in it cannot be). A
    workload with a job that fits no node is refused; one whose offered load is above capacity only warns.

    Args:
        workload: what `workload` returned.
        solver: as for `solve`. Exact ones are asked for `objective` at every decision, within `time_limit` each; they
            then start from the problem's warm-start rules, and another machine may answer differently.
        seed: of everything random in the run, an integer >= 0.
        scheduling_events: the cadence ("events", "interval:60", "events+interval:600", in seconds; default: the
            problem's).
        record: share of decisions to keep for replay and exact gaps.
        options: the world's interpretations by name (see its Options); a rule's own implications (FIFO: no priority)
            apply unless set here.
        objective: what exact solvers are asked for; the problem's first by default.
        time_limit: wall seconds of each decision.
        progress: called with (time, unfinished jobs) at every scheduling event.
        isolate: ask the solver in a process of its own, one for the run; it is ended when a decision takes longer
            than `time_limit`, or more than `memory_limit` bytes (`solve` says more).
        memory_limit: bytes that such a process may take.
        params: further keywords are the solver's parameters.

    Returns:
        A `Run`: every job's fate, figures of merit, and the log by which the run is checked.

    Raises:
        InvalidInput: the call is wrong, or a job fits no node.
        SolverError: the solver breaks its contract; the error says at which decision.

    Examples:
        >>> run = mlsched.simulate(mlsched.workload("synthetic:z", jobs=200), "fitgpp")
        >>> run.violations()
        []
    """
    seed = int(seed)
    names = {s.workload_type: s for s in every_simulation()}
    if type(workload) not in names:
        raise InvalidInput(f"workload = {type(workload).__name__}: must be a workload; see mlsched.workload")
    world = names[type(workload)]
    if world.as_logged is not None and solver == world.as_logged.name:
        _refuse_options(world, solver, params)
        if params:
            raise InvalidInput(f"{solver}: has no parameter; leave {', '.join(params)} out")
        return _as_logged(world, world.as_logged, workload, dict(options or {}), scheduling_events, seed)
    try:
        registered, values = resolve_solver(world.problem, solver, params)
    except UnknownName:
        _refuse_options(world, solver, params)
        raise
    settings = world.options({**registered.world_options(values), **(options or {})})
    _refuse_endless(world, workload)
    for reason in world.overload(workload):
        warnings.warn(reason, stacklevel=3)  # above `checked`
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
        trip = run_clock(state, rule, scheduling_events=cadence, seed=seed, record=record, progress=progress, unit=unit)
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
        decisions=trip.decisions,
        recorded=trip.recorded,
        seconds=time.perf_counter() - wall,
        cpu_seconds=cpu,
        versions=versions(),
        rule=rule,
    )


def _refuse_options(world: Simulation, solver: Any, params: Mapping[str, Any]) -> None:
    """Raise InvalidInput about an option of the simulator among the parameters of a solver."""
    of_world = {field.name for field in dataclasses.fields(world.options_type)}
    if own := [name for name in params if name in of_world]:
        raise InvalidInput(
            f"{solver}: '{own[0]}' is an option of the simulator, not of the solver; pass options={{'{own[0]}': ...}}"
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
    solver: AnySolver,
    *,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    seed: int = 0,
) -> str:
    """Why `simulate` would refuse a solver over a workload, as far as that can be known without a run; "" if not.

    A rule or policy of mlsched is asked the run's first question. A function of the user's is not called, and an exact
    solver is not asked to solve: of these, parameters, options and objective are looked at alone.
    """
    world = next((s for s in every_simulation() if s.workload_type is type(workload)), None)
    if world is None:
        raise InvalidInput(f"workload = {type(workload).__name__}: must be a workload; see mlsched.workload")
    try:
        if world.as_logged is not None and solver == world.as_logged.name:
            world.as_logged.played(workload)
            return ""
        registered, values = resolve_solver(world.problem, solver, {})
        settings = world.options({**registered.world_options(values), **(options or {})})
        aim = _objective(world.problem, objective)
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
            as_rule(Setup(registered, aim, values)).call(question, None, decision_rng(seed, 0))
    except InvalidInput as error:
        return str(error)
    except (Exception, SystemExit):
        return ""  # what breaks is for the run to report, with the decision at which it does
    return ""


def _as_logged(
    world: Simulation,
    policy: AsLogged,
    workload: Any,
    options: dict[str, Any],
    scheduling_events: str | None,
    seed: int,
) -> Run:
    """The run that the log is."""
    wall, cpu = time.perf_counter(), cpu_time()
    log = policy.played(workload)
    return Run(
        simulation=policy.simulation,
        workload=workload,
        solver=policy.name,
        params={},
        options=world.options({"pausing": "keep", **options}),  # whatever happened in it was allowed
        scheduling_events=Wake.parse(world.scheduling_events if scheduling_events is None else scheduling_events),
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
    """The objective that exact solvers are asked for: the named one, or the problem's first."""
    main = registry().problem(problem).instance_type
    return main.objectives[0].name if name is None else main.objective(name).name
