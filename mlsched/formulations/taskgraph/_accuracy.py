"""total_accuracy and accuracy_met: the model with intervals at first, then with rows of what deadlines leave room for.

Most instances are proved by intervals at once, for which the rows would only be a burden.
"""

from __future__ import annotations

import dataclasses
import time

from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations._cp_solver import WORK, stopped_by
from mlsched.formulations.taskgraph._alone import sharpened
from mlsched.formulations.taskgraph._cp_model import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._on_time import on_time, worth
from mlsched.formulations.taskgraph._solve import solve
from mlsched.instances.taskgraph import Instance, Timetable

#: The share of the limits that the model with intervals has alone; its deterministic time where there are none.
INTERVALS_SHARE, INTERVALS_WORK = 0.15, 2.0


def accuracy(instance: Instance, objective: str, limits: Limits, hint: Timetable | None, started: float) -> Outcome:
    """The plan of most total_accuracy or accuracy_met, within limits of which the clock started at `started`."""
    layout = Layout(instance)
    useful = worth(layout, (objective,))
    first = _left(limits, started, 0.0)
    if useful:
        work = first.work if first.work is None else INTERVALS_SHARE * first.work
        seconds = first.seconds if first.seconds is None else INTERVALS_SHARE * first.seconds
        first = dataclasses.replace(first, seconds=seconds, work=INTERVALS_WORK if work is seconds is None else work)
    found = solve(model(layout, (objective,)), instance, objective, first, hint)
    spent = found.work[WORK]
    if useful and found.status not in ("optimal", "infeasible"):
        narrow, more = sharpened(layout)
        plan = found.plan if isinstance(found.plan, Timetable) else hint
        left = _left(limits, started, spent + more)
        again = solve(on_time(narrow, (objective,)).formulation(), instance, objective, left, plan)
        spent += more + again.work[WORK]
        found = _joined(instance, objective, found, again)
    found = dataclasses.replace(found, work={WORK: spent})
    if found.status in ("optimal", "infeasible"):
        return found
    return dataclasses.replace(found, stopped_by=stopped_by(False, limits, found.work))


def _left(limits: Limits, started: float, work: float) -> Limits:
    """What is left of the limits."""
    seconds = limits.seconds
    return dataclasses.replace(
        limits,
        seconds=None if seconds is None else max(1e-3, seconds - (time.perf_counter() - started)),
        work=None if limits.work is None else max(1e-3, limits.work - work),
    )


def _joined(instance: Instance, objective: str, one: Outcome, other: Outcome) -> Outcome:
    """What two searches of the same question know together; more is better."""
    if other.status == "infeasible":
        return other
    plans = [outcome.plan for outcome in (one, other) if isinstance(outcome.plan, Timetable)]
    bounds = [outcome.bound for outcome in (one, other) if outcome.bound is not None]
    if not plans:
        return Outcome("unknown", None, None)
    plan = max(plans, key=lambda known: instance.evaluate(known)[objective])
    bound = min(bounds, default=None)
    proved = bound is not None and bound <= instance.evaluate(plan)[objective]
    return Outcome("optimal" if proved else "feasible", plan, bound)
