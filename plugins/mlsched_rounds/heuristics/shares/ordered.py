"""Orders of other schedulers in Gavel's world: at each reset jobs get shares of 1 in that order (`fifo.in_order`)."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.heuristics.shares.fifo import in_order


def _shortest_first(query: Asked) -> FloatArray:
    """Return shares by SRPT: remaining GPU-seconds on the fastest type."""
    with np.errstate(divide="ignore"):
        rest = query.remaining / query.rate.max(axis=1, initial=0.0) * query.gpus
    return in_order(query, np.argsort(rest, kind="stable").tolist())


def _least_served_first(query: Asked) -> FloatArray:
    """Return shares by LAS: GPU-seconds so far."""
    return in_order(query, np.argsort(query.served, kind="stable").tolist())


def _shortest_first_shares(readings: Readings) -> Shares:
    return _shortest_first


def _least_served_shares(readings: Readings) -> Shares:
    return _least_served_first


SRPT = Policy(
    "srpt", _shortest_first_shares, aware=True, strict=True, doc="by remaining GPU-seconds on the fastest type"
)
LAS = Policy("las", _least_served_shares, aware=True, strict=True, doc="by GPU-seconds so far")
