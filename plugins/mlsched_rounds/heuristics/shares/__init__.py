"""Gavel's policies: functions from the jobs at a reset to time shares of shape (jobs, types).

A policy may remember earlier shares; each run makes a new policy. `POLICIES` maps the names of `gavel:policy=NAME` to
policies; a name that ends in `_perf` uses the jobs' rates on each type. `PACKING` has the policies under which jobs
share their GPUs; only the simulator of rounds runs them.
"""

from __future__ import annotations

from mlsched.core.errors import UnknownName, did_you_mean
from mlsched_rounds.heuristics.shares import allox, fifo, fluid, gandiva, isolated, linear, ordered
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, recall, remembered

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        fifo.FIFO,
        fifo.FIFO_PERF,
        isolated.ISOLATED,
        isolated.GANDIVA_FAIR,
        allox.ALLOX,
        allox.GANGS,
        *linear.LINEAR,
        ordered.SRPT,
        ordered.LAS,
        fluid.FLUID,
    )
}
PACKING: dict[str, Policy] = {gandiva.GANDIVA.name: gandiva.GANDIVA}


def policy(name: str) -> Policy:
    """Return the policy of that name, or raise UnknownName."""
    lookup = POLICIES | PACKING
    if name not in lookup:
        raise UnknownName(
            f"unknown policy '{name}' of Gavel{did_you_mean(name, lookup)}; there are {', '.join(lookup)}"
        )
    return lookup[name]


__all__ = ["PACKING", "POLICIES", "Asked", "Policy", "Readings", "policy", "recall", "remembered"]
