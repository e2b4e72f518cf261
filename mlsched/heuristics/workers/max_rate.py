"""Max-rate: the most iterations per second over all jobs, by dynamic programming.

Maximises sum_j 1 / g_j(w_j, p_j). It looks only at speed, not at the remaining work: a job of slow iterations waits
if others make more of its share.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers.rates import largest_sum, whole_rates
from mlsched.instances.workers import NEVER, Instance, Plan


@solver("max-rate", problem="workers", paper="none; the static optimum of the sum of speeds")
def answer(instance: Instance, *, rng: np.random.Generator, of: Literal["iterations", "jobs"] = "iterations") -> Plan:
    """Maximise the sum of speeds exactly, or by the hull greedy if the exact search is too large.

    of: "iterations" (1 / g, iterations per second) or "jobs" (1 / (B g): the share of the rest of the job done per
    second, so that jobs with little left count for more).
    """
    amount = instance.remaining if of == "iterations" else np.ones_like(instance.remaining)
    rate = np.where(instance.cost == NEVER, 0.0, amount[:, None, None] / instance.cost)
    return largest_sum(instance, whole_rates(rate))
