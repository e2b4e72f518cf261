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
    """One worker or PS at a time to the first I jobs, drawn from a network (not recommended: as good as at random).

    It is Chic as the paper trains it, kept to be compared with (docs/results/chic.md); chic-plus is ours.
    weights: a file that `mlsched train chic` wrote; "": the weights that come with mlsched. greedy: always the
    likeliest action that changes something. What the weights were trained for, 0 being the usual (W = 30, 1.8/h), or
    what the file was trained for: episode: W, jobs per episode; rate: arrivals per hour. protocol: "paper",
    "settled" (ours: trained until the reward settles), or "auto": the paper's, or the file's. Asked for others than
    come with mlsched, it says which do.
    """
    return policy("chic", weights, Variant(0, episode, rate, protocol)).plan(instance, rng, greedy)
