"""Pictures of plans in a report: the proven optimum of one instance, the best rule's plan of it, and its front.

Stores keep values, not plans: the plans are made again from what the rows say, as `mlsched rerun` does, and are drawn
only where their values are those of the rows.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mlsched.api import pareto, resolve_solver, solve
from mlsched.api.guard import is_foreign
from mlsched.benchmark import plots
from mlsched.benchmark.answer import FOREIGN_MEMORY, FOREIGN_SECONDS
from mlsched.benchmark.inline_svg import inline
from mlsched.benchmark.plan_pictures import plot
from mlsched.benchmark.rerun import task_of
from mlsched.benchmark.row import Row
from mlsched.core.contract import Instance, Objective, Plan, format_value
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front

#: CPU seconds beyond which an optimum is not proved again for a picture; those of a proof, and integers in the
#: instance, beyond which no front is enumerated.
MOST_SECONDS, MOST_FRONT_SECONDS, MOST_FRONT_SIZE = 5.0, 0.1, 1000
#: Fronts are tried of this many presets and times, each of so many sub-problems; a front of this many plans ends it.
FRONT_PRESETS, FRONT_TRIES, FRONT_SOLVES, ENOUGH_PLANS = 2, 8, 30, 4


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG element and what it shows."""

    title: str
    svg: str


def plan_pictures(rows: Sequence[Row], best: str | None, key: str) -> Iterator[Picture]:
    """The pictures of one problem's rows (with gaps), by its first objective. key: unique within the page.

    best: the rule whose plan is drawn beside the optimum, on the instance where it is furthest from it. There is
    none without a quick proof, and none where the problem has no picture of a plan.

    Raises InvalidInput (or another MlschedError) where a plan cannot be made again: without matplotlib, without the
    instance's file, or where something else comes out.
    """
    chosen = _chosen(rows, best)
    draw = registry().problem(rows[0].problem).draw if rows[0].problem in registry().problems else None
    if not chosen or draw is None:
        return
    for number, row in enumerate(chosen):
        plots.figure()  # without matplotlib nothing is solved
        instance, plan = _plan(row)
        made = plot(plan, instance).figure
        told = "the proven optimum" if row.status == "optimal" else f"gap {row.gap_to_optimum}"
        title = f"{row.place}: {format_value(row.sort_key, row.primary)} (unit: {row.unit}) by {row.solver}, {told}"
        yield Picture(title, inline(made, title, f"{key}-{number}"))
    if (front := _longest_front(rows, f"{key}-front")) is not None:
        yield front


def _proofs(rows: Sequence[Row], objective: str, most: float) -> dict[str, dict[str, Row]]:
    """Case -> instance -> a row that proves its optimum, by the objective, in at most so many CPU seconds."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        spent = row.cpu_seconds if row.cpu_seconds is not None else row.seconds
        proved = row.status == "optimal" and row.gap_to_optimum is not None
        if proved and row.objective == objective and spent is not None and spent <= most:
            found.setdefault(row.case, {}).setdefault(row.instance_hash, row)
    return found


def _chosen(rows: Sequence[Row], best: str | None) -> list[Row]:
    """A row that proves an optimum quickly, and the best rule's on the same instance."""
    proofs = next(iter(_proofs(rows, rows[0].objective, MOST_SECONDS).values()), {})
    rules = [row for row in rows if row.solver == best and row.instance_hash in proofs and row.sort_key is not None]
    rules = sorted((row for row in rules if row.objective == rows[0].objective), key=lambda row: -_distance(row))
    return [proofs[rules[0].instance_hash], rules[0]] if rules else list(proofs.values())[:1]


def _distance(row: Row) -> float:
    gap = row.gap_to_optimum
    return 0.0 if gap is None else float("inf") if gap.primary is not None else gap.share or 0.0


def _plan(row: Row) -> tuple[Instance, Plan]:
    """The instance and the plan that the row's solver makes of it."""
    task = task_of(row)
    instance = task.instance()
    if instance.hash != row.instance_hash:
        raise InvalidInput(f"{row.place}: the instance is another one by now")
    apart = is_foreign(resolve_solver(task.problem, task.solver, {})[0])
    result = solve(
        instance,
        task.solver,
        objective=row.objective,
        time_limit=task.time_limit or (FOREIGN_SECONDS if apart else None),
        work_limit=task.work_limit,
        seed=row.answer_seed,
        threads=1,
        isolate=apart,
        memory_limit=FOREIGN_MEMORY if apart else None,
        **dict(task.params),
    )
    if result.plan is None or result.sort_key != row.sort_key:
        raise InvalidInput(f"{row.place}: {row.solver} gives {result.sort_key} now, {row.sort_key} then")
    return instance, result.plan


def _longest_front(rows: Sequence[Row], key: str) -> Picture | None:
    """The front of most plans by the first and another objective, of instances of the first presets in turn.

    None where there is one objective or no model of two, and where every front that was tried is one plan.
    """
    problem = registry().problems[rows[0].problem]
    able = any(a.fronts_by is not None for a in registry().available(problem.name, "exact"))
    small = [row for row in rows if row.size <= MOST_FRONT_SIZE and row.preset not in problem.suites.runs]
    proofs = _proofs(small, rows[0].objective, MOST_FRONT_SECONDS)
    cases = [list(own.values()) for own in proofs.values()][:FRONT_PRESETS]
    turns = [row for turn in itertools.zip_longest(*cases) for row in turn if row is not None] if able else []
    objectives = problem.instance_type.objectives
    first = next((o for o in objectives if o.name == rows[0].objective), objectives[0])  # runs have their own
    pairs = [(row, other) for row in turns for other in objectives if other != first]
    found: tuple[Row, Objective, Front] | None = None
    for row, other in pairs[:FRONT_TRIES]:
        front = pareto(task_of(row).instance(), [first.name, other.name], solve_limit=FRONT_SOLVES)
        if len(front) > (1 if found is None else len(found[2])):
            found = row, other, front
        if len(front) >= ENOUGH_PLANS:
            break
    return None if found is None else _front_picture(*found, first, key)


def _front_picture(row: Row, other: Objective, front: Front, first: Objective, key: str) -> Picture:
    made = plots.front_of(front)
    kind = "all" if front.complete else "so many as the limit allowed"
    where = row.place.rpartition(", ")[0]
    title = f"{where}: {len(front)} non-dominated plans ({kind}) by {first.name} and {other.name}"
    return Picture(title, inline(made, title, key))
