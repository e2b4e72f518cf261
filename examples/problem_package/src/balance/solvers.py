"""Brute force: every machine for every job."""

import itertools

from balance.instances import Instance, Plan
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Outcome
from mlsched.core.registry import exact_algorithm


@exact_algorithm("brute-force", problem="balance", objectives=("largest_load", "moves"))
def brute_force(instance: Instance, *, objective: str, limits: object, hint: Plan | None) -> Outcome:
    """Examine every plan of instances with at most 10^5 plans."""
    plans = instance.machines ** len(instance.work)
    if plans > 10**5:
        raise TooLarge("brute-force: there are more than 10^5 plans; use cp-sat")
    every = itertools.product(range(instance.machines), repeat=len(instance.work))
    value, best = min((instance.evaluate(Plan(machine=p))[objective], p) for p in every)
    return Outcome("optimal", Plan(machine=best), value, work={"plans": plans})
