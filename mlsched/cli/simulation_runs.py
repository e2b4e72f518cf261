"""The runs of `mlsched simulate`: prepared, made, checked by the independent replay, written and shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from mlsched import api
from mlsched.cli import simulation_references
from mlsched.cli.output import ChecksFailed, emit, only_documents, progress, say
from mlsched.cli.simulation_files import check_target, write_table
from mlsched.cli.simulation_plan import Scenario, Seen, scenarios
from mlsched.cli.simulation_shown import Shown
from mlsched.cli.simulation_tables import as_data, rendered
from mlsched.core import tables
from mlsched.core.errors import AnswererError, InvalidInput, MlschedError, UnknownName, meant
from mlsched.core.files import write_json
from mlsched.core.gap import Gaps, gap_between, sum_up
from mlsched.core.params import parameters_of, split
from mlsched.core.registry import registry
from mlsched.instances.traces import Account
from mlsched.simulation import Run, Simulation, every_simulation, of_logs, simulations
from mlsched.simulation.taskgraph.iterations.reference.folder import Reference
from mlsched.simulation.windows import Window


@dataclasses.dataclass
class Made:
    """What came of a policy in a scenario: a run, or why there is none."""

    scenario: Scenario
    policy: str
    run: Run | None = None
    reason: str = ""
    refused: bool = False  # known before any run
    invalid: bool = False  # what it failed with says that the input or the call is wrong

    @property
    def status(self) -> str:
        """ "ran", "refused" or "failed"."""
        return "ran" if self.run is not None else "refused" if self.refused else "failed"

    @property
    def name(self) -> str:
        """The policy, with the scenario where there are several."""
        return f"{self.policy} on {self.scenario.label}" if self.scenario.label else self.policy


@dataclasses.dataclass(frozen=True)
class Targets:
    """What is written, and how it is shown."""

    output: Path | None
    jobs: Path | None
    plot: Path | None
    table: Path | None
    as_json: bool


def make_runs(
    policies: list[str],
    trace: str,
    problem: str | None,
    *,
    physics: str | None,
    read: str | None,
    strict: bool,
    clusters: list[str],
    read_cluster: str | None,
    loads: list[float],
    limit: int | None,
    wake: str | None,
    given: dict[str, str],
    objective: str | None,
    time_limit: float | None,
    record: float,
    seed: int,
    isolate: bool,
    memory_limit: int | None,
    seen: Seen,
    targets: Targets,
    references: tuple[Path, ...] = (),
    parts: bool = False,
) -> None:
    """Run the policies one after another and show them together; the arguments are the command's options.

    `given` holds the options of the workload's source and of the world, by key. A policy that refuses or breaks does
    not keep the others from running: what will be refused is said before the first run. Raises ChecksFailed, after
    everything is written, where one refused, broke or does not pass its replay; InvalidInput where all refuse.
    """
    own = next((s.problem for s in every_simulation() if s.physics == physics), None) if physics else None
    world = api.simulation_of(trace, problem or own or _problem_of(policies, trace), physics)
    for policy in policies:
        if world.as_logged is None or policy != world.as_logged.name:
            api.resolve_answerer(world.problem, policy, {})
    _check_targets(world, targets, seen)
    source, options = _split_options(world, trace, given)
    of_its_own = trace.startswith("synthetic:") or world.from_file is not None
    log = None if of_its_own else api.read_log(trace, limit=limit, read=read, strict=strict)
    settings: dict[str, Any] = source if log is not None else {"limit": limit, "read": read, "strict": strict, **source}
    planned = scenarios(
        trace,
        log,
        world.problem,
        clusters=clusters,
        loads=loads,
        settings=settings,
        read_cluster=read_cluster,
        seed=seed,
        physics=physics,
    )
    if seen.asked:
        for scenario in planned:
            seen.check(scenario.workload)
    if parts:
        simulation_references.check_parts([scenario.workload for scenario in planned])
    trusted = [
        simulation_references.trusted(folder, [scenario.workload for scenario in planned]) for folder in references
    ]
    notes = [] if log is None or targets.as_json else list(log.notes)
    made = [Made(scenario, policy) for scenario in planned for policy in policies]
    for one in made:
        one.reason = api.refusal(one.scenario.workload, one.policy, options=options, objective=objective, seed=seed)
        one.refused = bool(one.reason)
    if all(one.refused for one in made):
        raise InvalidInput(made[0].reason)
    for one in made:
        if one.refused:
            say(f"{one.name} will not run: {one.reason}")
    started: list[Made] = []
    failures: list[str] = []
    try:
        for one in made:
            started.append(one)
            if not one.refused:
                _make(
                    one,
                    notes,
                    len(made) == 1,
                    seed=seed,
                    wake=wake,
                    record=record,
                    options=options,
                    objective=objective,
                    time_limit=time_limit,
                    isolate=isolate,
                    memory_limit=memory_limit,
                )
    finally:
        # An interrupt keeps the policies that are done.
        if any(one.run is not None for one in started):
            kept = [one for one in started if one.run is not None or one.reason]
            rows = None if log is None else log.account
            failures = _finish(world, kept, rows, time_limit, seen, targets, trusted, parts)
        else:
            failures = [f"{one.name}: {one.reason}" for one in started if one.reason]
    if all(one.refused or one.invalid for one in made):
        raise InvalidInput(made[0].reason)
    if failures:
        for sentence in failures[1:]:
            say(sentence)
        raise ChecksFailed(failures[0])


def _check_targets(world: Simulation, targets: Targets, seen: Seen) -> None:
    """Refuse, before any work, what cannot be written or is not there."""
    if targets.jobs is not None:
        tables.check_target(targets.jobs)
        if world.table is None:
            raise InvalidInput(f"--jobs {targets.jobs}: runs of {world.problem} have no table of jobs; use -o RUN.json")
    if targets.table is not None:
        check_target(targets.table)
    if (seen.asked or targets.table is not None) and (world.table is None or world.over_time is None):
        raise InvalidInput(f"--from, --to, --every, --by, --table: runs of {world.problem} have no table of jobs")


def _make(one: Made, notes: list[str], alone: bool, **arguments: Any) -> None:
    """One run. What it fails with is kept; where it is the only one, what is no answerer's fault is raised as it is."""
    try:
        one.run = _run(one.scenario.workload, one.policy, one.name, notes, **arguments)
    except AnswererError as error:
        one.reason = str(error)
    except InvalidInput as error:
        one.reason, one.invalid = str(error), True
    except MlschedError as error:
        if alone:
            raise
        one.reason = f"{one.policy}: {error}"


