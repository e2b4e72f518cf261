"""Everything that searches: backends for models, fronts, and the exact algorithms of each problem."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.answerer import SOLVER, Answerer, Kind
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.deferred import imported_at_first_use
from mlsched.core.formulation import Formulation, Limits, OneOf, Outcome
from mlsched.core.registry import registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front, enumerate_front

#: Backend -> module with `minimise`; `WORK`, the unit of its deterministic work limit; and `COMPILING`, about how long
#: it takes to hand a model over, in the time that it took to build it: this is one step, which nothing can cut short.
BACKENDS = {"cp-sat": "mlsched.solvers.backends.cp_sat", "highs": "mlsched.solvers.backends.highs"}
#: Whom a model for HiGHS is handed to by `solver=NAME`; names that are not here are Pyomo's.
SOLVERS = {
    "highs": "mlsched.solvers.backends.highs",
    "scip": "mlsched.solvers.backends.math_opt",
    "ortools-highs": "mlsched.solvers.backends.math_opt",
}
PYOMO = "mlsched.solvers.backends.pyomo_solver"


def available(problem: str | None = None, kind: Kind | None = None) -> list[Answerer]:
    """The registered answerers, of one problem and one kind if given."""
    return registry().available(problem, kind)


def run(
    answerer: Answerer,
    instance: Instance,
    objective: str,
    limits: Limits,
    hint: Plan | None,
    params: dict[str, Any],
    better_than: int | None = None,
) -> Outcome:
    """The answer of a registered exact answerer to `instance`. The time limit includes building the model.

    Where the limit would be over before a solver has the model, the outcome is "unknown", as soon as that is clear.
    better_than: models look only for plans whose value is better than that, and "infeasible" says that there is none;
    algorithms of their own answer as ever.
    """
    if answerer.algorithm is not None:
        try:
            shown = answerer.shown(instance)
            found = answerer.algorithm(shown, objective=objective, limits=limits, hint=hint, **params)
        except OutOfTime:
            return Outcome("unknown", None, None, "time limit")
        # What breaks its contract and returns something else is told so where the outcome is looked at.
        return _of_restricted(found) if answerer.restricted and isinstance(found, Outcome) else found
    from mlsched.solvers.backends.one_of import Budget, solve_one_of

    params = dict(params)
    backend, minimise = _backend(str(answerer.solver), params.pop(SOLVER, "highs"))
    budget = Budget(limits, backend.WORK)
    sense = instance.objective(objective).sense
    if answerer.prunes:
        params["at_worst"] = _at_worst(instance, objective, hint, better_than)
    try:
        question = _built(answerer, instance, objective, limits, params, backend.COMPILING)
    except OutOfTime:
        return Outcome("unknown", None, None, "time limit")
    if isinstance(question, OneOf):
        return solve_one_of(
            question,
            objective,
            sense,
            budget,
            hint,
            minimise,
            lambda plan: instance.evaluate(plan)[objective],
            better_than,
        )
    outcome: Outcome = minimise(question, objective, sense, budget.remaining(), hint, better_than)
    return _of_restricted(outcome) if answerer.restricted else outcome


def _built(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, params: dict[str, Any], compiling: float
) -> Formulation | OneOf:
    """What a builder makes of an instance, or OutOfTime where too little remains to hand it over to the solver."""
    share = limits
    if limits.seconds is not None:
        share = dataclasses.replace(limits, seconds=limits.seconds / (1 + compiling))
    if compiling:
        # The first model of a process loads Pyomo, which says nothing of how long this model takes.
        importlib.import_module("pyomo.environ")
    deadline = Deadline(share.seconds)
    assert answerer.model is not None  # what is neither a rule nor an algorithm is a model
    question = answerer.model(answerer.shown(instance), objectives=(objective,), limits=share, **params)
    if compiling and not isinstance(question, OneOf):  # the parts of a OneOf are built later
        deadline.check()
    return question


def _at_worst(instance: Instance, objective: str, hint: Plan | None, better_than: int | None) -> int | None:
    """The worst value that an answer may have; None where none is known. A hint that is no plan says nothing."""
    if better_than is None:
        return None if hint is None or instance.violations(hint) else instance.evaluate(hint)[objective]
    return better_than - 1 if instance.objective(objective).sense == "min" else better_than + 1


def _backend(name: str, solver: str) -> tuple[Any, Callable[..., Outcome]]:
    """The module of a backend, and what minimises a model with it."""
    if name != "highs":
        module = importlib.import_module(BACKENDS[name])
        return module, module.minimise
    module = importlib.import_module(SOLVERS.get(solver, PYOMO))
    return module, module.minimise if solver == "highs" else functools.partial(module.minimise, solver=solver)


def _of_restricted(outcome: Outcome) -> Outcome:
    """What an outcome about some of the plans alone says of the instance: its plan is valid, its bound is not."""
    work = outcome.work if outcome.bound is None else {**outcome.work, "restricted_bound": float(outcome.bound)}
    return Outcome("unknown" if outcome.plan is None else "feasible", outcome.plan, None, outcome.stopped_by, work)


__getattr__ = imported_at_first_use(__name__, {"Front": "front", "enumerate_front": "front"})

__all__ = ["Front", "Limits", "Outcome", "available", "enumerate_front", "run"]
