"""How models are solved: backends, limits, and the list of what is available."""

from __future__ import annotations

from mlsched.core.contract import Instance, Plan
from mlsched.core.formulation import Limits, OneOf, Outcome
from mlsched.core.registry import Answerer, Kind, registry


def available(problem: str | None = None, kind: Kind | None = None) -> list[Answerer]:
    """The registered answerers, of one problem and one kind if given."""
    return registry().available(problem, kind)


def run(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, params: dict[str, object]
) -> Outcome:
    """Answer `instance` with a registered exact answerer."""
    if answerer.backend == "direct":
        start = {"hint": hint} if answerer.takes_hint else {}
        outcome: Outcome = answerer.function(instance, objective=objective, limits=limits, **start, **params)
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


__all__ = ["Limits", "Outcome", "available", "run"]