def _finish(
    world: Simulation,
    made: list[Made],
    rows: Account | None,
    time_limit: float | None,
    seen: Seen,
    targets: Targets,
    trusted: list[Reference],
    parts: bool,
) -> list[str]:
    """Check the runs, write and show them; returns what is wrong with them."""
    done = [(one, one.run) for one in made if one.run is not None]
    failures = [
        f"{one.name}: {one.reason}" if one.refused or one.invalid else one.reason for one in made if one.run is None
    ]
    failures += [f"{one.name}: {sentence}" for one, run in done for sentence in run.violations()]
    failures += [f"{one.name}: no gap: {finding}" for one, run in done for finding in run.lint()]
    for one, run in done:
        failures += [
            f"{one.name}: decision {d.number} does not replay" for d in run.recorded if run.replay(d) != d.plan
        ]
    details = [_describe(one, time_limit, seen, trusted, parts) for one in made]
    if not targets.as_json:
        for sentence in simulation_references.unused([run for _, run in done], trusted):
            say(f"note: {sentence}")
    document = _document(made, rows)
    several = len({one.scenario.label for one in made}) > 1
    if targets.output is not None:
        every = [
            run.to_json()
            | ({"scenario": one.scenario.label} if several else {})
            | {key: entry[key] for key in ("policy", "bounded_by", "gaps", "losses", "parts") if key in entry}
            for (one, run), entry in zip(done, [entry for entry in details if "summary" in entry], strict=True)
        ]
        write_json(targets.output, {"kind": f"{world.problem}.runs", "version": 1, **document, "runs": every})
    if targets.jobs is not None:
        tables.write(_every_job(done, several), targets.jobs)
    if targets.plot is not None:
        from mlsched.benchmark.run_pictures import plot_runs

        plot_runs({one.name: run for one, run in done}, targets.plot)
    shown = Shown(done[0][0].scenario.workload, rows, details, failures, seen)
    if targets.table is not None:
        write_table(shown, targets.table)
    emit(
        targets.as_json,
        lambda: {**document, "runs": details, "tables": as_data(shown), "violations": failures},
        lambda: rendered(shown),
    )
    return failures


def _document(made: list[Made], rows: Account | None) -> dict[str, Any]:
    """What the documents of runs say before them."""
    first = made[0].scenario.workload
    document = {"source": first.source, "workload_hash": first.hash, "cluster": first.cluster}
    if rows is not None:
        document["rows"] = rows.to_json()
    known = {one.scenario.label: one.scenario for one in made}
    if len(known) > 1:
        document["scenarios"] = [
            {
                "scenario": label,
                "source": scenario.workload.source,
                "workload_hash": scenario.workload.hash,
                "cluster": scenario.workload.cluster,
                "load": scenario.load,
            }
            for label, scenario in known.items()
        ]
    return document


def _problem_of(policies: list[str], trace: str) -> str:
    """The one simulated problem that knows every policy; where several do, the one that the workload is for."""
    as_logged = {s.as_logged.name: s.problem for s in every_simulation() if s.as_logged is not None}
    names = [split(policy)[0] for policy in policies if not api.is_function(policy)]
    logged, names = [name for name in names if name in as_logged], [name for name in names if name not in as_logged]
    known = [p for p in simulations() if all((p, name) in registry().answerers for name in names)]
    known = [p for p in known if all(as_logged[name] == p for name in logged)]
    if len(known) > 1:
        own = api.problem_of(trace)
        if own is None and not trace.startswith("synthetic:"):
            own = of_logs().problem
        known = [problem for problem in known if problem == own] or known
    every = {name for problem in simulations() for p, name in registry().answerers if p == problem}
    for name in names:
        if name not in every:
            raise UnknownName(f"no policy '{name}'{meant(name, every)}; see `mlsched list solvers`")
    if len(known) != 1:
        reason = f"{', '.join(known)} all know them" if known else "no simulated problem knows them all"
        raise UnknownName(f"{' '.join(policies)}: {reason}; give --problem, see `mlsched list solvers`")
    return known[0]


