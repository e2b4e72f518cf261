"""Filling of a collection: every instance of a suite, by its first objective, with the results of exact solvers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mlsched.api import solve
from mlsched.api.confirm import with_confirmation
from mlsched.benchmark.answer import CONFIRM_SECONDS
from mlsched.benchmark.collection import DIGITS, Entry, add, certify, entries
from mlsched.benchmark.tasks import Task, tasks_of
from mlsched.benchmark.user_suites import find_suite
from mlsched.certificates.prices.statement import statements
from mlsched.certificates.translation import translations
from mlsched.core.aliases import Data
from mlsched.core.clock import cpu_time
from mlsched.core.errors import Contradiction, TooLarge
from mlsched.core.registry import registry
from mlsched.core.request import Request

#: Wall seconds per solve, a backstop for work that deterministic measures do not count, such as linear relaxations.
#: Otherwise a single call may compute for hours, during which Python ignores signals.
MAX_SECONDS = 120.0
#: Branch-and-bound nodes of HiGHS per deterministic second of CP-SAT, which take roughly as long.
NODES_PER_SECOND = 250.0


def gather(
    folder: Path,
    tasks: Sequence[Task],
    work: float,
    proofs: float | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Data:
    """Add missing entries of the tasks to the collection, and return the number of entries by evidence.

    A second engine confirms every optimum. If engines contradict each other, the first engine's result is entered as
    unconfirmed, and `disputed` has a sentence.

    Args:
        folder: The collection.
        tasks: Tasks of a suite (`tasks_for`).
        work: Deterministic seconds of CP-SAT per solve; dynamic programs are unlimited.
        proofs: Wall seconds for the certificate of each optimum; None: without certificates.
        progress: Called with (done, total).

    Returns:
        Numbers of entries by evidence, in total and under `problems` by problem, disputes, and CPU seconds.
    """
    start_time = cpu_time()
    disputed: list[str] = []
    for done, task in enumerate(tasks):
        progress(done, len(tasks))
        if not _entry_path(folder, task).exists():
            disputed += _solve_task(folder, task, work)
    progress(len(tasks), len(tasks))
    if proofs is not None:
        _certify_entries(folder, proofs, progress)
    evidence_pairs = [(entry.instance.problem, entry.evidence or "open") for entry in entries(folder)]
    return {
        "entries": len(evidence_pairs),
        **_evidence_counts(evidence for _, evidence in evidence_pairs),
        "problems": {
            name: _evidence_counts(evidence for problem, evidence in evidence_pairs if problem == name)
            for name in sorted(dict(evidence_pairs))
        },
        "disputed": disputed,
        "cpu_seconds": cpu_time() - start_time,
    }


def tasks_for(suite: str, seeds: int | None) -> list[Task]:
    """Return every instance of a suite by its first objective, for its problem's exact solver.

    Args:
        suite: Name of the suite.
        seeds: Use only the first `seeds` seeds of each case.
    """
    suite_ = find_suite(suite)
    cases = tuple(dataclasses.replace(case, seeds=case.seeds[:seeds]) for case in suite_.cases)
    default_solvers = {case.problem: registry().problem(case.problem).default for case in cases}
    return [
        task
        for task in tasks_of(
            dataclasses.replace(suite_, cases=cases), sorted(set(default_solvers.values())), confirm=False
        )
        if task.solver == default_solvers[task.problem] and task.objectives[0] == _first_objective(task)
    ]


def _certify_entries(folder: Path, seconds: float, progress: Callable[[int, int], None]) -> None:
    """Certify entries; the problems take turns, so that an interrupted call has tried some of each."""
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


def _evidence_counts(evidences: Iterable[str]) -> dict[str, int]:
    counts = Counter(evidences)
    return {name: counts[name] for name in ("certified", "confirmed", "unconfirmed", "open")}


def _first_objective(task: Task) -> str:
    return registry().problem(task.problem).instance_type.objectives[0].name


def _entry_path(folder: Path, task: Task) -> Path:
    return folder / task.problem / f"{task.instance_hash[:DIGITS]}.{task.objectives[0]}.json"


def _solve_task(folder: Path, task: Task, work: float) -> list[str]:
    """Add one entry if there is a plan; return a sentence if the second engine contradicts the first.

    Both engines stop by work, so that equally fast machines create the same entry.
    """
    instance, solver = task.instance(), task.found
    assert solver is not None
    limits = {"cp-sat": work, "highs": NODES_PER_SECOND * work}
    sentences: list[str] = []
    try:
        # Limit of the engine: an algorithm around CP-SAT uses its measure, as a model does.
        own = limits.get(task.engine)
        result = solve(instance, task.solver, objective=task.objectives[0], work_limit=own, time_limit=MAX_SECONDS)
        request = Request(solver, result.objective, dict(task.params), instance=instance)
        result = with_confirmation(request, result, limits, CONFIRM_SECONDS)
    except TooLarge:
        return sentences
    except Contradiction as error:
        sentences.append(f"{task.problem} {task.preset}, seed {task.seed}: {error}")
    if result.plan is not None:
        add(folder, instance, result, f"mlsched {task.solver}")
    return sentences
