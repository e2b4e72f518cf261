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
from mlsched.benchmark.row import Key, Row, canonical_json
from mlsched.core.aliases import Data
from mlsched.core.clock import utc_time
from mlsched.core.contract import Instance, Objective, Primary
from mlsched.core.errors import UnknownName
from mlsched.core.machine import machine
from mlsched.core.params import split_settings
from mlsched.core.registry import registry
from mlsched.core.solver import Kind, Solver
from mlsched.core.versions import versions

#: Added to an instance's seed for the solver, so that a random rule does not reuse the generator's numbers.
ANSWER_SEED = 10**6
#: Name of the exact algorithms that enumerate every plan.
ENUMERATION = "brute-force"
#: Stand-ins for a solver: the timed judge, and a published optimum.
JUDGE, PUBLISHED = "judge", "published"


class RowTask(Protocol):
    """Task of a runner: an object that makes rows, in any process."""

    @property
    def solver(self) -> str:
        """Name of the solver."""
        ...

    @property
    def keys(self) -> list[Key]:
        """Keys of the rows that it makes."""
        ...

    @property
    def content(self) -> tuple[str, int, str]:
        """Problem, size and hash of its instance."""
        ...

    @property
    def limits(self) -> Data:
        """Limits of the call, as plain JSON data."""
        ...

    def rows(self, **details: object) -> list[Row]:
        """Return its rows, all with the same `details`."""
        ...


@dataclasses.dataclass(frozen=True)
class Task:
    """One call: an instance by its recipe, a solver by name and parameters, and the evaluated objectives.

    An exact solver optimises one objective; the only plan of a rule or policy is evaluated by all of them.

    Attributes:
        suite: Name of the suite.
        problem: Problem of the instance.
        preset: Preset of the instance.
        sizes: Changes to the preset's sizes.
        seed: Seed of the instance.
        instance_hash: Hash of the instance.
        size: Number of integers in the instance.
        solver: Registered name, or MODULE:FUNCTION, which keeps its parameters, or JUDGE or PUBLISHED.
        label: Name of the solver in rows.
        kind: Kind of the solver.
        params: Parameters of the solver.
        objectives: Objectives of the rows.
        ranks: Primary criterion of each objective on the instance.
        time_limit: Wall seconds.
        work_limit: Deterministic limit.
        confirm: Deterministic limits by backend, within which another engine confirms an optimum; None if rows of
            another engine do that.
        source: File of the instance, None if it is drawn.
        published: Published optimum.
        repeat: CPU seconds for which the call is repeated.
        confirm_limit: Wall seconds of a confirmation, None for a share of the time limit.
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
        """Code that a proof of this solver relies on."""
        registered = self.found
        return self.solver if registered is None else registered.engine_of(dict(self.params))

    @property
    def _declared_engine(self) -> str | None:
        """Engine of a function outside the registry, if it declares one; readers of rows do not import the function."""
        solver = self.found if self.kind == "exact" and is_function(self.solver) else None
        return None if solver is None or self.engine == solver.name else self.engine

    @property
    def keys(self) -> list[Key]:
        """Keys of the rows that the task makes."""
        params = canonical_json(dict(self.params))
        return [(self.suite, self.instance_hash, name, self.label, params, self.seed) for name in self.objectives]

    @property
    def content(self) -> tuple[str, int, str]:
        """Problem, size and hash of its instance."""
        return self.problem, self.size, self.instance_hash

    @property
    def limits(self) -> Data:
        """Limits of the call, and of its confirmation."""
        limits = {
            "time_limit": self.time_limit,
            "work_limit": self.work_limit,
            "repeat": self.repeat,
            "confirm": None if self.confirm is None else dict(self.confirm),
            "confirm_limit": self.confirm_limit,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}

    def instance(self) -> Instance:
        """Return the instance, drawn or read again, or cached from the previous task."""
        return _instance(self.problem, self.preset, self.sizes, self.seed, self.source)

    def rows(self, **details: object) -> list[Row]:
        """Return one row per objective, all with the same `details`."""
        known = registry().problem(self.problem).objectives
        return [self._row(o, details) for o in known if o.name in self.objectives]

    def _row(self, objective: Objective, details: Data) -> Row:
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
            proof_engine=self._declared_engine,
            **details,
        )


@functools.lru_cache(maxsize=4)
def _instance(
    problem: str, preset: str | None, sizes: tuple[tuple[str, Any], ...], seed: int, source: str | None
) -> Instance:
    if source is not None:
        instance: Instance = load(source, **dict(sizes))
        return instance
    return generate(problem, preset=preset, seed=seed, **dict(sizes))


def tasks_of(suite: Suite, solvers: Sequence[str] | None, confirm: bool = True, reference: bool = True) -> list[Task]:
    """Return every call of the suite, in a fixed order.

    Every instance is drawn, so that an invalid case is an error before any work.

    Args:
        suite: The suite.
        solvers: Solvers that replace those of the cases.
        confirm: Let another engine confirm an optimum if the suite uses one engine only.
        reference: Add the problem's default if none of `solvers` (or those of a case with a reference) is exact.
    """
    if solvers is not None:
        _check_known(suite, solvers)
    keys_so_far: set[Key] = set()
    tasks_with_work: list[tuple[Task, tuple[tuple[str, float], ...]]] = []
    for case in suite.cases:
        case_solvers = _case_solvers(case, solvers, reference)
        for source, seed in itertools.product(case.files or (None,), case.seeds):
            for task in _tasks(suite.name, case, source, seed, case_solvers):
                # Two cases may describe the same instance; it is solved once.
                if not keys_so_far.issuperset(task.keys):
                    keys_so_far.update(task.keys)
                    tasks_with_work.append((task, tuple(sorted(case.work_limit.items()))))
    single_engine = _single_engine_questions([task for task, _ in tasks_with_work]) if confirm else set()
    return [dataclasses.replace(t, confirm=work) if _question(t) in single_engine else t for t, work in tasks_with_work]


def _question(task: Task) -> tuple[str, str] | None:
    """Return the instance and objective of an exact solver's task, else None."""
    return (task.instance_hash, task.objectives[0]) if task.kind == "exact" else None


