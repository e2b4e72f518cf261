"""Sia's round (Jayaram Subramanya et al., SOSP 2023): the configurations of the least sum of costs by goodput.

The costs, with p, lambda and the loss by restarts, are the instance's (`instances/rounds/goodput.py`). Sia solves an
integer program, and so does this heuristic, by HiGHS. Unlike the exact solvers, it does not prove its result.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.goodput import Configurations
from mlsched_rounds.solvers.sia import assign


@solver("sia", problem="rounds", objectives=("goodput_cost",), paper="Sia, Section 3")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Return the configurations with the least sum of goodput costs and waiting costs."""
    cost = np.where(instance.rate > 0, instance.goodput_cost.astype(np.float64), np.inf)
    configurations = Configurations(instance.config_type, instance.config_gpus, instance.capacity)
    return Plan(config=assign(cost, configurations, instance.waiting_cost.astype(np.float64)))
