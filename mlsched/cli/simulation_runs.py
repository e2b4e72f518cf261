"""The runs of `mlsched simulate`: prepared, made, checked by the independent replay, written and shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from mlsched import api
from mlsched.benchmark.formats import GAP_NOTE, apart, apart_notes, gap, percent
from mlsched.cli.output import ChecksFailed, Columns, emit, number, only_documents, progress, say
from mlsched.core import tables
from mlsched.core.errors import AnswererError, InvalidInput, UnknownName, meant
from mlsched.core.files import write_json
from mlsched.core.gap import Gaps, gap_between, sum_up
from mlsched.core.params import parameters_of, split
from mlsched.core.registry import registry
from mlsched.instances.traces import Account
from mlsched.simulation import Run, Simulation, every_simulation, of_logs, simulations
from mlsched.simulation.nodes import called

#: What "above its bound" means in the table of runs.
BOUND_NOTE = (
    "Above its bound: (value - bound) / bound. No scheduler can be below the bound, whatever it knows and however "
    "often it preempts; so a run is at most this far from the best possible one."
)
#: Seconds of a tick -> what people call so long a time.
LENGTHS = {1.0: "seconds", 60.0: "minutes", 3600.0: "hours"}


def make_runs(
    policies: list[str],
    trace: str,
    problem: str | None,
    *,
    physics: str | None,
    read: str | None,
    strict: bool,
    cluster: str | None,
    read_cluster: str | None,
    limit: int | None,
    wake: str | None,
    given: dict[str, str],
    objective: str | None,
    time_limit: float | None,
    record: float,
    seed: int,
    isolate: bool,
    memory_limit: int | None,
    output: Path | None,
    jobs: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Run the policies one after another and show them together; the arguments are the command's options.

    `given` holds the options of the workload's source and of the world, by key. A policy that breaks does not keep the
    others from running. Raises ChecksFailed, after everything is written, where one broke or does not pass its replay.
    """
    world = api.simulation_of(trace, problem or _problem_of(policies, trace), physics)
    for policy in policies:
        if world.as_logged is None or policy != world.as_logged.name:
            api.resolve_answerer(world.problem, policy, {})
    if jobs is not None:
        tables.check_target(jobs)
        if world.table is None:
            raise InvalidInput(f"--jobs {jobs}: runs of {world.problem} have no table of jobs; use -o RUN.json")
    source, options = _split_options(world, trace, given)
    log = None if trace.startswith("synthetic:") else api.read_log(trace, limit=limit, read=read, strict=strict)
    settings: dict[str, Any] = source if log is not None else {"limit": limit, "read": read, "strict": strict, **source}
    workload = api.workload(
        trace if log is None else log,
        world.problem,
        cluster=cluster,
        read_cluster=read_cluster,
        seed=seed,
        physics=physics,
        **settings,
    )
    notes = [] if log is None or as_json else list(log.notes)
    runs: dict[str, Run] = {}
    failures: list[str] = []
    try:
        for policy in policies:
            try:
                runs[policy] = _run(
                    workload,
                    policy,
                    notes,
                    seed=seed,
                    wake=wake,
                    record=record,
                    options=options,
                    objective=objective,
                    time_limit=time_limit,
                    isolate=isolate,
                    memory_limit=memory_limit,
                )
            except AnswererError as error:
                failures.append(str(error))
    finally:
        # An interrupt keeps the policies that are done.
        if runs:
            rows = None if log is None else log.account
            failures = _finish(world, workload, rows, runs, failures, output, jobs, plot, as_json, time_limit)
    if failures:
        for sentence in failures[1:]:
            say(sentence)
        raise ChecksFailed(failures[0])


def _finish(
    world: Simulation,
    workload: Any,
    rows: Account | None,
    runs: dict[str, Run],
    broken: list[str],
    output: Path | None,
    jobs: Path | None,
    plot: Path | None,
    as_json: bool,
    time_limit: float | None,
) -> list[str]:
    """Check the runs, write and show them; returns what the checks found, after what is `broken` already."""
    failures = broken + [f"{policy}: {sentence}" for policy, run in runs.items() for sentence in run.violations()]
    failures += [f"{policy}: no gap: {finding}" for policy, run in runs.items() for finding in run.lint()]
    for policy, run in runs.items():
        failures += [f"{policy}: decision {d.number} does not replay" for d in run.recorded if run.replay(d) != d.plan]
    document = {"source": workload.source, "workload_hash": workload.hash, "cluster": workload.cluster}
    if rows is not None:
        document["rows"] = rows.to_json()
    details = [_describe(policy, run, time_limit) for policy, run in runs.items()]
    if output is not None:
        every = [run.to_json() for run in runs.values()]
        write_json(output, {"kind": f"{world.problem}.runs", "version": 1, **document, "runs": every})
    if jobs is not None:
        tables.write(_every_job(runs), jobs)
    if plot is not None:
        from mlsched.benchmark.run_pictures import plot_runs

        plot_runs(runs, plot)
    emit(
        as_json,
        lambda: {**document, "runs": details, "violations": failures},
        lambda: _render(workload, rows, details, failures),
    )
    return failures


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
        maker = world.from_trace
    of_source = set(parameters_of(maker)) - {"seed"} if maker else set()  # the seed has an option of its own
    of_world = {f.name for f in dataclasses.fields(world.options_type)}
    for key in given:
        if key not in of_source | of_world:
            raise InvalidInput(f"--set {key}: there are {', '.join(sorted(of_source | of_world))}")
    return ({k: v for k, v in given.items() if k in of_source}, {k: v for k, v in given.items() if k in of_world})


