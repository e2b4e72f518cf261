"""The runs of `mlsched simulate`: prepared, made, checked by the independent replay, written and shown."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlsched import api
from mlsched.cli.output import ChecksFailed, only_documents, progress, say
from mlsched.cli.simulation_documents import Made, Wanted, finish
from mlsched.cli.simulation_scenarios import Asked, Scenarios, scenarios
from mlsched.cli.taskgraph import simulation_references
from mlsched.core.errors import InvalidInput, MlschedError, SolverError
from mlsched.simulation import Run
from mlsched.simulation.taskgraph.iterations.reference.folder import Reference


@dataclasses.dataclass(frozen=True)
class How:
    """How each run is made: arguments of `api.simulate`, by its names."""

    scheduling_events: str | None
    objective: str | None
    time_limit: float | None
    record: float
    seed: int
    isolate: bool
    memory_limit: int | None


def make_runs(policies: list[str], asked: Asked, how: How, wanted: Wanted) -> None:
    """Run the policies one after another and show them together.

    A policy that refuses or breaks does not keep the others from running: what will be refused is said before the first
    run. Raises ChecksFailed, after everything is written, where one refused, broke or does not pass its replay;
    InvalidInput where all refuse.
    """
    world = asked.world(policies)
    wanted.check(world)
    found = scenarios(world, asked)
    trusted = _references(found, wanted)
    made = _ready(found, policies, how)
    notes = [] if found.log is None or wanted.as_json else list(found.log.notes)
    started: list[Made] = []
    failures: list[str] = []
    try:
        for one in made:
            started.append(one)
            if not one.refused:
                _make(one, notes, len(made) == 1, options=found.options, **dataclasses.asdict(how))
    finally:
        # An interrupt keeps the policies that are done.
        if any(one.run is not None for one in started):
            kept = [one for one in started if one.run is not None or one.reason]
            rows = None if found.log is None else found.log.account
            failures = finish(world, kept, rows, how.time_limit, wanted, trusted)
        else:
            failures = [one.failed for one in started if one.reason]
    if all(one.refused or one.invalid for one in made):
        raise InvalidInput(made[0].reason)
    if failures:
        for sentence in failures[1:]:
            say(sentence)
        raise ChecksFailed(failures[0])


def _references(found: Scenarios, wanted: Wanted) -> list[Reference]:
    """The references, recomputed; refuses windows, parts and references that these workloads do not have."""
    if wanted.seen.asked:
        for workload in found.workloads:
            wanted.seen.check(workload)
    if wanted.parts:
        simulation_references.check_parts(found.workloads)
    return [simulation_references.trusted(folder, found.workloads) for folder in wanted.references]


def _ready(found: Scenarios, policies: list[str], how: How) -> list[Made]:
    """Every policy in every scenario; those that will be refused are named, InvalidInput where all are."""
    made = [Made(scenario, policy) for scenario in found.every for policy in policies]
    for one in made:
        one.reason = api.refusal(
            one.scenario.workload, one.policy, options=found.options, objective=how.objective, seed=how.seed
        )
        one.refused = bool(one.reason)
    if all(one.refused for one in made):
        raise InvalidInput(made[0].reason)
    for one in made:
        if one.refused:
            say(f"{one.name} will not run: {one.reason}")
    return made


def _make(one: Made, notes: list[str], alone: bool, **arguments: Any) -> None:
    """One run. What it fails with is kept; where it is the only one, what is no solver's fault is raised as it is."""
    try:
        one.run = _run(one.scenario.workload, one.policy, one.name, notes, **arguments)
    except SolverError as error:
        one.reason = str(error)
    except InvalidInput as error:
        one.reason, one.invalid = str(error), True
    except MlschedError as error:
        if alone:
            raise
        one.reason = f"{one.policy}: {error}"


def _run(workload: Any, policy: str, name: str, notes: list[str], **arguments: Any) -> Run:
    """One run, with its progress. What a log lacks (`notes`) is said once, when a run has begun."""
    count = len(workload.submit)

    def moved(time: int, unfinished: int) -> None:
        while notes:
            say(f"note: {notes.pop(0)}")
        update(count - unfinished)

    with progress(name, count) as update, only_documents():
        return api.simulate(workload, policy, progress=moved, **arguments)
