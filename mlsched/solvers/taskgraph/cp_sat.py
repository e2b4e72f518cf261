"""Exact task-graph scheduling by CP-SAT: the reference for all other answers."""

from __future__ import annotations

from mlsched.core.formulation import NO_LIMITS, Formulation, Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import is_job_shop
from mlsched.instances.taskgraph import Instance, Timetable
from mlsched.solvers.taskgraph.fronts.front import front_model
from mlsched.solvers.taskgraph.one_objective import search

OBJECTIVES = ("total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")


def build(instance: Instance, *, objectives: tuple[str, ...], limits: Limits = NO_LIMITS) -> Formulation:
    """Build the model of several objectives, for fronts."""
    return front_model(Layout.of(instance), objectives)


def cold(instance: Instance, objective: str) -> bool:
    """Return whether a start does not help: makespans of job shops (research/notes/taskgraph-exact.md)."""
    return objective == "makespan" and is_job_shop(Layout.of(instance))


@exact_algorithm(
    "cp-sat", problem="taskgraph", objectives=OBJECTIVES, takes_hint=True, cold=cold, model=build, backend="cp-sat"
)
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Timetable | None = None) -> Outcome:
    """Where and when each task runs, and how many iterations: CP-SAT, with a linear relaxation for total_jct."""
    return search(instance, objective, limits, hint)
