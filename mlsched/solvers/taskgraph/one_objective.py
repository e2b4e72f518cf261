"""One objective of a task graph: the interval model, then other methods for the instances that it leaves open.

1. The interval model has the first seconds (a deterministic limit): it proves most instances.
2. The open instances mostly have gangs that must be packed into nodes, which cutting planes solve: for total_jct
   value after value (`completion`), for objectives that depend only on the deadlines on the model of work
   due by then (`deadlines`).
3. If these are impossible, or end without a proof, the interval model has the remaining limits.
"""

from __future__ import annotations

import dataclasses
import threading

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.formulation import Limits, Outcome
from mlsched.formulations.taskgraph._due import worth
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.taskgraph import completion, deadlines
from mlsched.solvers.taskgraph.intervals import solve_intervals
from mlsched.solvers.taskgraph.proofs.values import worth_placing
from mlsched.solvers.taskgraph.state import State

#: Deterministic time of the interval model before other methods (a unit is a second or two), but at most a share of a
#: time limit or of a work limit. Without limits this only costs time, and 15 units prove as much as a plain model:
#: `fractional` 1004 in 27 CPU s, which 3 units left to cutting planes for 70. Deadline objectives are mostly proved in
#: half a unit.
FIRST, FIRST_DUE, TIME_SHARE, WORK_SHARE = 15.0, 0.5, 0.05, 0.25


def search(
    instance: Instance,
    objective: str,
    limits: Limits,
    hint: Timetable | None,
    stopped: threading.Event | None = None,
    first: bool = True,
) -> Outcome:
    """Return the best plan within limits.

    Args:
        instance: The instance.
        objective: Name of the objective.
        limits: Limits of all steps together.
        hint: A start plan, if any.
        stopped: Ends the search when set.
        first: Whether to begin with the interval model; False if it was tried before.
    """
    deadline = Deadline(limits.seconds)
    completes = objective in ("total_jct", "makespan")
    # A plan that is cut to its mandatory iterations completes no job later.
    layout = Layout.of(_mandatory(instance) if completes else instance)
    state = State(layout, objective, limits, deadline, stopped)
    if hint is not None:
        state.offer(_cut(hint, layout) if completes else hint)
    if objective == "total_jct":
        state.raise_lower(completion.simple_bound(layout))
        prove, possible, work = completion.prove, worth_placing(layout), FIRST
    else:
        prove, possible, work = deadlines.prove, worth(layout, (objective,)), FIRST_DUE
    if possible and first:
        solve_intervals(state, state.at_most(_first_interval_work(limits, work)))
    if possible and not state.done:
        try:
            prove(state)
        finally:
            state.helpers.close()
    solve_intervals(state, state.remaining())
    return state.outcome()


def _first_interval_work(limits: Limits, most: float) -> float:
    """Return the deterministic time of the interval model before other methods."""
    shares = ((limits.seconds, TIME_SHARE), (limits.work, WORK_SHARE))
    return min([most, *(share * limit for limit, share in shares if limit is not None)])


def _mandatory(instance: Instance) -> Instance:
    """Return the instance without optional iterations."""
    start_time = np.zeros(len(instance.arrival), dtype=np.int64)
    start_time[instance.task_job[instance.fixed_task]] = 1
    fewest = np.minimum(np.maximum(instance.min_iterations, instance.finished + start_time), instance.max_iterations)
    return dataclasses.replace(instance, max_iterations=np.maximum(fewest, 1))


def _cut(plan: Timetable, layout: Layout) -> Timetable:
    """Return the plan without optional iterations."""
    most = np.array(layout.maximum, dtype=np.int64)
    remaining_part = plan.iteration < most[plan.job]
    return Timetable(*(getattr(plan, f.name)[remaining_part] for f in dataclasses.fields(plan)))
