"""Everything that searches: backends for models, fronts, and the exact algorithms of each problem."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Instance, Plan
from mlsched.core.formulation import Limits, OneOf, Outcome
from mlsched.core.registry import Answerer, Kind, registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front, enumerate_front

#: Backend -> module with `minimise` and `WORK`, the unit of its deterministic work limit.
BACKENDS = {"cp-sat": "mlsched.solvers.backends.cp_sat", "highs": "mlsched.solvers.backends.highs"}


def available(problem: str | None = None, kind: Kind | None = None) -> list[Answerer]:
    """The registered answerers, of one problem and one kind if given."""
    return registry().available(problem, kind)


def run(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, params: dict[str, Any]
) -> Outcome:
    """The answer of a registered exact answerer to `instance`. The time limit includes building the model."""
    if answerer.backend == "direct":
        start = {"hint": hint} if answerer.takes_hint else {}
        outcome: Outcome = answerer.function(
            answerer.shown(instance), objective=objective, limits=limits, **start, **params
        )
        return outcome
    from mlsched.solvers.backends.one_of import Budget, solve_one_of

    backend = importlib.import_module(BACKENDS[str(answerer.backend)])
    budget = Budget(limits, backend.WORK)
    sense = instance.objective(objective).sense
    question = answerer.function(answerer.shown(instance), objectives=(objective,), **params)
    if isinstance(question, OneOf):
        return solve_one_of(
            question, objective, sense, budget, hint, backend.minimise, lambda plan: instance.evaluate(plan)[objective]
        )
    found: Outcome = backend.minimise(question, objective, sense, budget.remaining(), hint)
    return _of_restricted(found) if answerer.restricted else found


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
