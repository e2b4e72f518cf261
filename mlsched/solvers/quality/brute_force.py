"""Quality by enumeration: every number of cores for every job."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.quality import Instance, Plan

#: Limit on plans per run: about 2 s and 400 MB.
MOST_PLANS = 2**23


#: Objective -> the table of a job's values, how they add up, and how to select the best number.
OBJECTIVES: dict[str, tuple[str, np.ufunc, Callable[[IntArray], np.intp]]] = {
    "total_loss_reduction": ("gain", np.add, np.argmax),
    "worst_loss": ("loss", np.maximum, np.argmin),
}


@exact_algorithm("brute-force", problem="quality", objectives=tuple(OBJECTIVES))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan; instances of up to 2^23 plans (about 2 s)."""
    running, deadline = instance.running.tolist(), Deadline(limits.seconds)
    choices = [range(instance.least, int(instance.most[j]) + 1) for j in running]
    plans = math.prod(len(c) for c in choices)
    if plans > MOST_PLANS:
        raise TooLarge(f"brute-force: there are more than {MOST_PLANS} plans: use dp or highs")
    # Plan number p gives job i the (p // radix[i]) % len(choices[i])-th of its choices.
    name, joint, pick = OBJECTIVES[objective]
    table = getattr(instance, name)
    usage = np.zeros(1, dtype=np.int64)
    value = np.zeros(1, dtype=np.int64)
    for j, choice in deadline.over(zip(running, choices, strict=True)):
        usage = np.add.outer(usage, np.array(choice)).ravel()
        value = joint.outer(value, instance.weight[j] * table[j, choice.start : choice.stop]).ravel()
    feasible = np.flatnonzero(usage <= instance.available)
    best = int(feasible[pick(value[feasible])])
    number, cores = best, []
    for choice in reversed(choices):
        number, position = divmod(number, len(choice))
        cores.append(choice[position])
    return Outcome("optimal", instance.plan(ints(reversed(cores))), int(value[best]), work={"plans": plans})
