"""Plain CP-SAT models, one file a problem, as a user of OR-Tools would write them from the statement.

Each file has `build(instance, objective)`, as `build` here says. They know none of the library's bounds, reductions or
symmetries, and are what its defaults are held against.

They are no registered answerers, so that nobody gets one by accident: each is asked by the name that rows of benchmarks
store ("mlsched.solvers.plain:quality", where `mlsched/solvers/plain.py` finds it). What they prove rests on CP-SAT, as
most defaults do; they confirm the models.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mlsched.core.contract import Information, Instance, Plan
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import answerer

#: The module of the names by which the functions below are asked.
PLAIN = "mlsched.solvers.plain"


def build(instance: Instance, objective: str) -> tuple[Any, Callable[[Any], Plan]]:
    """The plain model (`cp_model.CpModel`, with its objective), and what reads the plan off a solver that solved it."""
    module = importlib.import_module(f"{__name__}._{instance.problem}")
    made: tuple[Any, Callable[[Any], Plan]] = module.build(instance, objective)
    return made


def _solved(instance: Instance, objective: str, limits: Limits) -> Outcome:
    """CP-SAT on the plain model of the instance's problem."""
    from ortools.sat.python import cp_model

    from mlsched.solvers.backends.limits import WORK, stopped_by, within

    model, plan = build(instance, objective)
    solver = within(limits)
    status = solver.solve(model)
    work = {WORK: solver.response_proto.deterministic_time}
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, work=work)
    proven = status == cp_model.OPTIMAL
    stopped = stopped_by(proven, limits, work)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome("unknown", None, None, stopped, work)
    bound = round(solver.best_objective_bound)
    return Outcome("optimal" if proven else "feasible", plan(solver), bound, stopped, work)


def _plain(
    problem: str, *objectives: str, information: Information = "observed"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of a problem's function below."""
    return answerer(
        f"{PLAIN}:{problem}",
        problem=problem,
        kind="exact",
        backend="direct",
        engine="cp-sat",
        objectives=objectives,
        information=information,
    )


@_plain("placement", "total_speed", information="oracle")
def placement(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """Numbers of workers and PSs a job and server, slowdowns as the statement sums them."""
    return _solved(instance, objective, limits)


@_plain("preemption", "total_score", "victim_count", "max_grace_period")
def preemption(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """A Boolean a victim, a Boolean a TE job and node."""
    return _solved(instance, objective, limits)


@_plain("quality", "total_loss_reduction", "worst_loss")
def quality(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """A Boolean a job and number of cores."""
    return _solved(instance, objective, limits)


@_plain("taskgraph", "total_jct", "deadlines_met", "traffic", "accuracy_met", "total_accuracy", "makespan")
def taskgraph(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """A Boolean a task and node, an optional interval a run and node; clusters that start empty."""
    return _solved(instance, objective, limits)


@_plain("workers", "total_jct")
def workers(instance: Instance, *, objective: str, limits: Limits) -> Outcome:
    """A Boolean a job and combination of workers and PSs."""
    return _solved(instance, objective, limits)
