"""makespan: the full model at first, then plans of given values by cutting planes where gangs are hard to pack.

Most instances are proved by the full model at once. Where it is not, the bound is a little below the incumbent, and
whether there is a plan in between is a question that cutting planes answer one way or the other.
"""

from __future__ import annotations

import dataclasses

from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations.taskgraph._bounds import packed, pools
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.backends.limits import WORK, stopped_by
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.plans.attempts import Attempts, possible
from mlsched.solvers.taskgraph.plans.schedule import search
from mlsched.solvers.taskgraph.proofs.rival import WIDE, worth_separating
from mlsched.solvers.taskgraph.solve import solve

#: The share of the limits that the full model has before cutting planes; its deterministic time where there are none.
FULL_SHARE, FULL_WORK = 0.3, 10.0


def makespan(instance: Instance, limits: Limits, hint: Timetable | None, started: float) -> Outcome:
    """The plan of least makespan, within limits of which the clock started at `started`."""
    layout = Layout(instance)
    best = Best(layout, limits, started, "makespan")
    if hint is not None:
        best.offer(hint)
    packable = _packable(best)
    full = best.left(FULL_SHARE if packable else 1.0)
    if packable and limits.seconds is None and limits.work is None:
        full = dataclasses.replace(full, work=FULL_WORK)
    found = _full(best, full)
    if found.status in ("optimal", "infeasible") or not packable:
        return dataclasses.replace(found, work=best.work)
    attempts = Attempts(best, pools(layout) + packed(layout))
    while not (best.closed or best.over or "aborted_proofs" in best.work):
        attempts.anywhere()
    if not best.closed and not best.over:
        # The search for cutting planes aborts, and would again: the full model has what is left.
        _full(best, best.left())
    if best.closed:
        return Outcome("optimal", best.plan, best.upper, "proof", best.work)
    return Outcome("feasible", best.plan, best.lower, stopped_by(False, limits, best.work), best.work)


def _full(best: Best, limits: Limits) -> Outcome:
    """The full model within limits, from the best plan; what it finds and proves counts."""
    made = model(best.layout, ("makespan",), best.upper)
    found = solve(made, best.layout.instance, "makespan", limits, best.plan)
    best.spend(found.work[WORK])
    if isinstance(found.plan, Timetable):
        best.offer(found.plan)
    if found.bound is not None:
        best.raise_to(round(found.bound))
    return found


def _packable(best: Best) -> bool:
    """Whether cutting planes can help: jobs of several tasks on several nodes, a plan that makes the model small."""
    layout = best.layout
    if layout.reason is not None or not layout.jobs or not worth_separating(layout):
        return False
    if best.plan is None:
        plan, _ = search(layout, 1, 0, None)
        if plan is None or layout.instance.violations(plan):
            return False
        best.offer(plan)
    return possible(best, WIDE)
