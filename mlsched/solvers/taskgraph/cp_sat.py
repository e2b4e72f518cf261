"""The task level by CP-SAT: the reference that all other answers are measured against.

total_jct is hard because its bound is weak; it is answered in steps (`_total_jct`), and so are makespan (`_makespan`)
and the objectives that know no time after the deadlines (`_timeless`).
"""

from __future__ import annotations

import time

from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.core.registry import answerer
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.taskgraph.fronts.front import front_model
from mlsched.solvers.taskgraph.makespan import makespan
from mlsched.solvers.taskgraph.timeless import timeless
from mlsched.solvers.taskgraph.total_jct import total_jct

OBJECTIVES = ("total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")


def build(instance: Instance, *, objectives: tuple[str, ...]) -> Formulation:
    """The model of several objectives, for fronts."""
    return front_model(Layout(instance), objectives)


@answerer("cp-sat", problem="taskgraph", backend="direct", objectives=OBJECTIVES, model=("cp-sat", build))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Timetable | None = None) -> Outcome:
    """Where and when each task runs, and how many iterations: CP-SAT, with a linear relaxation for total_jct."""
    started = time.perf_counter()
    if objective == "total_jct":
        return total_jct(instance, limits, hint, started)
    if objective == "makespan":
        return makespan(instance, limits, hint, started)
    return timeless(instance, objective, limits, hint, started)
