"""Greedy goodput: take the configuration that saves most of Sia's cost per GPU.

A list heuristic for the program that Sia solves (Jayaram Subramanya et al., SOSP 2023). It shows the gain of a solver.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


@solver("cheapest", problem="rounds", objectives=("goodput_cost",), warm_start=True, paper="none")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Assign configurations by cost saved per GPU, if they fit and the job does not run yet."""
    room = Room(instance)
    savings = (instance.waiting_cost[:, None] - instance.goodput_cost) / instance.config_gpus
    jobs, configs = np.nonzero((savings > 0) & (instance.rate > 0))
    order = np.argsort(-savings[jobs, configs], kind="stable")
    room.take_in_order(jobs[order], configs[order])
    return room.plan()