def _run(workload: Any, policy: str, notes: list[str], **arguments: Any) -> Run:
    """One run, with its progress. What a log lacks (`notes`) is said once, when a run has begun."""
    count = len(workload.submit)

    def moved(time: int, unfinished: int) -> None:
        while notes:
            say(f"note: {notes.pop(0)}")
        update(count - unfinished)

    with progress(policy, count) as update, only_documents():
        return api.simulate(workload, policy, progress=moved, **arguments)


def _describe(policy: str, run: Run, time_limit: float | None) -> dict[str, Any]:
    return {
        "policy": policy,
        "params": run.params,
        "options": dataclasses.asdict(run.options),
        "assumed": run.assumed,
        "wake": str(run.wake),
        "seed": run.seed,
        "cpu_seconds": run.cpu_seconds,
        "summary": run.summary(),
        **_bounded(run),
        "recorded_decisions": len(run.recorded),
        "optimality": None if (gaps := _optimality(run, time_limit)) is None else dataclasses.asdict(gaps),
        "versions": run.versions,
    }


def _bounded(run: Run) -> dict[str, Any]:
    """What no run of the workload can be below, and the shares by which this one is above; nothing without a bound."""
    if run.simulation.bound is None:
        return {}
    if findings := run.lint():
        return {"bound": run.bound, "lint": [dataclasses.asdict(finding) for finding in findings]}
    return {"bound": run.bound, "gaps": {name: gap.share for name, gap in run.gaps.items()}}


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


def _every_job(runs: dict[str, Run]) -> dict[str, Any]:
    """The runs' tables of jobs, one below the other, with the policy in front."""
    tables = {policy: run.table() for policy, run in runs.items()}
    columns = list(next(iter(tables.values())))
    policy = np.repeat(list(tables), [len(table["job"]) for table in tables.values()])
    return {"policy": policy, **{name: np.concatenate([t[name] for t in tables.values()]) for name in columns}}


def _render(workload: Any, account: Account | None, details: list[dict[str, Any]], failures: list[str]) -> list[Any]:
    """One table: a row per policy, a column a scalar or percentile of its summary."""
    header, rows = ["policy"], []
    for entry in details:
        flat = _flatten({key: value for key, value in entry["summary"].items() if key != "tick_seconds"})
        flat |= {f"{name} above its bound": gap(share) for name, share in entry.get("gaps", {}).items()}
        if entry["optimality"] is not None:
            flat |= _gap_lines(Gaps(**entry["optimality"]))
        header += [key for key in flat if key not in header]
        rows.append({"policy": entry["policy"], **flat})
    ticks = details[0]["summary"].get("tick_seconds")
    unit = f"; times in {LENGTHS.get(ticks, f'ticks of {ticks:g} s')}" if ticks else ""
    shown: list[Any] = [f"{workload.source}", f"{len(workload.submit)} jobs on {workload.cluster}{unit}"]
    shown += [f"rows: {sentence}" for sentence in account.sentences()] if account else []
    shown += _assumed(details)
    names = [row["policy"] for row in rows]
    cells = ([c if isinstance(c := row.get(key), str) else number(c) for row in rows] for key in header[1:])
    body = [[_worded(key), *row] for key, row in zip(header[1:], cells, strict=True)]
    shown.append(Columns(["", *names], body))
    shown += [BOUND_NOTE] if any(entry.get("gaps") for entry in details) else []
    recorded = [Gaps(**entry["optimality"]) for entry in details if entry["optimality"] is not None]
    shown += [GAP_NOTE, *apart_notes(recorded)] if recorded else []
    if not failures:
        shown.append("every run passed the independent replay check")
    return shown


def _assumed(details: list[dict[str, Any]]) -> list[str]:
    """A line for everything that runs took for granted; where they differ, one for each way, with who took it."""
    lines = []
    for name in details[0]["assumed"]:
        by: dict[str, list[str]] = {}
        for entry in details:
            by.setdefault(entry["assumed"][name], []).append(entry["policy"])
        for said, who in by.items():
            lines.append(f"{name}: {said}" + (f" ({', '.join(who)})" if len(by) > 1 else ""))
    return lines


def _worded(key: str) -> str:
    """A line's name, with resources as people call them: the numbers of such lines are shares."""
    return " ".join(called(word) for word in key.split())


def _gap_lines(gaps: Gaps) -> dict[str, Any]:
    """The table's lines on recorded decisions: a mean of percentages, and apart from it what has none."""
    lines = {"decisions compared": gaps.count, "decisions optimal": percent(gaps.optimal), "mean gap": gap(gaps.mean)}
    if gaps.absolute:
        lines["optimum 0"] = apart(gaps.absolute, gaps.mean_difference)
    if gaps.behind:
        lines["behind"] = apart(gaps.behind, gaps.mean_behind)
    return lines


def _flatten(summary: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key} ")
        elif value is not None:
            flat[f"{prefix}{key}"] = value
    return flat
