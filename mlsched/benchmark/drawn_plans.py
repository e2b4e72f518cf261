"""Pictures of plans in a report: the proven optimum of one instance, the best rule's plan of it, and its front.

Stores keep values, not plans: the plans are made again from what the rows say, as `mlsched rerun` does, and are drawn
only where their values are those of the rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.api import pareto, resolve_answerer, solve
from mlsched.api.guard import is_foreign
from mlsched.benchmark import plots
from mlsched.benchmark.answer import FOREIGN_MEMORY, FOREIGN_SECONDS
from mlsched.benchmark.inline_svg import inline
from mlsched.benchmark.rerun import task_of
from mlsched.benchmark.row import Row
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry

#: CPU seconds beyond which an optimum is not proved again for a picture; sub-problems that a front may take.
MOST_SECONDS, FRONT_SOLVES = 5.0, 60


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG element and what it shows."""

    title: str
    svg: str


def plan_pictures(rows: Sequence[Row], best: str | None, key: str) -> list[Picture]:
    """The pictures of one problem's rows (with gaps), by its first objective. key: unique within the page.

    best: the rule whose plan is drawn beside the optimum, on the instance where it is furthest from it. Empty where
    there is no quick proof or where the problem has no picture of a plan.

    Raises InvalidInput (or another MlschedError) where a plan cannot be made again: without matplotlib, without the
    instance's file, or where something else comes out.
    """
    chosen = _chosen(rows, best)
    draw = registry().problem(rows[0].problem).draw if rows[0].problem in registry().problems else None
    if not chosen or draw is None:
        return []
    found = []
    for number, row in enumerate(chosen):
        plots.figure()  # without matplotlib nothing is solved
        instance, plan = _plan(row)
        made, axes = plots.figure(width=8, height=4)
        draw(instance, plan, axes[0])
        told = "the proven optimum" if row.status == "optimal" else f"gap {row.gap_to_optimum}"
        title = f"{row.place}: {row.value} (unit: {row.unit}) by {row.answerer}, {told}"
        found.append(Picture(title, inline(made, title, f"{key}-{number}")))
    front = _front(instance, chosen[0], f"{key}-front")
    return found if front is None else [*found, front]


def _chosen(rows: Sequence[Row], best: str | None) -> list[Row]:
    """A row that proves an optimum quickly, and the best rule's on the same instance."""
    own = [row for row in rows if row.objective == rows[0].objective and row.value is not None]
    proofs: dict[str, Row] = {}
    for row in own:
        spent = row.cpu_seconds if row.cpu_seconds is not None else row.seconds
        if row.status != "optimal" or row.gap_to_optimum is None or spent is None or spent > MOST_SECONDS:
            continue
        if row.case == next(iter(proofs.values()), row).case:
            proofs.setdefault(row.instance_hash, row)
    if not proofs:
        return []
    rules = [row for row in own if row.answerer == best and row.instance_hash in proofs]
    rules.sort(key=lambda row: -_distance(row))
    return [proofs[rules[0].instance_hash], rules[0]] if rules else [next(iter(proofs.values()))]


def _distance(row: Row) -> float:
    gap = row.gap_to_optimum
    return 0.0 if gap is None else float("inf") if gap.rank is not None else gap.share or 0.0


def _plan(row: Row) -> tuple[Instance, Plan]:
    """The instance and the plan that the row's answerer makes of it."""
    task = task_of(row)
    instance = task.instance()
    if instance.hash != row.instance_hash:
        raise InvalidInput(f"{row.place}: the instance is another one by now")
    apart = is_foreign(resolve_answerer(task.problem, task.answerer, {})[0])
    result = solve(
        instance,
        task.answerer,
        objective=row.objective,
        time_limit=task.time_limit or (FOREIGN_SECONDS if apart else None),
        work_limit=task.work_limit,
        seed=row.answer_seed,
        threads=1,
        isolate=apart,
        memory_limit=FOREIGN_MEMORY if apart else None,
        **dict(task.params),
    )
    if result.plan is None or result.value != row.value:
        raise InvalidInput(f"{row.place}: {row.answerer} gives {result.value} now, {row.value} then")
    return instance, result.plan


def _front(instance: Instance, row: Row, key: str) -> Picture | None:
    """The front of the instance's first two objectives; None where there is one objective or no model of two."""
    able = any(a.modelled is not None for a in registry().available(row.problem, "exact"))
    names = [objective.name for objective in instance.objectives][:2]
    if len(names) < 2 or not able:
        return None
    front = pareto(instance, names, solve_limit=FRONT_SOLVES)
    labels = [f"{o.name} ({o.sense}), {o.unit}" for o in instance.objectives[:2]]
    made = plots.front(front.values, labels, front.senses, [(box.lower, box.upper) for box in front.open])
    kind = "all" if front.complete else "so many as the limit allowed"
    where = row.place.rpartition(", ")[0]
    title = f"{where}: {len(front)} non-dominated plans ({kind}) by {names[0]} and {names[1]}"
    return Picture(title, inline(made, title, key))
