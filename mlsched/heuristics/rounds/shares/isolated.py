"""Isolated: each job has an equal part of every type for itself, c_m / (n s_j), at most all of its time."""

from __future__ import annotations

import numpy as np

from mlsched.heuristics.rounds.shares.asked import Asked, Policy, Readings, Shares
from mlsched.solvers.rounds.shares import Floats


def _start(readings: Readings) -> Shares:
    return shares


def shares(asked: Asked) -> Floats:
    """c_m / n / s_j, a row's sum at most 1."""
    found = asked.capacity / max(1, len(asked.jobs)) / asked.gpus[:, None]
    # In Gavel's program types stand in order of the alphabet; sums of floats depend on it.
    total = found[:, np.argsort(np.array(asked.types), kind="stable")].sum(axis=1, keepdims=True)
    limited: Floats = found / np.maximum(total, 1.0)
    return limited


ISOLATED = Policy("isolated", _start, doc="an equal part of every type for each job")
