"""The public calls: load, save, generate, solve, simulate, workload.

Everything here is a thin path from names to the layers below; no scheduling happens in this file.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlsched import solvers
from mlsched.core.contract import Instance, Plan, Problem
from mlsched.core.errors import AnswererError, InvalidFile, InvalidInput, MlschedError, UnknownName
from mlsched.core.files import check_header, read_json, write_json
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.params import parameters_of, resolve, split
from mlsched.core.record import Record
from mlsched.core.registry import Answerer, registry
from mlsched.core.result import Result, relative_gap
from mlsched.core.versions import versions
from mlsched.instances.traces import read_nodes, read_trace
from mlsched.simulation import Run, Simulation, simulation, simulations
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.nodes import parse_cluster
from mlsched.simulation.wake import Wake

#: What `solve` and `simulate` accept as an answerer: a registered name with parameters, or anyone's function.
AnyAnswerer = str | Callable[..., Any]


def generate(problem: str, preset: str | None = None, seed: int = 0, **sizes: Any) -> Instance:
    """A random instance of `problem`: a preset's sizes (default: the generator's own), changed by `sizes`.

    The same problem, preset, seed and sizes give the same instance on every machine.
    """
    found = registry().problem(problem)
    settings: dict[str, Any] = dict(_preset(found, preset).sizes) if preset is not None else {}
    settings.update(sizes)
    values = resolve(f"generate {problem}", parameters_of(found.generate), settings)
    return found.generate(np.random.default_rng(_seed(seed)), **values)


def _preset(problem: Problem, name: str) -> Any:
    if name not in problem.presets:
        raise UnknownName(f"{problem.name} has no preset '{name}'; there are {', '.join(problem.presets)}")
    return problem.presets[name]


def _seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"seed = {seed!r}: must be an integer >= 0")
    return int(seed)


def record_types() -> dict[str, type[Record]]:
    """File kind -> class, of every record that can be saved."""
    types: list[type[Record]] = [s.workload_type for s in simulations().values()]
    for problem in registry().problems.values():
        types += [problem.instance_type, problem.plan_type]
    return {t.kind: t for t in types}


def load(path: str | os.PathLike[str]) -> Any:
    """The instance, plan or workload in a file that `save` or the command line wrote."""
    return load_with_hash(path)[0]


def load_with_hash(path: str | os.PathLike[str]) -> tuple[Any, str | None]:
    """`load`, and the hash of the instance that a plan file says it answers (None elsewhere)."""
    data = read_json(path)
    types = record_types()
    kind = check_header(path, data, {name: t.version for name, t in types.items()})
    answers = data.pop("instance_hash", None) if issubclass(types[kind], Plan) else None
    if answers is not None and not isinstance(answers, str):
        raise InvalidFile(f"{path}: instance_hash = {answers!r}: must be a string")
    try:
        return types[kind].from_json(data), answers
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from None


def save(record: Any, path: str | os.PathLike[str], *, instance: Instance | None = None) -> None:
    """Write an instance, plan, workload, or the plan of a Result, atomically.

    A plan's file carries the hash of the instance it answers: taken from the Result, or from `instance`.
    """
    answers = instance.hash if instance is not None else None
    if isinstance(record, Result):
        answers = record.instance_hash
        if record.plan is None:
            raise InvalidInput(f"{Path(path)}: the result is '{record.status}' and has no plan to save")
        record = record.plan
    if not isinstance(record, Record):
        raise InvalidInput(
            f"{Path(path)}: a {type(record).__name__} cannot be saved; give an instance, plan or workload"
        )
    data = record.to_json()
    if isinstance(record, Plan) and answers is not None:
        data["instance_hash"] = answers
    write_json(path, data)


def resolve_answerer(problem: str, solver: AnyAnswerer, params: Mapping[str, Any]) -> tuple[Answerer, dict[str, Any]]:
    """A registered answerer by name, or anyone's function wrapped as one, with its parameters filled in."""
    if isinstance(solver, str):
        found, values = registry().answerer(problem, solver)
        return found, resolve(found.name, found.parameters, {**values, **params})
    if not callable(solver):
        raise InvalidInput(f"solver = {solver!r}: must be a name or a function answer(instance, *, rng) -> plan")
    declared = getattr(solver, "__mlsched__", None)
    if declared:
        return declared[0], resolve(declared[0].name, declared[0].parameters, params)
    name = getattr(solver, "__name__", type(solver).__name__)
    wrapped = Answerer(name, problem, "heuristic", _with_fixed(solver, dict(params)))
    return wrapped, {}


