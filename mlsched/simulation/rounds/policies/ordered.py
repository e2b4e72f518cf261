"""Orders of other schedulers in Gavel's world: at each reset jobs get shares of 1 in that order (`fifo.in_order`)."""

from __future__ import annotations

import numpy as np

from mlsched.simulation.rounds.accounts import Floats
from mlsched.simulation.rounds.options import Options
from mlsched.simulation.rounds.policies.asked import Asked, Policy, Shares
from mlsched.simulation.rounds.policies.fifo import in_order


def _shortest_first(asked: Asked) -> Floats:
    """SRPT: by remaining GPU-seconds on the fastest type."""
    with np.errstate(divide="ignore"):
        left = asked.remaining / asked.rate.max(axis=1, initial=0.0) * asked.gpus
    return in_order(asked, np.argsort(left, kind="stable").tolist())


def _least_served_first(asked: Asked) -> Floats:
    """LAS: by GPU-seconds so far."""
    return in_order(asked, np.argsort(asked.served, kind="stable").tolist())


def _srpt(options: Options) -> Shares:
    return _shortest_first


def _las(options: Options) -> Shares:
    return _least_served_first


SRPT = Policy("srpt", _srpt, aware=True, strict=True, doc="by remaining GPU-seconds on the fastest type")
LAS = Policy("las", _las, aware=True, strict=True, doc="by GPU-seconds so far")
