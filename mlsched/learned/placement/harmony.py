"""Harmony: a network places workers and PSs in turn; trained by an actor-critic on predicted speeds.

Paper: Bao, Peng, Wu, "Deep learning-based job placement in distributed machine learning clusters", INFOCOM 2019,
Sections IV and V (`mlsched train harmony-reward`, `mlsched train harmony`).

Trained to its criterion with five seeds, it beats random placement and load balancing, is about as good as bin packing
and Tetris, and is worse than LIF, which profiles interference (docs/results/harmony.md). `harmony-plus` is far ahead.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.instances.placement import Instance, Plan
from mlsched.learned.placement.harmony_policy import policy, world


@solver("harmony", problem="placement", world=world, paper="Harmony Sections IV and V")
def answer(instance: Instance, *, rng: np.random.Generator, weights: str = "", greedy: bool = True) -> Plan:
    """Place one task after the other with a network; for six servers and the paper's six models.

    Args:
        instance: The placement decision.
        rng: Source of randomness of drawn actions.
        weights: File that `mlsched train harmony` wrote; "" for the weights that come with mlsched.
        greedy: Always take the likeliest action; False draws from the network's distribution, as in training.
    """
    return policy(weights).plan(instance, rng, greedy)
