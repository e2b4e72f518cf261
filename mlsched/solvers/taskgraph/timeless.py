"""Objectives that know no time after the deadlines: the task-level model, then cutting planes on what can be due.

Most instances are proved by the task-level model at once. Where it is not, many gangs want to end before the same
deadlines, and whether they fit is what cutting planes on `_due` tell soon.
"""

from __future__ import annotations

import dataclasses

from mlsched.core.errors import SolverError
from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations.taskgraph._bounds import packed, pools
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._due import DueModel, worth
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.backends.limits import WORK, stopped_by
from mlsched.solvers.backends.process import Apart
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.bounds.alone import sharpened
from mlsched.solvers.taskgraph.proofs.cutting_planes import counted, parameters
from mlsched.solvers.taskgraph.solve import solve

#: Shares of the limits that the task-level model has at first, and that cutting planes have then; their deterministic
#: times where there are none.
FIRST_SHARE, CUTTING_SHARE, FIRST_WORK, CUTTING_WORK = 0.15, 0.6, 2.0, 20.0


def timeless(instance: Instance, objective: str, limits: Limits, hint: Timetable | None, started: float) -> Outcome:
    """The plan that is best in one of `_due.TIMELESS`, within limits of which the clock started at `started`."""
    layout = Layout(instance)
    made = model(layout, (objective,))
    best = Best(layout, limits, started, objective)
    useful = worth(layout, (objective,))
    found = solve(
        made, instance, objective, _part(best.left(), FIRST_SHARE, FIRST_WORK) if useful else best.left(), hint
    )
    if not useful or found.status in ("optimal", "infeasible"):
        return found
    best.spend(found.work[WORK])
    known = [found, _due(best, _part(best.left(), CUTTING_SHARE, CUTTING_WORK))]
    if known[-1].status != "optimal" and not best.over:
        plan = _best(instance, objective, known, hint)
        known.append(solve(model(layout, (objective,)), instance, objective, best.left(), plan))
        best.spend(known[-1].work[WORK])
    return _joined(instance, objective, known, limits, best.work)


def _due(best: Best, limits: Limits) -> Outcome:
    """The best plan by cutting planes on what can be done by the deadlines; its work counts in `best`."""
    instance, objective = best.layout.instance, best.objective
    narrow, work = sharpened(best.layout)
    best.spend(work)
    made = DueModel(narrow, (objective,), pools(narrow) + packed(narrow))
    sign = 1 if instance.objective(objective).sense == "min" else -1
    made.cp.minimize(sign * made.terms[objective])
    ended = counted(Apart(made.cp, parameters(limits), lambda _: None), best)
    if ended.status == "INFEASIBLE" or made.reason is not None:
        return Outcome("infeasible", None, None)
    if ended.status not in ("OPTIMAL", "FEASIBLE") or ended.bound is None:
        return Outcome("unknown", None, None)
    bound = sign * round(ended.bound) + made.constant[objective]
    return Outcome("optimal" if ended.status == "OPTIMAL" else "feasible", made.plan(ended.solution), bound)


def _part(limits: Limits, share: float, work: float) -> Limits:
    """A share of limits, or so much work where there are none."""
    seconds = None if limits.seconds is None else share * limits.seconds
    if limits.work is not None:
        work = share * limits.work
    return dataclasses.replace(limits, seconds=seconds, work=None if limits.work is None and seconds else work)


def _best(instance: Instance, objective: str, known: list[Outcome], hint: Timetable | None) -> Timetable | None:
    """The best plan of some outcomes and of a hint."""
    sign = 1 if instance.objective(objective).sense == "min" else -1
    plans = [plan for plan in (hint, *(o.plan for o in known)) if isinstance(plan, Timetable)]
    return min(plans, key=lambda plan: sign * instance.evaluate(plan)[objective], default=None)


def _joined(
    instance: Instance, objective: str, known: list[Outcome], limits: Limits, work: dict[str, float]
) -> Outcome:
    """What searches of the same question know together."""
    plan = _best(instance, objective, known, None)
    if any(outcome.status == "infeasible" for outcome in known):
        if plan is not None:
            raise SolverError("cp-sat says that there is no plan, and one is known")
        return Outcome("infeasible", None, None, "proof", work)
    if plan is None:
        return Outcome("unknown", None, None, stopped_by(False, limits, work), work)
    least = instance.objective(objective).sense == "min"
    bounds = [outcome.bound for outcome in known if outcome.bound is not None]
    bound = (max(bounds) if least else min(bounds)) if bounds else None
    if bound is not None and bound == instance.evaluate(plan)[objective]:
        return Outcome("optimal", plan, bound, "proof", work)
    return Outcome("feasible", plan, bound, stopped_by(False, limits, work), work)
