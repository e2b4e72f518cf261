"""Isolated: each job has an equal part of every type for itself, c_m / (n s_j), at most all of its time.

`gandiva_fair` (Chaudhary et al., EuroSys 2020; so in uw-mad-dash/shockwave, `policies/gandiva_fair_proportional.py`)
gives jobs equal time, whatever their GPU counts: c_m / n.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares


def _start(readings: Readings) -> Shares:
    return shares


def _start_fair(readings: Readings) -> Shares:
    return lambda query: equal_parts(query, np.ones(len(query.jobs)))


def shares(query: Asked) -> FloatArray:
    """Return c_m / n / s_j, with a sum of at most 1 in each row."""
    return equal_parts(query, query.gpus)


def equal_parts(query: Asked, gpus: np.ndarray) -> FloatArray:
    """Return an equal part of every type for each entry of `gpus`, divided by the entry."""
    result = query.capacity / max(1, len(gpus)) / gpus[:, None]
    # Gavel's program sorts types by the alphabet; sums of floats depend on the order.
    total = result[:, np.argsort(np.array(query.types), kind="stable")].sum(axis=1, keepdims=True)
    limited: FloatArray = result / np.maximum(total, 1.0)
    return limited


GANDIVA_FAIR = Policy("gandiva_fair", _start_fair, doc="equal time for each job, however many GPUs it holds")
ISOLATED = Policy("isolated", _start, doc="an equal part of every type for each job")
