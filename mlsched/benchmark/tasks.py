"""A suite as a list of tasks: one call of one solver each, ready to be sent to another process."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mlsched.api import generate, load
from mlsched.api.adapters import can_answer
from mlsched.api.asked import resolve_solver
from mlsched.api.functions import is_function
from mlsched.benchmark.cases import Case, Suite
from mlsched.benchmark.row import Key, Row, canonical
from mlsched.core.clock import utc_time
from mlsched.core.contract import Instance, Objective, Primary
from mlsched.core.errors import UnknownName
from mlsched.core.machine import machine
from mlsched.core.params import split_settings
from mlsched.core.registry import registry
from mlsched.core.solver import Kind, Solver
from mlsched.core.versions import versions

#: Added to an instance's seed for the solver, so that a random rule does not draw the generator's own numbers.
ANSWER_SEED = 10**6
#: Name of the exact algorithms that examine every plan.
ENUMERATION = "brute-force"
#: In the place of a solver: the judge is timed, a published optimum is noted.
JUDGE, PUBLISHED = "judge", "published"


class Asked(Protocol):
    """What a runner does: something that makes rows, in any process."""

    @property
    def solver(self) -> str:
        """Who is asked."""
        ...

    @property
    def keys(self) -> list[Key]:
        """The keys of the rows that it makes."""
        ...

    @property
    def content(self) -> tuple[str, int, str]:
        """What its instance is: problem, size, hash."""
        ...

    @property
    def limits(self) -> dict[str, Any]:
        """What bounds the call, as plain JSON data."""
        ...

    def rows(self, **details: Any) -> list[Row]:
        """The rows that it makes, all with the same `details`."""
        ...


@dataclasses.dataclass(frozen=True)
class Task:
    """One call: an instance by its recipe, a solver by name and parameters, the objectives the answer is read for.

    An exact solver is asked for one objective; the one plan of a rule or policy is valued by all of them. ranks: what
    each of the objectives compares first on the instance. confirm: another engine is asked to confirm an optimum,
    within these limits of work by backend; None where the rows of another engine do that. confirm_limit: wall seconds
    for that, None for a share of the time limit. source: the instance's file, None where it is drawn. solver: a
    registered name, or MODULE:FUNCTION, which keeps its parameters, or JUDGE or PUBLISHED, with the `published`
    optimum. repeat: CPU seconds for which the call is repeated.
    """

    suite: str
    problem: str
    preset: str | None
    sizes: tuple[tuple[str, Any], ...]
    seed: int
    instance_hash: str
    size: int
    solver: str
    label: str
    kind: Kind
    params: tuple[tuple[str, Any], ...]
    objectives: tuple[str, ...]
    ranks: tuple[Primary | None, ...]
    time_limit: float | None
    work_limit: float | None
    confirm: tuple[tuple[str, float], ...] | None = None
    source: str | None = None
    published: int | None = None
    repeat: float | None = None
    confirm_limit: float | None = None

    @property
    def found(self) -> Solver | None:
        """The solver; None for the judge and a published optimum."""
        if self.solver in (JUDGE, PUBLISHED):
            return None
        return resolve_solver(self.problem, self.solver, {})[0]

    @property
    def engine(self) -> str:
        """The code that a proof of this solver's rests on."""
        found = self.found
        return self.solver if found is None else found.engine_of(dict(self.params))

    @property
    def keys(self) -> list[Key]:
        """The keys of the rows that the task makes."""
        params = canonical(dict(self.params))
        return [(self.suite, self.instance_hash, name, self.label, params, self.seed) for name in self.objectives]

    @property
    def content(self) -> tuple[str, int, str]:
        """What its instance is: problem, size, hash."""
        return self.problem, self.size, self.instance_hash

    @property
    def limits(self) -> dict[str, Any]:
        """What bounds the call, and whether another engine confirms its optimum."""
        limits = {
            "time_limit": self.time_limit,
            "work_limit": self.work_limit,
            "repeat": self.repeat,
            "confirm": None if self.confirm is None else dict(self.confirm),
            "confirm_limit": self.confirm_limit,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}

    def instance(self) -> Instance:
        """The instance, drawn or read anew, or remembered from the task before."""
        return _instance(self.problem, self.preset, self.sizes, self.seed, self.source)

    def rows(self, **details: Any) -> list[Row]:
        """One row an objective, all with the same `details`."""
        known = registry().problem(self.problem).objectives
        return [self._row(o, details) for o in known if o.name in self.objectives]

    def _row(self, objective: Objective, details: dict[str, Any]) -> Row:
        return Row(
            suite=self.suite,
            problem=self.problem,
            preset=self.preset,
            sizes=dict(self.sizes),
            seed=self.seed,
            instance_hash=self.instance_hash,
            size=self.size,
            objective=objective.name,
            sense=objective.sense,
            unit=objective.unit,
            primary=self.ranks[self.objectives.index(objective.name)],
            solver=self.label,
            kind=self.kind,
            params=dict(self.params),
            answer_seed=self.seed + ANSWER_SEED,
            time_limit=self.time_limit,
            work_limit=self.work_limit,
            source=self.source,
            machine=machine(),
            made=utc_time(),
            versions=versions(),
            **details,
        )


