"""The plan that an exact answerer starts from: the best of a hint and of what the problem's warm-start rules say."""

from __future__ import annotations

import dataclasses

from mlsched.api.adapters import native
from mlsched.api.calls import answer_once
from mlsched.core.answerer import Answerer
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidInput, a_or_an
from mlsched.core.formulation import Limits
from mlsched.core.params import resolve
from mlsched.core.registry import registry

#: Share of the time limit that one search for a start may take, and the share that remains for the solve in any case.
START_SHARE, SOLVE_SHARE = 0.3, 0.01


def start_within(
    instance: Instance, answerer: Answerer, objective: str, limits: Limits, hint: Plan | str | None = None
) -> tuple[Plan | None, Limits]:
    """The plan an exact backend starts from, and the limits that remain after finding it."""
    deadline = Deadline(limits.seconds)
    plan = _hint(instance, answerer, objective, hint, limits)
    if limits.seconds is None or not answerer.takes_hint:
        return plan, limits
    return plan, dataclasses.replace(limits, seconds=deadline.remaining(SOLVE_SHARE * limits.seconds))


def starts_cold(instance: Instance, answerer: Answerer, objective: str, hint: Plan | str | None) -> bool:
    """Whether an exact answerer is not given what the warm-start rules say, which then is known all the same."""
    asked = answerer.kind == "exact" and bool(instance.objectives) and hint != "none"
    return asked and not answerer.starts_warm(instance, objective)


def _hint(
    instance: Instance, answerer: Answerer, objective: str, hint: Plan | str | None, limits: Limits
) -> Plan | None:
    """The plan an exact backend starts from: the best of the hint and of what the problem's warm-start rules say.

    A hint that is no better than what they say changes nothing: the answer is the one without it.
    """
    if isinstance(hint, Plan):
        if wrong := instance.violations(hint):
            raise InvalidInput(f"hint: is infeasible: {wrong[0]}")
    elif hint is not None and not (isinstance(hint, str) and hint == "none"):
        shown = repr(hint) if isinstance(hint, str) else a_or_an(type(hint).__name__)
        raise InvalidInput(f"hint = {shown}: must be a plan, None (the problem's own rule) or 'none'")
    given = hint if isinstance(hint, Plan) else None
    if hint == "none" or not native(answerer, instance.asks) or not answerer.starts_warm(instance, objective):
        return given
    plans = _starts(instance, objective, limits, searching=True)
    return _best(instance, objective, plans + ([] if given is None else [given]))


def _starts(instance: Instance, objective: str, limits: Limits, *, searching: bool) -> list[Plan]:
    """What the problem's warm-start rules say. searching: also those that search, for a share of the time limit.

    A rule looks at no clock, and on a very large instance may take longer than there is: then no further one is asked.
    """
    plans, deadline = list[Plan](), Deadline(limits.seconds)
    seconds = None if limits.seconds is None else START_SHARE * limits.seconds
    for rule in registry().available(instance.problem):
        if not rule.warm_start or (rule.searches and not searching):
            continue
        if plans and deadline.passed():
            break
        values = resolve(rule.name, rule.parameters, rule.as_start(instance))
        own = Limits(seconds=seconds, seed=limits.seed)
        plan = answer_once(rule, instance, objective, own, None, values).plan
        plans += [plan] if plan is not None else []
    return plans


def unsearched_start(instance: Instance, objective: str, limits: Limits, start: Plan | None) -> Plan | None:
    """The best of a plan, if any, and of what those warm-start rules say that do not search."""
    plans = _starts(instance, objective, limits, searching=False)
    return _best(instance, objective, plans + ([] if start is None else [start]))


def _best(instance: Instance, objective: str, plans: list[Plan]) -> Plan | None:
    """The best plan, of equal ones the first."""
    best = min if instance.objective(objective).sense == "min" else max
    return best(plans, key=lambda p: instance.evaluate(p)[objective], default=None)
