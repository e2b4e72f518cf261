"""One row of a store, made again: from what it says itself, whatever has become of the suite."""

from __future__ import annotations

from mlsched.benchmark.answer import answer
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import ANSWER_SEED, JUDGE, PUBLISHED, Task
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.core.versions import versions


def rerun(row: Row, isolate: bool = True) -> Row:
    """The row that its solver makes of the question now: the same instance, parameters, seed and limits."""
    return next(row_anew for row_anew in answer(task_of(row), isolate) if row_anew.objective == row.objective)


def differences(before: Row, after: Row) -> list[str]:
    """What came out otherwise, and of which versions the two rows are; empty where the row is as it was.

    CPU and wall time differ from run to run and are not compared.
    """
    differing = [
        f"{name}: {getattr(before, name)} then, {getattr(after, name)} now"
        for name in ("status", "sort_key", "sort_bound", "sort_keys")
        if getattr(before, name) != getattr(after, name)
    ]
    if differing:
        now = versions()
        changed = [f"{k} {v} then, {now.get(k)} now" for k, v in before.versions.items() if now.get(k) != v]
        if "time limit" in (before.stopped_by, after.stopped_by):
            changed.append("the wall clock cut it: it may end differently each time")
        differing += changed
    return differing


def task_of(row: Row) -> Task:
    """The call that made the row; InvalidInput for rows that no solver made."""
    if row.solver in (JUDGE, PUBLISHED):
        raise InvalidInput(f"{row.place}: '{row.solver}' is no solver; there is nothing to ask again")
    problem = registry().problem(row.problem)
    if row.objective not in [objective.name for objective in problem.objectives]:
        raise InvalidInput(f"{row.place}: {row.problem} has no objective '{row.objective}' any more")
    name = row.solver.partition(":")[0]
    known = registry().solvers.get((row.problem, name))
    return Task(
        row.suite,
        row.problem,
        row.preset,
        tuple(sorted(row.sizes.items())),
        row.answer_seed - ANSWER_SEED,
        row.instance_hash,
        row.size,
        row.solver if known is None else name,
        row.solver,
        row.kind,
        tuple(sorted(row.params.items())),
        (row.objective,),
        (row.primary,),
        row.time_limit,
        row.work_limit,
        source=row.source,
    )
