"""Chic-Pair: a small network gives one worker together with one PS, pair after pair, to the first I jobs.

Paper: Gong, Li, Liang, Zhan, "Chic", IWQoS 2019, Section 4.4. Trained like Chic (`mlsched train chic-pair`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.instances.workers import Instance, Plan
from mlsched.learned.workers.chic_policy import Protocol, Variant, policy, world


@solver("chic-pair", problem="workers", world=world("chic-pair"), paper="Chic Section 4.4")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    weights: str = "",
    greedy: bool = False,
    window: int = 0,
    episode: int = 0,
    rate: float = 0.0,
    protocol: Protocol = "auto",
) -> Plan:
    """A worker and a PS at a time to the first I jobs, drawn from a network (not recommended: as good as at random).

    It is Chic-Pair as the paper trains it, kept to be compared with (docs/results/chic.md);
    chic-plus is ours.
    weights: a file that `mlsched train chic-pair` wrote; "": the weights that come with mlsched. greedy: always the
    likeliest action that changes something. What the weights were trained for, 0 being the usual (I = 3, W = 30,
    1.8/h), or what the file was trained for: window: I; episode: W, jobs per episode; rate: arrivals per hour.
    protocol: "paper", "settled" (ours: trained until the reward settles), or "auto": the paper's, or the file's. Asked
    for others than come with mlsched, it says which do.
    """
    return policy("chic-pair", weights, Variant(window, episode, rate, protocol)).plan(instance, rng, greedy)