def _with_fixed(function: Callable[..., Any], params: dict[str, Any]) -> Callable[..., Any]:
    def call(instance: Instance, *, rng: np.random.Generator) -> Any:
        return function(instance, rng=rng, **params)

    return call


def solve(
    instance: Instance,
    solver: AnyAnswerer,
    *,
    objective: str | None = None,
    time_limit: float | None = None,
    work_limit: float | None = None,
    seed: int = 0,
    threads: int = 1,
    hint: Plan | str | None = None,
    **params: Any,
) -> Result:
    """Answer `instance` and let the judge recompute the answer.

    solver: a registered name, with parameters if need be ("fitgpp:s=8"), or a function `answer(instance, *, rng)`.
    objective: one of the instance's; the first by default. time_limit: wall seconds, for exact answerers; work_limit:
    the backend's deterministic measure (reproducible, unlike seconds). hint: a plan to start from; by default the
    problem's warm-start rule gives one, "none" starts cold. Further keywords are the answerer's parameters.

    Raises InvalidInput for a wrong call, AnswererError when the answer breaks the contract (infeasible plan, refuted
    bound), SolverError when a backend fails.
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance = {type(instance).__name__}: must be an instance; see mlsched.generate and load")
    answerer, values = resolve_answerer(instance.problem, solver, params)
    names = [o.name for o in instance.objectives]
    objective = names[0] if objective is None else objective
    if objective not in names:
        raise UnknownName(f"{instance.problem} has no objective '{objective}'; there are {', '.join(names)}")
    if answerer.kind == "exact" and answerer.backend and objective not in answerer.objectives:
        raise InvalidInput(f"{answerer.name} cannot optimise {objective}; it can {', '.join(answerer.objectives)}")
    limits = _limits(time_limit, work_limit, seed, threads)
    start = _hint(instance, answerer, objective, hint, limits.seed)
    started = time.perf_counter()
    outcome = answer_once(answerer, instance, objective, limits, start, values)
    seconds = time.perf_counter() - started
    return judged(instance, answerer, objective, values, limits.seed, outcome, seconds)


def _limits(time_limit: float | None, work_limit: float | None, seed: int, threads: int) -> Limits:
    for name, value in (("time_limit", time_limit), ("work_limit", work_limit)):
        if value is not None and not value > 0:
            raise InvalidInput(f"{name} = {value!r}: must be above 0")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInput(f"threads = {threads!r}: must be an integer >= 1")
    return Limits(time_limit, work_limit, threads, _seed(seed))


def _hint(instance: Instance, answerer: Answerer, objective: str, hint: Plan | str | None, seed: int) -> Plan | None:
    """The plan an exact backend starts from."""
    if isinstance(hint, str) and hint != "none":
        raise InvalidInput(f"hint = {hint!r}: must be a plan, None (the problem's own rule) or 'none'")
    if isinstance(hint, Plan):
        if wrong := instance.violations(hint):
            raise InvalidInput(f"hint: is infeasible: {wrong[0]}")
        return hint
    if hint is not None and not isinstance(hint, str):
        raise InvalidInput(f"hint = a {type(hint).__name__}: must be a plan, None (the problem's own rule) or 'none'")
    if hint == "none" or not answerer.takes_hint:
        return None
    plans = []
    for rule in registry().available(instance.problem):
        if rule.warm_start:
            values = resolve(rule.name, rule.parameters, {})
            plans.append(answer_once(rule, instance, objective, Limits(seed=seed), None, values).plan)
    sense = next(o.sense for o in instance.objectives if o.name == objective)
    return (min if sense == "min" else max)(plans, key=lambda p: instance.evaluate(p)[objective], default=None)


def answer_once(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, values: dict[str, Any]
) -> Outcome:
    """Call an answerer of any kind; what it raises that is not ours becomes an AnswererError."""
    try:
        if answerer.backend is not None:
            outcome = solvers.run(answerer, instance, objective, limits, hint, values)
            if not isinstance(outcome, Outcome):
                raise AnswererError(f"{answerer.name} returned a {type(outcome).__name__}: must be an Outcome")
            return outcome
        rng = np.random.default_rng(limits.seed)
        if answerer.stateful:
            plan, _ = answerer.function(instance, memory=None, rng=rng, **values)
        else:
            plan = answerer.function(instance, rng=rng, **values)
    except MlschedError:
        raise
    except Exception as error:
        raise AnswererError(f"{answerer.name} raised {type(error).__name__}: {error}") from error
    if plan is None:
        raise AnswererError(f"{answerer.name} returned no plan; a rule must return a {instance.plan_type.kind}")
    return Outcome("feasible", plan, None)


def judged(
    instance: Instance, answerer: Answerer, objective: str, params: dict[str, Any], seed: int, outcome: Outcome,
    seconds: float,
) -> Result:  # fmt: skip
    """The Result of an outcome, every value recomputed by the judge and the bound held against it."""
    values = value = gap = None
    if (outcome.plan is None) != (outcome.status in ("infeasible", "unknown")):
        raise AnswererError(
            f"{answerer.name} returned {'no' if outcome.plan is None else 'a'} plan and '{outcome.status}'"
        )
    if outcome.status == "optimal" and outcome.bound is None:
        raise AnswererError(f"{answerer.name} claims an optimum without a bound")
    if outcome.plan is not None:
        if wrong := instance.violations(outcome.plan):
            raise AnswererError(f"{answerer.name} returned an infeasible plan: {wrong[0]}")
        values = instance.evaluate(outcome.plan)
        value = values[objective]
    if value is not None and outcome.bound is not None:
        sense = next(o.sense for o in instance.objectives if o.name == objective)
        too_good = outcome.bound - value if sense == "min" else value - outcome.bound
        if not too_good <= 0 or (outcome.status == "optimal" and too_good != 0):
            raise AnswererError(
                f"{answerer.name}: its bound {outcome.bound} contradicts the judge's {objective} = {value}"
            )
        gap = relative_gap(value, outcome.bound)
    return Result(
        instance_hash=instance.hash, problem=instance.problem, answerer=answerer.name, objective=objective,
        params=params, seed=seed, plan=outcome.plan, values=values, value=value, bound=outcome.bound, gap=gap,
        status=outcome.status, stopped_by=outcome.stopped_by if answerer.backend else None, seconds=seconds,
        work=outcome.work, versions=versions(),
    )  # fmt: skip


def workload(
    source: str | os.PathLike[str],
    problem: str | None = None,
    *,
    cluster: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Arrivals over time, and the cluster they run on.

    source: "synthetic:NAME" with parameters if need be ("synthetic:z:jobs=4096"), a workload file that `save` wrote, or
    a public trace (Alibaba v2023, Philly, Helios; see `mlsched.instances.traces`). cluster: for a trace,
    "84x(32cpu,256gb,8gpu)" or a node file; limit: its first so many jobs. Further keywords are the source's own.
    """
    world = simulation(problem or only_simulation())
    text = str(source)
    if text.startswith("synthetic:"):
        return _synthetic(world, text.removeprefix("synthetic:"), cluster, limit, {"seed": _seed(seed), **options})
    if _is_record(Path(source)):
        if cluster is not None or limit is not None or options:
            raise InvalidInput(f"{source}: is a finished workload; cluster, limit and further options do not apply")
        return load(source)
    nodes = _nodes(cluster) if cluster is not None else None
    declared = {k: v for k, v in parameters_of(world.from_trace).items() if k != "seed"}
    settings = resolve("trace", declared, options)
    return world.from_trace(read_trace(source, limit=limit), nodes, seed=_seed(seed), **settings)


