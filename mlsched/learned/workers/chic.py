"""Chic: a small network gives one worker or one PS after the other to the first I jobs.

Paper: Gong, Li, Liang, Zhan, "Chic", IWQoS 2019, Sections 4 and 5. Trained by the modified cross-entropy method
(`mlsched train chic`). Actions are drawn from the network's distribution, as in the paper.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.instances.workers import Instance, Plan
from mlsched.learned.workers.chic_policy import Protocol, Variant, policy, world


@solver("chic", problem="workers", world=world("chic"), paper="Chic Sections 4 and 5")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    weights: str = "",
    greedy: bool = False,
    episode: int = 0,
    rate: float = 0.0,
    protocol: Protocol = "auto",
) -> Plan:
    """Add one worker or PS at a time to the first I jobs, drawn from a network (not recommended: as good as at random).

    This is Chic as the paper trains it, for comparisons (docs/results/chic.md); chic-plus is ours.

    Args:
        instance: The worker allocation decision.
        rng: Source of randomness of drawn actions.
        weights: File that `mlsched train chic` wrote; "" for the weights that come with mlsched.
        greedy: Always take the likeliest action with an effect.
        episode: W, jobs per episode in training; 0 is 30, or the value in the file.
        rate: Arrivals per hour in training; 0 is 1.8, or the value in the file.
        protocol: "paper", "settled" (ours: trained until the reward settles), or "auto": the paper's, or the file's. An
            unavailable variant raises an error that lists the available variants.
    """
    return policy("chic", weights, Variant(0, episode, rate, protocol)).plan(instance, rng, greedy)
