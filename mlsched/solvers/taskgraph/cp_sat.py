"""The task level by CP-SAT: the reference that all other answers are measured against."""

from __future__ import annotations

from mlsched.core.formulation import Formulation, Limits, Outcome
from mlsched.core.registry import answerer
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.taskgraph.fronts.front import front_model
from mlsched.solvers.taskgraph.one_objective import search

OBJECTIVES = ("total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")


def build(instance: Instance, *, objectives: tuple[str, ...]) -> Formulation:
    """The model of several objectives, for fronts."""
    return front_model(Layout.of(instance), objectives)


@answerer("cp-sat", problem="taskgraph", backend="direct", objectives=OBJECTIVES, model=("cp-sat", build))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Timetable | None = None) -> Outcome:
    """Where and when each task runs, and how many iterations: CP-SAT, with a linear relaxation for total_jct."""
    return search(instance, objective, limits, hint)
