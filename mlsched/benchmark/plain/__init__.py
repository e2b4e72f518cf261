"""Plain CP-SAT models, one file a problem, as a user of OR-Tools would write them from the statement.

Each file has `build(instance, objective)`, as `build` here says. They know none of the library's bounds, reductions or
symmetries, and are what its defaults are held against.

They are no registered answerers, so that nobody gets one by accident: each is asked by the name that rows of benchmarks
store ("mlsched.benchmark.plain:quality", where `mlsched/solvers/plain.py` finds it). What they prove rests on CP-SAT, as
most defaults do; they confirm the models.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from mlsched.benchmark.plain import _admission, _placement, _preemption, _quality, _rounds, _taskgraph, _workers
from mlsched.benchmark.row import PLAIN
from mlsched.core.contract import Information, Instance, Plan, entry
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import A, exact_algorithm

#: Problem -> its file, whose OBJECTIVES are those that the model can be posed for.
MODELS: dict[str, ModuleType] = {
    "admission": _admission,
    "placement": _placement,
    "preemption": _preemption,
    "quality": _quality,
    "rounds": _rounds,
    "taskgraph": _taskgraph,
    "workers": _workers,
}


def build(instance: Instance, objective: str) -> tuple[Any, Callable[[Any], Plan]]:
    """The plain model (`cp_model.CpModel`, with its objective), and what reads the plan off a solver that solved it."""
    module = MODELS[instance.problem]
    entry(module.OBJECTIVES, objective, f"OBJECTIVES of benchmark/plain/_{instance.problem}.py")
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


def _plain(problem: str, information: Information = "observed") -> Callable[[A], A]:
    """The decorator of a problem's function below."""
    return exact_algorithm(
        f"{PLAIN}:{problem}",
        problem=problem,
        kind="exact",
        engine="cp-sat",
        objectives=tuple(MODELS[problem].OBJECTIVES),
        information=information,
    )


@_plain("admission")
def admission(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """A Boolean a job, unit, and pod and node; a number of pods a shape and node."""
    return _solved(instance, objective, limits)


@_plain("placement", information="oracle")
def placement(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Numbers of workers and PSs a job and server, slowdowns as the statement sums them."""
    return _solved(instance, objective, limits)


@_plain("preemption")
def preemption(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """A Boolean a victim, a Boolean a TE job and node."""
    return _solved(instance, objective, limits)


@_plain("quality")
def quality(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """A Boolean a job and number of cores."""
    return _solved(instance, objective, limits)


@_plain("rounds")
def rounds(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """A Boolean a job and configuration."""
    return _solved(instance, objective, limits)


@_plain("taskgraph")
def taskgraph(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """A Boolean a task and node, an optional interval a run and node; clusters that start empty."""
    return _solved(instance, objective, limits)


@_plain("workers")
def workers(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """A Boolean a job and combination of workers and PSs."""
    return _solved(instance, objective, limits)