def _split_options(world: Simulation, trace: str, given: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What belongs to the workload's source, and what to the world."""
    if trace.startswith("synthetic:"):
        maker = world.sources.get(split(trace.removeprefix("synthetic:"))[0])
    else:
        maker = world.from_file or world.from_trace
    of_source = set(parameters_of(maker)) - {"seed"} if maker else set()  # the seed has an option of its own
    of_world = {f.name for f in dataclasses.fields(world.options_type)}
    for key in given:
        if key not in of_source | of_world:
            known = sorted(of_source | of_world)
            raise InvalidInput(f"--set {key}{meant(key, known)}: there are {', '.join(known)}")
    return ({k: v for k, v in given.items() if k in of_source}, {k: v for k, v in given.items() if k in of_world})


def _run(workload: Any, policy: str, name: str, notes: list[str], **arguments: Any) -> Run:
    """One run, with its progress. What a log lacks (`notes`) is said once, when a run has begun."""
    count = len(workload.submit)

    def moved(time: int, unfinished: int) -> None:
        while notes:
            say(f"note: {notes.pop(0)}")
        update(count - unfinished)

    with progress(name, count) as update, only_documents():
        return api.simulate(workload, policy, progress=moved, **arguments)


def _describe(one: Made, time_limit: float | None, seen: Seen, trusted: list[Reference], parts: bool) -> dict[str, Any]:
    """A policy in a scenario, for the document: the run's figures, or why there is none."""
    named = {"policy": one.policy} | ({"scenario": one.scenario.label} if one.scenario.label else {})
    run = one.run
    if run is None:
        return {**named, "status": one.status, "reason": one.reason}
    return {
        **named,
        "params": run.params,
        "options": dataclasses.asdict(run.options),
        "assumed": run.assumed,
        "wake": str(run.wake),
        "seed": run.seed,
        "cpu_seconds": run.cpu_seconds,
        "summary": run.summary(),
        **_bounded(run),
        **simulation_references.losses(run, trusted),
        **(simulation_references.parts(run, trusted) if parts else {}),
        **(_windowed(run, seen) if seen.asked else {}),
        "recorded_decisions": len(run.recorded),
        "optimality": None if (gaps := _optimality(run, time_limit)) is None else dataclasses.asdict(gaps),
        "versions": run.versions,
    }


def _windowed(run: Run, seen: Seen) -> dict[str, Any]:
    """The run through its windows: from, to and figures of each; and of groups of all jobs of these windows."""
    view = run.windows()
    parts = seen.parts(run.workload)
    whole = Window(parts[0].start, parts[-1].end)
    return {
        "unit": view.unit,
        "windows": [{"from": w.start, "to": w.end, "figures": view.figures(w)} for w in parts],
        "all_jobs": len(run.workload.submit),
        "by": {grouping: view.by(whole, grouping) for grouping in seen.by},
    }


def _bounded(run: Run) -> dict[str, Any]:
    """What no run of the workload can be below, and the shares by which this one is above; nothing without a bound."""
    if run.simulation.bound is None:
        return {}
    if findings := run.lint():
        return {"bound": run.bound, "lint": [dataclasses.asdict(finding) for finding in findings]}
    gaps = {name: gap.share for name, gap in run.gaps.items()}
    return {"bound": run.bound, "bounded_by": run.bounded_by, "gaps": gaps}


def _optimality(run: Run, time_limit: float | None) -> Gaps | None:
    """How the recorded decisions compare with the optimum of the problem's first objective, where it is proven."""
    if not any(decision.instance.objectives for decision in run.recorded):
        return None  # nothing recorded, or decisions without an objective of their own
    exact = registry().problem(run.simulation.problem).default
    gaps = []
    for decision in run.recorded:
        best = api.solve(decision.instance, exact, time_limit=time_limit)
        value = decision.instance.evaluate(decision.plan)[best.objective]
        if best.value is not None and best.status == "optimal":
            gaps.append(gap_between(value, best.value, sense=best.sense, unit=best.unit, rank=best.rank))
    return sum_up(gaps)


def _every_job(done: list[tuple[Made, Run]], several: bool) -> dict[str, Any]:
    """The runs' tables of jobs, one below the other, with the policy in front, and the scenario of several."""
    found = [(one, run.table()) for one, run in done]
    columns = list(found[0][1])
    counts = [len(table["job"]) for _, table in found]
    front = {"policy": np.repeat([one.policy for one, _ in found], counts)}
    if several:
        front = {"scenario": np.repeat([one.scenario.label for one, _ in found], counts), **front}
    return {**front, **{name: np.concatenate([t[name] for _, t in found]) for name in columns}}
