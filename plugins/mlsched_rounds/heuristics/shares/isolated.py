"""Isolated: each job has an equal part of every type for itself, c_m / (n s_j), at most all of its time.

`gandiva_fair` (Chaudhary et al., EuroSys 2020; so in uw-mad-dash/shockwave, `policies/gandiva_fair_proportional.py`)
gives jobs equal time however many GPUs they hold: c_m / n.
"""

from __future__ import annotations

import numpy as np

from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.shares import Floats


def _start(readings: Readings) -> Shares:
    return shares


def _start_fair(readings: Readings) -> Shares:
    return lambda asked: equal_parts(asked, np.ones(len(asked.jobs)))


def shares(asked: Asked) -> Floats:
    """c_m / n / s_j, a row's sum at most 1."""
    return equal_parts(asked, asked.gpus)


def equal_parts(asked: Asked, gpus: np.ndarray) -> Floats:
    """An equal part of every type for each entry of `gpus`, divided by the entry."""
    found = asked.capacity / max(1, len(gpus)) / gpus[:, None]
    # In Gavel's program types stand in order of the alphabet; sums of floats depend on it.
    total = found[:, np.argsort(np.array(asked.types), kind="stable")].sum(axis=1, keepdims=True)
    limited: Floats = found / np.maximum(total, 1.0)
    return limited


GANDIVA_FAIR = Policy("gandiva_fair", _start_fair, doc="equal time for each job, however many GPUs it holds")
ISOLATED = Policy("isolated", _start, doc="an equal part of every type for each job")
