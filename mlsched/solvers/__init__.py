"""How models are solved: backends, limits, and the list of what is available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Instance, Plan
from mlsched.core.formulation import Limits, OneOf, Outcome
from mlsched.core.registry import Answerer, Kind, registry

if TYPE_CHECKING:
    from mlsched.solvers.front import Front, enumerate_front


def available(problem: str | None = None, kind: Kind | None = None) -> list[Answerer]:
    """The registered answerers, of one problem and one kind if given."""
    return registry().available(problem, kind)


def run(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, params: dict[str, object]
) -> Outcome:
    """Answer `instance` with a registered exact answerer."""
    if answerer.backend == "direct":
        outcome: Outcome = answerer.function(instance, objective=objective, limits=limits, **params)
        return outcome
    from mlsched.solvers._minimise import Backend, solve_one_of

    if answerer.backend == "cp-sat":
        from mlsched.solvers import cp_sat

        backend: Backend = cp_sat.minimise
    else:
        from mlsched.solvers import highs

        backend = highs.minimise
    sense = next(o.sense for o in instance.objectives if o.name == objective)
    question = answerer.function(instance, objectives=(objective,), **params)
    if isinstance(question, OneOf):
        return solve_one_of(
            question, objective, sense, limits, hint, backend, lambda plan: instance.evaluate(plan)[objective]
        )
    return backend(question, objective, sense, limits, hint)


def __getattr__(name: str) -> Any:
    """`enumerate_front` and `Front`, imported at first use (PEP 562)."""
    if name in ("enumerate_front", "Front"):
        from mlsched.solvers import front

        return getattr(front, name)
    raise AttributeError(f"module 'mlsched.solvers' has no attribute '{name}'")


__all__ = ["Front", "Limits", "Outcome", "available", "enumerate_front", "run"]
