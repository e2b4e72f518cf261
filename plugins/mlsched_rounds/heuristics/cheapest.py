"""Greedy goodput: the configuration that saves most of Sia's cost, for each GPU that it holds, is taken next.

A list rule for the program that Sia solves (Jayaram Subramanya et al., SOSP 2023): what a solver is worth there.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


@solver("cheapest", problem="rounds", objectives=("goodput_cost",), warm_start=True, paper="none")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """By cost saved per GPU: the job takes that configuration if it fits, and has none yet."""
    room = Room(instance)
    saved = (instance.waiting_cost[:, None] - instance.goodput_cost) / instance.config_gpus
    jobs, configs = np.nonzero((saved > 0) & (instance.rate > 0))
    order = np.argsort(-saved[jobs, configs], kind="stable")
    room.take_in_order(jobs[order], configs[order])
    return room.plan()
