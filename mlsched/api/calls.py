"""Calling an answerer of any form once: what it says of an instance, as an `Outcome`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched import solvers
from mlsched.api.adapters import adapted, native
from mlsched.core.answerer import Answerer
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import AnswererError, MlschedError, a_or_an, said
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.interrupts import interrupts


def answer_once(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, values: dict[str, Any]
) -> Outcome:
    """Call an answerer of any kind; what it raises that is not ours becomes an AnswererError.

    That includes what would end the program (`sys.exit`), unless it was the user who asked for it.
    """
    with interrupts() as came:
        try:
            return _answer(answerer, instance, objective, limits, hint, values)
        except MlschedError:
            raise
        except BaseException as error:
            if came():
                raise
            raise AnswererError(f"{answerer.name} raised {said(error)}") from error


def _answer(
    answerer: Answerer, instance: Instance, objective: str, limits: Limits, hint: Plan | None, values: dict[str, Any]
) -> Outcome:
    if not native(answerer, instance.asks):
        plan = adapted(answerer, instance, objective, limits, values)
        return Outcome("unknown" if plan is None else "feasible", plan, None)
    if answerer.rule is None:
        outcome = solvers.run(answerer, instance, objective, limits, hint, values)
        if not isinstance(outcome, Outcome):
            raise AnswererError(f"{answerer.name} returned {a_or_an(type(outcome).__name__)}: must be an Outcome")
        return outcome
    rng, shown = np.random.default_rng(limits.seed), answerer.shown(instance)
    plan, _ = answerer.rule(shown, memory=None, rng=rng, limits=limits, **values)
    if plan is None:
        raise AnswererError(f"{answerer.name} returned no plan; a rule must return {a_or_an(instance.plan_type.kind)}")
    return Outcome("feasible", plan, None)
