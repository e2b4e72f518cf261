"""What is known beside a solver's answer is never lost: the plan it started from, and a bound that needs no search."""

from __future__ import annotations

import dataclasses

from mlsched.core.answerer import Answerer
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.formulation import Outcome
from mlsched.core.registry import registry


def keep_known(instance: Instance, answerer: Answerer, objective: str, start: Plan | None, outcome: Outcome) -> Outcome:
    """The outcome of an exact answerer that a limit has ended, with `start` where its own plan is no better.

    Its bound is never weaker than the problem's trivial one (`Problem.trivial_bound`), which a solver that is stopped
    early does not know of: CP-SAT then reports what follows from the ranges of its variables, a negative number for a
    sum of scores, say. A plan that reaches the bound is optimal. A restricted model answers for some of the plans only,
    so it has no bound; where it has proved which of them is best, that is its answer.
    """
    if not ended_early(instance, answerer, outcome) or (outcome.plan is None) != (outcome.status == "unknown"):
        return outcome  # of an outcome that contradicts itself the judge says so
    if answerer.restricted and outcome.stopped_by == "proof":
        return outcome
    try:
        plan, value = _better(instance, objective, outcome.plan, start)
    except InvalidInput:  # a malformed plan: the judge says what is wrong with it
        return outcome
    bound = outcome.bound
    if not answerer.restricted:
        bound = _tighter(instance, objective, bound, trivial_bound(instance, objective))
        if plan is not None and value == bound:
            return Outcome("optimal", plan, bound, "proof", outcome.work)
    return dataclasses.replace(outcome, status="unknown" if plan is None else "feasible", plan=plan, bound=bound)


def ended_early(instance: Instance, answerer: Answerer, outcome: Outcome) -> bool:
    """Whether an exact answerer was asked for a value (a round has none), and has not settled what is the best one."""
    return answerer.kind == "exact" and outcome.status in ("feasible", "unknown") and bool(instance.objectives)


def in_spite_of(error: SolverError, answerer: Answerer, start: Plan | None) -> Outcome:
    """What is still known where the backend of an exact answerer failed: the plan it started from.

    Raises the error where there is none.
    """
    if start is None or answerer.kind != "exact":
        raise error
    return Outcome("feasible", start, None, "backend", doubt=f"the plan is where it started: {error}")


def trivial_bound(instance: Instance, objective: str) -> int | None:
    """A bound on the optimum that follows from the problem's statement; None where the problem gives none."""
    problem = registry().problem(instance.problem)
    return problem.trivial_bound(instance, objective) if type(instance) is problem.instance_type else None


def _tighter(instance: Instance, objective: str, own: int | float | None, trivial: int | None) -> int | float | None:
    """The tighter of two bounds; the solver's own where they are equal."""
    if own is None or trivial is None:
        return trivial if own is None else own
    return trivial if instance.objective(objective).better(own, trivial) else own


def _better(instance: Instance, objective: str, own: Plan | None, start: Plan | None) -> tuple[Plan | None, int | None]:
    """The better of two plans and its value; the solver's own where they are equal."""
    plans = [(plan, instance.evaluate(plan)[objective]) for plan in (own, start) if plan is not None]
    best = min if instance.objective(objective).sense == "min" else max
    return best(plans, key=lambda pair: pair[1]) if plans else (None, None)
