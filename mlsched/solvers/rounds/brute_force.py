"""Rounds by enumeration: every configuration of every job, judged by the judge."""

from __future__ import annotations

import itertools
import math

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.rounds import Instance, Plan

#: Plans a run may examine: about 5 s, most of them not feasible.
MOST_PLANS = 400_000


@exact_algorithm("brute-force", problem="rounds", objectives=tuple(o.name for o in Instance.objectives))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan; instances of up to 400,000 plans (about 5 s)."""
    deadline, better = Deadline(limits.seconds), instance.objective(objective).better
    choices = [[-1, *np.flatnonzero(row).tolist()] for row in instance.rate]
    plans = math.prod(len(own) for own in choices)
    if plans > MOST_PLANS:
        raise TooLarge(f"brute-force: there are {plans} plans, more than {MOST_PLANS}: use cp-sat or highs")
    kind, gpus = [*instance.config_type.tolist(), 0], [*instance.config_gpus.tolist(), 0]
    capacity = instance.capacity.tolist()
    best: tuple[int, Plan] | None = None
    for chosen in deadline.over(itertools.product(*choices)):
        free = list(capacity)
        for c in chosen:
            if c >= 0:
                free[kind[c]] -= gpus[c]
        if any(left < 0 for left in free):
            continue
        plan = instance.plan(np.array(chosen, dtype=np.int64))
        value = instance.evaluate(plan)[objective]
        if best is None or better(value, best[0]):
            best = (value, plan)
    assert best is not None  # that everybody waits is feasible
    return Outcome("optimal", best[1], best[0], work={"plans": plans})
