"""Recomputation of one row of a store from its own content, independent of the suite."""

from __future__ import annotations

from mlsched.benchmark.answer import answer
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import ANSWER_SEED, JUDGE, PUBLISHED, Task
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.core.versions import versions


def rerun(row: Row, isolate: bool = True) -> Row:
    """Return the row that its solver computes now: the same instance, parameters, seed and limits."""
    return next(new_row for new_row in answer(task_of(row), isolate) if new_row.objective == row.objective)


def differences(before: Row, after: Row) -> list[str]:
    """Return the differences between two rows, and between their versions; empty if the rows agree.

    CPU and wall time differ from run to run and are not compared.
    """
    sentences = [
        f"{name}: {getattr(before, name)} then, {getattr(after, name)} now"
        for name in ("status", "sort_key", "sort_bound", "sort_keys")
        if getattr(before, name) != getattr(after, name)
    ]
    if sentences:
        current = versions()
        version_changes = [
            f"{k} {v} then, {current.get(k)} now" for k, v in before.versions.items() if current.get(k) != v
        ]
        if "time limit" in (before.stopped_by, after.stopped_by):
            version_changes.append("the wall clock cut it: it may end differently each time")
        sentences += version_changes
    return sentences


def task_of(row: Row) -> Task:
    """Return the call that computed the row; raise InvalidInput for rows without a solver."""
    if row.solver in (JUDGE, PUBLISHED):
        raise InvalidInput(f"{row.place}: '{row.solver}' is not a solver of this installation")
    problem = registry().problem(row.problem)
    if row.objective not in [objective.name for objective in problem.objectives]:
        raise InvalidInput(f"{row.place}: objective '{row.objective}' of {row.problem} does not exist any more")
    name = row.solver.partition(":")[0]
    registered = registry().solvers.get((row.problem, name))
    return Task(
        row.suite,
        row.problem,
        row.preset,
        tuple(sorted(row.sizes.items())),
        row.answer_seed - ANSWER_SEED,
        row.instance_hash,
        row.size,
        row.solver if registered is None else name,
        row.solver,
        row.kind,
        tuple(sorted(row.params.items())),
        (row.objective,),
        (row.primary,),
        row.time_limit,
        row.work_limit,
        source=row.source,
    )