def _single_engine_questions(tasks: Sequence[Task]) -> set[tuple[str, str]]:
    """Return the pairs of instance and objective with only one engine, not counting brute force."""
    engines: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task in tasks:
        if (question := _question(task)) is None:
            continue
        solver = task.found
        if solver is None or not solver.restricted:
            engines[question] |= {task.engine} - {ENUMERATION}
    return {question for question, solver in engines.items() if len(solver) < 2}


def _check_known(suite: Suite, solvers: Sequence[str]) -> None:
    """Raise UnknownName for a solver of no problem in the suite, so that a typo does not give an empty table."""
    problems = sorted({case.problem for case in suite.cases})
    names = {a.name for problem in problems for a in registry().available(problem)}
    for text in solvers:
        if not is_function(text) and split_settings(text)[0] not in names:
            raise UnknownName(f"unknown solver '{text}' for suite {suite.name}; there are {', '.join(sorted(names))}")


def _case_solvers(case: Case, solvers: Sequence[str] | None, reference: bool) -> list[tuple[str, Solver, Data]]:
    """Return the solvers of a case with all their parameters, each with its label."""
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
    selection = [(text, *resolve_solver(case.problem, text, {})) for text in texts]
    selection = [
        (text if is_function(text) else a.name, a, params) for text, a, params in selection if a.problem == case.problem
    ]
    needs_reference = reference and (solvers is not None or case.reference)
    if selection and needs_reference and not any(a.kind == "exact" for _, a, _ in selection):
        default = problem.suites.on_runs[0] if run else problem.default
        selection.append((default, *registry().solver(case.problem, default)))
    return selection


def _tasks(
    suite: str, case: Case, source: str | None, seed: int, case_solvers: list[tuple[str, Solver, Data]]
) -> Iterator[Task]:
    sizes = tuple(sorted(case.sizes.items()))
    instance = _instance(case.problem, case.preset, sizes, seed, source)
    objective_names = _case_objectives(case, instance)
    # The judge's task; the others differ in their solver.
    judge = Task(
        suite,
        case.problem,
        case.preset,
        sizes,
        seed,
        instance.hash,
        _instance_size(instance),
        JUDGE,
        JUDGE,
        "heuristic",
        (),
        tuple(objective_names),
        tuple(instance.primary(objective) for objective in objective_names),
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
    for name, solver, params in case_solvers:
        exact = solver.kind == "exact"
        groups = [(o,) for o in objective_names if o in solver.objectives] if exact else [tuple(objective_names)]
        for objectives in groups:
            yield dataclasses.replace(
                judge,
                solver=name,
                label=name if is_function(name) else solver_label(solver, params),
                kind=solver.kind,
                params=tuple(sorted(params.items())),
                objectives=objectives,
                ranks=tuple(instance.primary(objective) for objective in objectives),
                time_limit=case.time_limit if exact else None,
                work_limit=case.work_limit.get(solver.engine or solver.solved_by or "") if exact else None,
            )


def _case_objectives(case: Case, instance: Instance) -> list[str]:
    names = [o.name for o in instance.objectives]
    for name in case.objectives or ():
        if name not in names:
            raise UnknownName(f"unknown objective '{name}' of {case.problem}; there are {', '.join(names)}")
    return [name for name in names if case.objectives is None or name in case.objectives]


def solver_label(solver: Solver, params: Data) -> str:
    """Return the name and the parameters that differ from their defaults: equal solvers have equal labels."""
    changed = [f"{k}={v}" for k, v in sorted(params.items()) if v != solver.parameters[k].default]
    return f"{solver.name}:{','.join(changed)}" if changed else solver.name


def _instance_size(instance: Instance) -> int:
    """Return the number of integers in the instance, a measure of size for every problem."""
    values = [getattr(instance, field.name) for field in dataclasses.fields(instance)]
    return sum(int(v.size) if isinstance(v, np.ndarray) else 1 for v in values if not isinstance(v, (str, tuple)))
