"""Gavel's policies: functions from what is known at a reset to shares of time, jobs x types.

A policy may remember what it has given; it is made anew for each run. `POLICIES` holds them by the names under which
`gavel:policy=NAME` asks for them; a name that ends in `_perf` knows the jobs' rates on each type. `PACKING` holds those
under which jobs share their GPUs; only the simulator of rounds runs them.
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
    """The policy of that name, or UnknownName."""
    known = POLICIES | PACKING
    if name not in known:
        raise UnknownName(f"no policy '{name}' of Gavel{did_you_mean(name, known)}; there are {', '.join(known)}")
    return known[name]


__all__ = ["PACKING", "POLICIES", "Asked", "Policy", "Readings", "policy", "recall", "remembered"]
