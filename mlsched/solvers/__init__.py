"""Exact solution methods: backends for models, Pareto fronts, and the exact algorithms of each problem."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.aliases import Data
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.deferred import imported_at_first_use
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.solver import ENGINE, Kind, Solver

if TYPE_CHECKING:
    from mlsched.solvers.front import Front, enumerate_front

#: Backend -> module with `minimise`; `WORK`, the unit of its deterministic work limit; and `COMPILING`, the time of
#: handing a model over as a multiple of the time of building it. This single step cannot be interrupted.
BACKENDS = {"cp-sat": "mlsched.solvers.backends.cp_sat", "highs": "mlsched.solvers.backends.highs"}
#: Engines for models that HiGHS also accepts, selected by `engine=NAME`; other names are Pyomo solvers.
SOLVERS = {
    "highs": "mlsched.solvers.backends.highs",
    "scip": "mlsched.solvers.backends.math_opt",
    "ortools-highs": "mlsched.solvers.backends.math_opt",
}
PYOMO = "mlsched.solvers.backends.pyomo_solver"


def available(problem: str | None = None, kind: Kind | None = None) -> list[Solver]:
    """Return the registered solvers, optionally only those of one problem and one kind."""
    return registry().available(problem, kind)


def run(request: Request) -> Outcome:
    """Return the outcome of a registered exact solver. The time limit includes building the model.

    If the limit would pass before a backend has the model, the outcome is "unknown", as soon as that is clear.
    `request.better_than`: models look only for plans with a better value, and "infeasible" means that such a plan does
    not exist; algorithms of their own ignore it.
    """
    solver, instance, limits = request.solver, request.instance, request.limits
    if solver.algorithm is not None:
        try:
            result = solver.algorithm(
                instance.shown(solver.information),
                objective=request.objective,
                limits=limits,
                hint=request.start,
                **request.params,
            )
        except OutOfTime:
            return Outcome("unknown", None, None, "time limit")
        # The caller reports a result that is not an Outcome.
        return _of_restricted(result) if solver.restricted and isinstance(result, Outcome) else result
    from mlsched.solvers.backends.one_of import Budget, solve_one_of

    params = dict(request.params)
    backend, minimise = _backend_functions(str(solver.backend), params.pop(ENGINE, "highs"))
    budget = Budget(limits, backend.WORK)
    sense = instance.objective(request.objective).sense
    if solver.prunes:
        params["at_worst"] = _worst_allowed(request)
    try:
        question = _build_model(request, params, backend.COMPILING)
    except OutOfTime:
        return Outcome("unknown", None, None, "time limit")
    if isinstance(question, OneOf):
        return solve_one_of(
            question,
            request.objective,
            sense,
            budget,
            request.start,
            minimise,
            lambda plan: instance.evaluate(plan)[request.objective],
            request.better_than,
        )
    outcome: Outcome = minimise(
        question, request.objective, sense, budget.remaining(), request.start, request.better_than
    )
    return _of_restricted(outcome) if solver.restricted else outcome


def _build_model(request: Request, params: Data, compiling: float) -> Formulation | OneOf:
    """Return the model of an instance, or raise OutOfTime if too little time remains to pass it to the backend."""
    share = request.limits
    if share.seconds is not None:
        share = dataclasses.replace(share, seconds=share.seconds / (1 + compiling))
    if compiling:
        # The first model of a process loads Pyomo, whose time does not predict that of this model.
        importlib.import_module("pyomo.environ")
    deadline = Deadline(share.seconds)
    assert request.solver.model is not None  # a solver without heuristic and algorithm has a model
    text = request.instance.shown(request.solver.information)
    question = request.solver.model(text, objectives=(request.objective,), limits=share, **params)
    if compiling and not isinstance(question, OneOf):  # the parts of a OneOf are built later
        deadline.check()
    return question


def _worst_allowed(request: Request) -> int | None:
    """Return the worst value that an answer may have; None if a feasible plan is not known."""
    instance, start, better_than = request.instance, request.start, request.better_than
    if better_than is None:
        return None if start is None or instance.violations(start) else instance.evaluate(start)[request.objective]
    return better_than - 1 if instance.objective(request.objective).sense == "min" else better_than + 1


def _backend_functions(name: str, solver: str) -> tuple[Any, Callable[..., Outcome]]:
    """Return the module of a backend and its function that minimises a model."""
    if name != "highs":
        module = importlib.import_module(BACKENDS[name])
        return module, module.minimise
    module = importlib.import_module(SOLVERS.get(solver, PYOMO))
    return module, module.minimise if solver == "highs" else functools.partial(module.minimise, solver=solver)


def _of_restricted(outcome: Outcome) -> Outcome:
    """Return an outcome about a subset of the plans as one about the instance: the plan is valid, the bound is not."""
    work = outcome.work if outcome.bound is None else {**outcome.work, "restricted_bound": float(outcome.bound)}
    return Outcome("unknown" if outcome.plan is None else "feasible", outcome.plan, None, outcome.stopped_by, work)


__getattr__ = imported_at_first_use(__name__, {"Front": "front", "enumerate_front": "front"})

__all__ = ["Front", "Limits", "Outcome", "available", "enumerate_front", "run"]
