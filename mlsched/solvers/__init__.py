"""Everything that searches: backends for models, fronts, and the exact algorithms of each problem."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Instance, Plan
from mlsched.core.formulation import Limits, OneOf, Outcome
from mlsched.core.registry import SOLVER, Answerer, Kind, registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front, enumerate_front

#: Backend -> module with `minimise` and `WORK`, the unit of its deterministic work limit.
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

    better_than: models look only for plans whose value is better than that, and "infeasible" says that there is none;
    algorithms of their own answer as ever.
    """
    if answerer.backend == "direct":
        start = {"hint": hint} if answerer.takes_hint else {}
        outcome: Outcome = answerer.function(
            answerer.shown(instance), objective=objective, limits=limits, **start, **params
        )
        return outcome
    from mlsched.solvers.backends.one_of import Budget, solve_one_of

    params = dict(params)
    backend, minimise = _backend(str(answerer.backend), params.pop(SOLVER, "highs"))
    budget = Budget(limits, backend.WORK)
    sense = instance.objective(objective).sense
    question = answerer.function(answerer.shown(instance), objectives=(objective,), **params)
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
    found: Outcome = minimise(question, objective, sense, budget.remaining(), hint, better_than)
    return _of_restricted(found) if answerer.restricted else found


def _backend(name: str, solver: str) -> tuple[Any, Callable[..., Outcome]]:
    """The module of a backend, and what minimises a model with it."""
    if name != "highs":
        module = importlib.import_module(BACKENDS[name])
        return module, module.minimise
    module = importlib.import_module(SOLVERS.get(solver, PYOMO))
    return module, module.minimise if solver == "highs" else functools.partial(module.minimise, solver=solver)


def _of_restricted(found: Outcome) -> Outcome:
    """What the outcome of a model of only some plans says of the instance: its plan is valid, its bound is not."""
    work = found.work if found.bound is None else {**found.work, "restricted_bound": float(found.bound)}
    return Outcome("unknown" if found.plan is None else "feasible", found.plan, None, found.stopped_by, work)


def __getattr__(name: str) -> Any:
    """`enumerate_front` and `Front`, imported at first use (PEP 562)."""
    if name in ("enumerate_front", "Front"):
        from mlsched.solvers import front

        return getattr(front, name)
    raise AttributeError(f"module 'mlsched.solvers' has no attribute '{name}'")


__all__ = ["Front", "Limits", "Outcome", "available", "enumerate_front", "run"]
