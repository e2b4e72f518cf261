"""Max-rate: the most iterations per second over all jobs, by dynamic programming.

Maximises sum_j 1 / g_j(w_j, p_j). It looks at speed alone, not at what is left: a job of slow iterations waits when
others make more of its share.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.formulations.workers.columns import columns
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.solvers.workers._state_search import cheapest

#: Rates are made integers of at most this, summed over the jobs.
MOST = 2**45


@solver("max-rate", problem="workers", paper="none; the static optimum of the sum of speeds")
def answer(instance: Instance, *, rng: np.random.Generator, of: Literal["iterations", "jobs"] = "iterations") -> Plan:
    """The largest sum of speeds, exactly.

    of: "iterations" (1 / g, iterations per second) or "jobs" (1 / (B g): the share of the rest of the job done a
    second, so that jobs with little left count for more).
    """
    rate = _rates(instance, of)
    top = int(rate.max(initial=0))
    # Least of (top - rate), with top for a job that waits: the largest sum of rates.
    cost = np.where(instance.cost == NEVER, NEVER, top - rate)
    choice = columns(instance, cost, np.full(len(instance.waiting), top, dtype=np.int64))
    return choice.plan(cheapest(choice).chosen)


def _rates(instance: Instance, of: str) -> IntArray:
    """Speeds as integers, by [job, w - 1, p - 1], 0 where a job cannot train."""
    amount = instance.remaining if of == "iterations" else np.ones_like(instance.remaining)
    rate = np.where(instance.cost == NEVER, 0.0, amount[:, None, None] / instance.cost)
    fastest = float(rate.max(initial=0.0)) * max(1, len(amount))
    return np.floor(rate * (MOST / fastest if fastest else 0.0)).astype(np.int64)
