"""The judge's word on an outcome: every value recomputed, and the bound held against it."""

from __future__ import annotations

from typing import Any

from mlsched.api.asked import aim
from mlsched.core.answerer import Answerer
from mlsched.core.contract import Instance
from mlsched.core.errors import AnswererError
from mlsched.core.formulation import Outcome
from mlsched.core.result import Result, relative_gap
from mlsched.core.versions import versions


def judged(
    instance: Instance,
    answerer: Answerer,
    objective: str,
    params: dict[str, Any],
    seed: int,
    outcome: Outcome,
    seconds: float,
) -> Result:
    """The Result of an outcome, every value recomputed by the judge and the bound held against it."""
    values = value = gap = None
    if (outcome.plan is None) != (outcome.status in ("infeasible", "unknown")):
        raise AnswererError(
            f"{answerer.name} returned {'no' if outcome.plan is None else 'a'} plan and '{outcome.status}'"
        )
    if outcome.status == "optimal" and outcome.bound is None:
        raise AnswererError(f"{answerer.name} claims an optimum without a bound")
    if outcome.plan is not None:
        if wrong := instance.violations(outcome.plan):
            raise AnswererError(f"{answerer.name} returned an infeasible plan: {wrong[0]}")
        values = instance.evaluate(outcome.plan)
        value = values.get(objective)
    goal = aim(instance, objective)
    if value is not None and outcome.bound is not None:
        minimise = goal.sense == "min"
        too_good = outcome.bound - value if minimise else value - outcome.bound
        slack = instance.tolerance * max(1, abs(value), abs(outcome.bound))
        if not too_good <= slack or (outcome.status == "optimal" and abs(too_good) > slack):
            raise AnswererError(
                f"{answerer.name}: its bound {outcome.bound} contradicts the judge's {objective} = {value}"
            )
        gap = relative_gap(value, outcome.bound)
    return Result(
        instance_hash=instance.hash,
        problem=instance.problem,
        answerer=answerer.name,
        objective=objective,
        sense=goal.sense,
        unit=goal.unit,
        rank=instance.rank(objective),
        params=params,
        seed=seed,
        plan=outcome.plan,
        values=values,
        value=value,
        bound=outcome.bound,
        gap=gap,
        status=outcome.status,
        stopped_by=outcome.stopped_by if answerer.rule is None else None,
        seconds=seconds,
        work=outcome.work,
        versions=versions(),
        backing="claimed" if answerer.rule is None and outcome.status in ("optimal", "infeasible") else None,
        doubt=outcome.doubt,
        figures=None if values is None else instance.figures(values),
        instance=instance,
    )
