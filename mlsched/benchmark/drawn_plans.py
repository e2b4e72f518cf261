"""Pictures of plans in a report: the proven optimum of one instance, the best rule's plan of it, and its front.

Stores have values, not plans. The plans are recomputed from the rows, as `mlsched rerun` does, and are drawn only if
their values equal those of the rows.
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
from mlsched.benchmark.inline_svg import inline_svg
from mlsched.benchmark.plan_pictures import draw_plan
from mlsched.benchmark.rerun import task_of
from mlsched.benchmark.row import Row
from mlsched.core.contract import Instance, Objective, Plan, format_value
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front

#: CPU seconds up to which an optimum is proved again for a picture; CPU seconds of a proof, and integers in the
#: instance, up to which a front is enumerated.
MOST_SECONDS, MOST_FRONT_SECONDS, MOST_FRONT_SIZE = 5.0, 0.1, 1000
#: Limits of fronts: presets, attempts, sub-problems per attempt, and number of plans that ends the search.
FRONT_PRESETS, FRONT_TRIES, FRONT_SOLVES, ENOUGH_PLANS = 2, 8, 30, 4


@dataclasses.dataclass(frozen=True)
class Picture:
    """SVG element and its title."""

    title: str
    svg: str


def plan_pictures(rows: Sequence[Row], best: str | None, key: str) -> Iterator[Picture]:
    """Yield the pictures of one problem's rows (with gaps), by its first objective.

    The plan of the rule `best` is drawn beside the optimum, on the instance with its largest gap. Without a quick
    proof, or without a drawing function of the problem, the result is empty.

    Args:
        rows: Rows of one problem.
        best: Name of the best rule, or None.
        key: Identifier that is unique within the page.

    Raises:
        InvalidInput: A plan cannot be recomputed: matplotlib or the instance's file is missing, or the result differs.
            Other MlschedErrors are possible.
    """
    selection = _selected_rows(rows, best)
    draw = registry().problem(rows[0].problem).draw if rows[0].problem in registry().problems else None
    if not selection or draw is None:
        return
    for number, row in enumerate(selection):
        plots.figure()  # without matplotlib, solving is pointless
        instance, plan = _recompute_plan(row)
        axes_figure = draw_plan(plan, instance).figure
        remark = "the proven optimum" if row.status == "optimal" else f"gap {row.gap_to_optimum}"
        title = f"{row.place}: {format_value(row.sort_key, row.primary)} (unit: {row.unit}) by {row.solver}, {remark}"
        yield Picture(title, inline_svg(axes_figure, title, f"{key}-{number}"))
    if (front := _longest_front(rows, f"{key}-front")) is not None:
        yield front


def _proofs(rows: Sequence[Row], objective: str, most: float) -> dict[str, dict[str, Row]]:
    """Return rows that prove an optimum in at most `most` CPU seconds, by case and instance."""
    proofs: dict[str, dict[str, Row]] = {}
    for row in rows:
        spent = row.cpu_seconds if row.cpu_seconds is not None else row.seconds
        is_proof = row.status == "optimal" and row.gap_to_optimum is not None
        if is_proof and row.objective == objective and spent is not None and spent <= most:
            proofs.setdefault(row.case, {}).setdefault(row.instance_hash, row)
    return proofs


def _selected_rows(rows: Sequence[Row], best: str | None) -> list[Row]:
    """Return a row that proves an optimum quickly, and the best rule's row on the same instance."""
    proofs = next(iter(_proofs(rows, rows[0].objective, MOST_SECONDS).values()), {})
    rules = [row for row in rows if row.solver == best and row.instance_hash in proofs and row.sort_key is not None]
    rules = sorted((row for row in rules if row.objective == rows[0].objective), key=lambda row: -_gap_order(row))
    return [proofs[rules[0].instance_hash], rules[0]] if rules else list(proofs.values())[:1]


def _gap_order(row: Row) -> float:
    gap = row.gap_to_optimum
    return 0.0 if gap is None else float("inf") if gap.primary is not None else gap.share or 0.0


def _recompute_plan(row: Row) -> tuple[Instance, Plan]:
    """Return the instance, and the plan that the row's solver computes for it."""
    task = task_of(row)
    instance = task.instance()
    if instance.hash != row.instance_hash:
        raise InvalidInput(f"{row.place}: the instance is another one by now")
    isolated = is_foreign(resolve_solver(task.problem, task.solver, {})[0])
    result = solve(
        instance,
        task.solver,
        objective=row.objective,
        time_limit=task.time_limit or (FOREIGN_SECONDS if isolated else None),
        work_limit=task.work_limit,
        seed=row.answer_seed,
        threads=1,
        isolate=isolated,
        memory_limit=FOREIGN_MEMORY if isolated else None,
        **dict(task.params),
    )
    if result.plan is None or result.sort_key != row.sort_key:
        raise InvalidInput(f"{row.place}: {row.solver} gives {result.sort_key} now, {row.sort_key} then")
    return instance, result.plan


def _longest_front(rows: Sequence[Row], key: str) -> Picture | None:
    """Return the front with most plans by the first and another objective, of instances of the first presets in turn.

    Return None for a single objective, without a model of two, or if every attempted front has one plan.
    """
    problem = registry().problems[rows[0].problem]
    has_model = any(a.fronts_by is not None for a in registry().available(problem.name, "exact"))
    small = [row for row in rows if row.size <= MOST_FRONT_SIZE and row.preset not in problem.suites.runs]
    proofs = _proofs(small, rows[0].objective, MOST_FRONT_SECONDS)
    cases = [list(own.values()) for own in proofs.values()][:FRONT_PRESETS]
    turns = [row for turn in itertools.zip_longest(*cases) for row in turn if row is not None] if has_model else []
    objectives = problem.instance_type.objectives
    first = next((o for o in objectives if o.name == rows[0].objective), objectives[0])  # runs have their own
    pairs = [(row, other) for row in turns for other in objectives if other != first]
    longest: tuple[Row, Objective, Front] | None = None
    for row, other in pairs[:FRONT_TRIES]:
        front = pareto(task_of(row).instance(), [first.name, other.name], solve_limit=FRONT_SOLVES)
        if len(front) > (1 if longest is None else len(longest[2])):
            longest = row, other, front
        if len(front) >= ENOUGH_PLANS:
            break
    return None if longest is None else _front_picture(*longest, first, key)


def _front_picture(row: Row, other: Objective, front: Front, first: Objective, key: str) -> Picture:
    figure = plots.draw_front(front)
    kind = "all" if front.complete else "so many as the limit allowed"
    where = row.place.rpartition(", ")[0]
    title = f"{where}: {len(front)} non-dominated plans ({kind}) by {first.name} and {other.name}"
    return Picture(title, inline_svg(figure, title, key))
