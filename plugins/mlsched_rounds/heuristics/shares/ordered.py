"""Orders of other schedulers in Gavel's world: at each reset jobs get shares of 1 in that order (`fifo.in_order`)."""

from __future__ import annotations

import numpy as np

from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.heuristics.shares.fifo import in_order
from mlsched_rounds.solvers.shares import Floats


def _shortest_first(asked: Asked) -> Floats:
    """SRPT: by remaining GPU-seconds on the fastest type."""
    with np.errstate(divide="ignore"):
        left = asked.remaining / asked.rate.max(axis=1, initial=0.0) * asked.gpus
    return in_order(asked, np.argsort(left, kind="stable").tolist())


def _least_served_first(asked: Asked) -> Floats:
    """LAS: by GPU-seconds so far."""
    return in_order(asked, np.argsort(asked.served, kind="stable").tolist())


def _srpt(readings: Readings) -> Shares:
    return _shortest_first


def _las(readings: Readings) -> Shares:
    return _least_served_first


SRPT = Policy("srpt", _srpt, aware=True, strict=True, doc="by remaining GPU-seconds on the fastest type")
LAS = Policy("las", _las, aware=True, strict=True, doc="by GPU-seconds so far")