@functools.lru_cache(maxsize=4)
def _instance(
    problem: str, preset: str | None, sizes: tuple[tuple[str, Any], ...], seed: int, source: str | None
) -> Instance:
    if source is not None:
        read: Instance = load(source, **dict(sizes))
        return read
    return generate(problem, preset=preset, seed=seed, **dict(sizes))


def tasks_of(suite: Suite, solvers: Sequence[str] | None, confirm: bool = True, reference: bool = True) -> list[Task]:
    """Every call that the suite asks for, in a fixed order. `solvers` replaces whom the cases name.

    reference: where no exact solver is among `solvers` (or those of a case with a reference), the problem's default
    is asked as well, for the gaps.

    Draws every instance, so that a wrong case is an error before any work is done. confirm: an optimum for which the
    suite asks one engine alone is confirmed by another.
    """
    if solvers is not None:
        _refuse_unknown(suite, solvers)
    seen: set[Key] = set()
    found: list[tuple[Task, tuple[tuple[str, float], ...]]] = []
    for case in suite.cases:
        chosen = _chosen(case, solvers, reference)
        for source, seed in itertools.product(case.files or (None,), case.seeds):
            for task in _tasks(suite.name, case, source, seed, chosen):
                # Two cases may describe the same instance; it is asked once.
                if not seen.issuperset(task.keys):
                    seen.update(task.keys)
                    found.append((task, tuple(sorted(case.work_limit.items()))))
    alone = _alone([task for task, _ in found]) if confirm else set()
    return [dataclasses.replace(t, confirm=work) if _question(t) in alone else t for t, work in found]


def _question(task: Task) -> tuple[str, str] | None:
    """What an exact solver is asked: instance and objective."""
    return (task.instance_hash, task.objectives[0]) if task.kind == "exact" else None


def _alone(tasks: Sequence[Task]) -> set[tuple[str, str]]:
    """The questions that one engine is asked alone; brute force, which refuses most of them, is not counted."""
    engines: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task in tasks:
        if (question := _question(task)) is None:
            continue
        found = task.found
        if found is None or not found.restricted:
            engines[question] |= {task.engine} - {ENUMERATION}
    return {question for question, found in engines.items() if len(found) < 2}


def _refuse_unknown(suite: Suite, solvers: Sequence[str]) -> None:
    """Every solver must be known to some problem of the suite, or a typo would pass as an empty table."""
    problems = sorted({case.problem for case in suite.cases})
    known = {a.name for problem in problems for a in registry().available(problem)}
    for text in solvers:
        if not is_function(text) and split_settings(text)[0] not in known:
            raise UnknownName(f"no solver '{text}' for suite {suite.name}; there are {', '.join(sorted(known))}")