def only_simulation() -> str:
    """The one problem that has a world, or InvalidInput when there are several."""
    names = sorted(simulations())
    if len(names) != 1:
        raise InvalidInput(f"problem: must be given, one of {', '.join(names)}")
    return names[0]


def _synthetic(world: Simulation, text: str, cluster: str | None, limit: int | None, options: dict[str, Any]) -> Any:
    name, settings = split(text)
    if name not in world.sources:
        raise UnknownName(f"no synthetic workload '{name}' for {world.problem}; there are {', '.join(world.sources)}")
    if cluster is not None or limit is not None:
        raise InvalidInput(f"synthetic:{name}: cluster and limit are for traces; set nodes= and jobs= instead")
    make = world.sources[name]
    return make(**resolve(f"synthetic:{name}", parameters_of(make), {**options, **settings}))


def _is_record(path: Path) -> bool:
    """Whether a file starts like a JSON object of ours; traces are CSV, gzip or JSON lists."""
    try:
        with path.open("rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror}; check the path") from None


def _nodes(text: str) -> Any:
    """Capacities from cluster text or from a node file."""
    if "(" in text:
        return parse_cluster(text)
    nodes = read_nodes(text)
    return np.stack([nodes.cpu_milli, nodes.memory_mib, nodes.gpus * 1000], axis=1)


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
    progress: Callable[[int], None] | None = None,
    **params: Any,
) -> Run:
    """Run an answerer over a workload.

    solver: as for `solve`; exact ones are asked for `objective` at every decision, within time_limit each. wake: the
    cadence ("events", "interval:60", "events+interval:600"; default: the problem's). record: share of decisions to
    keep for replay and exact gaps. options: the world's readings by name (see its Options); a rule's own implications
    (FIFO: no priority) apply unless set here.
    A workload with a job that fits no node is refused; one whose offered load is above capacity only warns.
    """
    names = {s.workload_type: s for s in simulations().values()}
    if type(workload) not in names:
        raise InvalidInput(f"workload = {type(workload).__name__}: must be a workload; see mlsched.workload")
    world = names[type(workload)]
    answerer, values = resolve_answerer(world.problem, solver, params)
    settings = world.options({**answerer.world(values), **(options or {})})
    if reasons := world.never_start(workload):
        raise InvalidInput(
            f"the run could never end: {'; '.join(reasons)}; "
            "enlarge the cluster, or drop such jobs (oversize=drop, for a trace)"
        )
    for reason in world.overload(workload):
        warnings.warn(reason, stacklevel=2)
    rule = _rule(answerer, world.problem, values, objective, time_limit)
    state, cadence = world.world(workload, settings), Wake.parse(wake or world.wake)
    wall, cpu = time.perf_counter(), time.process_time()
    trip = run_clock(state, rule, wake=cadence, seed=_seed(seed), record=record, progress=progress)
    return Run(
        simulation=world, workload=workload, answerer=answerer.name, params=values, options=settings, wake=cadence,
        seed=seed, log=state.log, decisions=trip.decisions, recorded=trip.recorded,
        seconds=time.perf_counter() - wall, cpu_seconds=time.process_time() - cpu, versions=versions(), rule=rule,
    )  # fmt: skip


def _rule(
    answerer: Answerer, problem: str, params: dict[str, Any], objective: str | None, time_limit: float | None
) -> Rule:
    """An answerer of any kind as the clock calls it."""
    names = [o.name for o in registry().problem(problem).instance_type.objectives]
    if objective is not None and objective not in names:
        raise UnknownName(f"{problem} has no objective '{objective}'; there are {', '.join(names)}")
    if answerer.backend is not None:
        chosen = objective or names[0]

        def exact(instance: Instance, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
            limits = Limits(seconds=time_limit, seed=int(rng.integers(2**31)))
            return solvers.run(answerer, instance, chosen, limits, None, params).plan, memory

        return Rule(answerer.name, exact)
    if answerer.stateful:
        return Rule(answerer.name, lambda i, memory, rng: answerer.function(i, memory=memory, rng=rng, **params))
    return Rule(answerer.name, lambda i, memory, rng: (answerer.function(i, rng=rng, **params), memory))
