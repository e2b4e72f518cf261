"""Fills a collection: every instance of a suite, by its first objective, with what exact solvers find of it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mlsched.api import solve
from mlsched.api.confirm import with_confirmation
from mlsched.benchmark.answer import CONFIRM_SECONDS
from mlsched.benchmark.collection import DIGITS, Entry, add, certify, entries
from mlsched.benchmark.tasks import Task, tasks_of
from mlsched.benchmark.user_suites import find_suite
from mlsched.certificates.prices.statement import statements
from mlsched.certificates.translation import translations
from mlsched.core.clock import cpu_time
from mlsched.core.errors import Contradiction, TooLarge
from mlsched.core.registry import registry
from mlsched.core.request import Request

#: Wall seconds per solve: a backstop for what measures of work do not count, such as linear relaxations. Without it a
#: solver may compute for hours in a single call, during which no signal reaches Python.
MOST_SECONDS = 120.0
#: Nodes that HiGHS may branch on for one deterministic second of CP-SAT: roughly as long.
NODES_A_SECOND = 250.0


def gather(
    folder: Path,
    tasks: Sequence[Task],
    work: float,
    proofs: float | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> dict[str, Any]:
    """Add to the collection what it lacks of the tasks; returns how many entries it then has, by what backs them.

    `problems` of what is returned says the same for each problem; the CPU seconds that the call took are there too.

    tasks: of a suite (`tasks_for`). work: deterministic seconds of CP-SAT per solve; dynamic programs have
    no limit. A second engine is asked to confirm every optimum. proofs: wall seconds for the certificate of an optimum
    of a problem that can be certified; None: no certificates. Where engines contradict each other, what the first
    found is entered as its claim, and `disputed` has a sentence.
    """
    begun = cpu_time()
    disputed: list[str] = []
    for done, task in enumerate(tasks):
        progress(done, len(tasks))
        if not _path(folder, task).exists():
            disputed += _solve(folder, task, work)
    progress(len(tasks), len(tasks))
    if proofs is not None:
        _prove(folder, proofs, progress)
    backed = [(entry.instance.problem, entry.evidence or "open") for entry in entries(folder)]
    return {
        "entries": len(backed),
        **_counts(evidence for _, evidence in backed),
        "problems": {
            name: _counts(evidence for problem, evidence in backed if problem == name) for name in sorted(dict(backed))
        },
        "disputed": disputed,
        "cpu_seconds": cpu_time() - begun,
    }


def tasks_for(suite: str, seeds: int | None) -> list[Task]:
    """Every instance of a suite, by its first objective, for its problem's exact solver.

    seeds: only the first so many of each case.
    """
    asked_for = find_suite(suite)
    cases = tuple(dataclasses.replace(case, seeds=case.seeds[:seeds]) for case in asked_for.cases)
    asked = {case.problem: registry().problem(case.problem).default for case in cases}
    return [
        task
        for task in tasks_of(dataclasses.replace(asked_for, cases=cases), sorted(set(asked.values())), confirm=False)
        if task.solver == asked[task.problem] and task.objectives[0] == _first(task)
    ]


def _prove(folder: Path, seconds: float, progress: Callable[[int, int], None]) -> None:
    """Certify what can be: the problems take turns, so that a call which is ended has tried some of each."""
    kinds = {*statements(), *translations()}
    turn: Counter[str] = Counter()
    waiting: list[tuple[int, Entry]] = []
    for entry in entries(folder):
        if entry.closed and entry.evidence != "certified" and entry.instance.kind in kinds:
            turn[entry.instance.problem] += 1
            waiting.append((turn[entry.instance.problem], entry))
    for done, (_, entry) in enumerate(sorted(waiting, key=lambda own: own[0])):
        progress(done, len(waiting))
        certify(entry, seconds)
    progress(len(waiting), len(waiting))


def _counts(evidences: Iterable[str]) -> dict[str, int]:
    counted = Counter(evidences)
    return {name: counted[name] for name in ("certified", "confirmed", "unconfirmed", "open")}


def _first(task: Task) -> str:
    return registry().problem(task.problem).instance_type.objectives[0].name


def _path(folder: Path, task: Task) -> Path:
    return folder / task.problem / f"{task.instance_hash[:DIGITS]}.{task.objectives[0]}.json"


def _solve(folder: Path, task: Task, work: float) -> list[str]:
    """One entry, where there is a plan. Both engines stop by work, so that machines as fast make the same entry.

    Returns a sentence where the second engine contradicts the first.
    """
    instance, solver = task.instance(), task.found
    assert solver is not None
    limits = {"cp-sat": work, "highs": NODES_A_SECOND * work}
    said: list[str] = []
    try:
        # By what searches: an algorithm around CP-SAT keeps to its measure as a model does.
        own = limits.get(task.engine)
        result = solve(instance, task.solver, objective=task.objectives[0], work_limit=own, time_limit=MOST_SECONDS)
        request = Request(solver, result.objective, dict(task.params), instance=instance)
        result = with_confirmation(request, result, limits, CONFIRM_SECONDS)
    except TooLarge:
        return said
    except Contradiction as error:
        said.append(f"{task.problem} {task.preset}, seed {task.seed}: {error}")
    if result.plan is not None:
        add(folder, instance, result, f"mlsched {task.solver}")
    return said