def _chosen(case: Case, solvers: Sequence[str] | None, reference: bool) -> list[tuple[str, Solver, dict[str, Any]]]:
    """The solvers of a case with all their parameters, each under the name that it is asked by."""
    problem = registry().problem(case.problem)
    run = case.preset in problem.suites.runs
    called = problem.instance_type.called
    if run:
        called = _instance(case.problem, case.preset, tuple(sorted(case.sizes.items())), case.seeds[0], None).called
    names = [a.name for a in registry().available(case.problem) if can_answer(a, called)]
    if solvers is not None:
        texts = [text for text in solvers if is_function(text) or split_settings(text)[0] in names]
    elif case.solvers is not None:
        texts = list(case.solvers)
    else:
        texts = [name for name in names if name not in case.without]
    found = [(text, *resolve_solver(case.problem, text, {})) for text in texts]
    found = [
        (text if is_function(text) else a.name, a, params) for text, a, params in found if a.problem == case.problem
    ]
    wanted = reference and (solvers is not None or case.reference)
    if found and wanted and not any(a.kind == "exact" for _, a, _ in found):
        default = problem.suites.on_runs[0] if run else problem.default
        found.append((default, *registry().solver(case.problem, default)))
    return found


def _tasks(
    suite: str, case: Case, source: str | None, seed: int, chosen: list[tuple[str, Solver, dict[str, Any]]]
) -> Iterator[Task]:
    sizes = tuple(sorted(case.sizes.items()))
    instance = _instance(case.problem, case.preset, sizes, seed, source)
    asked = _objectives(case, instance)
    # The judge's task: the others differ from it in who is asked.
    judge = Task(
        suite,
        case.problem,
        case.preset,
        sizes,
        seed,
        instance.hash,
        _size(instance),
        JUDGE,
        JUDGE,
        "heuristic",
        (),
        tuple(asked),
        tuple(instance.primary(objective) for objective in asked),
        None,
        None,
        source=source,
        repeat=case.repeat,
        confirm_limit=case.confirm_limit,
    )
    if case.repeat is not None:
        yield judge
    if source is not None and source in case.published:
        value = case.published[source]
        yield dataclasses.replace(judge, solver=PUBLISHED, label=PUBLISHED, kind="exact", published=value)
    for name, solver, params in chosen:
        exact = solver.kind == "exact"
        groups = [(o,) for o in asked if o in solver.objectives] if exact else [tuple(asked)]
        for objectives in groups:
            yield dataclasses.replace(
                judge,
                solver=name,
                label=name if is_function(name) else label(solver, params),
                kind=solver.kind,
                params=tuple(sorted(params.items())),
                objectives=objectives,
                ranks=tuple(instance.primary(objective) for objective in objectives),
                time_limit=case.time_limit if exact else None,
                work_limit=case.work_limit.get(solver.engine or solver.solved_by or "") if exact else None,
            )


def _objectives(case: Case, instance: Instance) -> list[str]:
    names = [o.name for o in instance.objectives]
    for name in case.objectives or ():
        if name not in names:
            raise UnknownName(f"{case.problem} has no objective '{name}'; there are {', '.join(names)}")
    return [name for name in names if case.objectives is None or name in case.objectives]


def label(solver: Solver, params: dict[str, Any]) -> str:
    """The name, and the parameters that differ from their defaults: equal solvers have equal labels."""
    changed = [f"{k}={v}" for k, v in sorted(params.items()) if v != solver.parameters[k].default]
    return f"{solver.name}:{','.join(changed)}" if changed else solver.name


def _size(instance: Instance) -> int:
    """How many integers the instance consists of: a measure of size that every problem has."""
    values = [getattr(instance, field.name) for field in dataclasses.fields(instance)]
    return sum(int(v.size) if isinstance(v, np.ndarray) else 1 for v in values if not isinstance(v, (str, tuple)))
