"""Rounds by enumeration of every configuration of every job; the judge values each job in a round of its own."""

from __future__ import annotations

import math

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.relations import JOBS

#: Limit on the number of plans: about 1 s and 200 MB.
MOST_PLANS = 2**21
#: Objective -> sum of the values of jobs. Jobs that cannot run do not count if the worst one decides.
OBJECTIVES: dict[str, np.ufunc] = {
    "goodput_cost": np.add,
    "total_steps": np.add,
    "least_served": np.minimum,
    "worst_ratio": np.maximum,
    "last_end": np.maximum,
}


@exact_algorithm("brute-force", problem="rounds", objectives=tuple(OBJECTIVES))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan; instances of up to 2^21 plans (about 1 s)."""
    deadline, union = Deadline(limits.seconds), OBJECTIVES[objective]
    choices = [np.array([-1, *np.flatnonzero(row).tolist()]) for row in instance.rate]
    plans = math.prod(len(own) for own in choices)
    if plans > MOST_PLANS:
        raise TooLarge(f"brute-force: there are more than {MOST_PLANS} plans: use cp-sat or highs")
    # Plan number p gives the last job the (p % its choices)-th of them, and so on.
    fits, value = np.ones(1, dtype=bool), None
    usages: list[IntArray] = [np.zeros(1, dtype=np.int64) for _ in instance.capacity]
    for j, own in enumerate(deadline.over(choices)):
        gpus = np.where(own >= 0, instance.config_gpus[own], 0) if len(own) > 1 else np.zeros(1, dtype=np.int64)
        kind = np.where(own >= 0, instance.config_type[own], -1) if len(own) > 1 else np.full(1, -1)
        usages = [np.add.outer(usage, np.where(kind == m, gpus, 0)).ravel() for m, usage in enumerate(usages)]
        if len(own) > 1 or union is np.add:
            worth = _values_of_job(instance, j, own, objective)
            value = worth if value is None else union.outer(value, worth).ravel()
        elif value is not None:
            value = np.repeat(value, len(own))
        fits = np.repeat(fits, len(own))
    for m, usage in enumerate(usages):
        fits &= usage <= instance.capacity[m]
    if value is None:
        return _outcome_of_search(instance, [-1] * len(choices), objective, plans)
    feasible = np.flatnonzero(fits)
    smallest = instance.objective(objective).sense == "min"
    best = int(feasible[np.argmin(value[feasible]) if smallest else np.argmax(value[feasible])])
    config = []
    for own in reversed(choices):
        best, position = divmod(best, len(own))
        config.append(int(own[position]))
    return _outcome_of_search(instance, config[::-1], objective, plans)


def _values_of_job(instance: Instance, job: int, own: IntArray, objective: str) -> IntArray:
    """Return the values of the round with only this job, in each of its configurations."""
    alone = instance.replace(**{name: getattr(instance, name)[job : job + 1] for name in JOBS})
    return np.array([alone.evaluate(alone.plan([c]))[objective] for c in own.tolist()], dtype=np.int64)


def _outcome_of_search(instance: Instance, config: list[int], objective: str, plans: int) -> Outcome:
    plan = instance.plan(np.array(config, dtype=np.int64))
    return Outcome("optimal", plan, instance.evaluate(plan)[objective], work={"plans": plans})
