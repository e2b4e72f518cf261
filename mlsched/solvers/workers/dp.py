"""Workers exactly by dynamic programming over the resources used (`_state_search.py`).

It works for any number of resources if the states after each job are few. With Lagrangian bounds (the
default) these are a few hundred on the paper's models at 40 times its cluster; without (`reduce=false`, for tests)
there is one for each sum of uses. Beyond 1,000,000 states it refuses.
"""

from __future__ import annotations

from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.formulations.workers.columns import columns
from mlsched.instances.workers import Instance, Plan
from mlsched.solvers.workers._state_search import cheapest, cheapest_plainly


@exact_algorithm("dp", problem="workers", objectives=("total_jct",))
def answer(
    instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None, reduce: bool = True
) -> Outcome:
    """Dynamic programming over what is used, reduced by Lagrangian bounds; refuses beyond 1,000,000 states."""
    choice = columns(instance)
    proof = cheapest(choice, limits) if reduce else cheapest_plainly(choice, limits)
    if proof is None:
        return Outcome("unknown", None, None, "time limit")
    plan = choice.plan(proof.chosen)
    if proof.optimal:
        return Outcome("optimal", plan, proof.bound, work=proof.work)
    return Outcome("feasible", plan, proof.bound, "time limit", proof.work)
