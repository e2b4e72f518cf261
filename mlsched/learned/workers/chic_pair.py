"""Chic-Pair: a small network gives one worker together with one PS, pair after pair, to the first I jobs.

Paper: Gong, Li, Liang, Zhan, "Chic", IWQoS 2019, Section 4.4. Trained like Chic (`mlsched train chic-pair`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.instances.workers import Instance, Plan
from mlsched.learned.workers._chic import policy, world


@answerer("chic-pair", problem="workers", world=world("chic-pair"), paper="Chic Section 4.4")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    weights: str = "",
    greedy: bool = False,
    window: int = 0,
    episode: int = 0,
) -> Plan:
    """Pair after pair of a worker and a PS to the first I jobs, drawn from a network's distribution.

    weights: a file that `mlsched train chic-pair` wrote; "": the weights that come with mlsched. greedy: always the
    likeliest action that changes something. window: I, where there are weights of several (2, 3 and 4 come with
    mlsched); 0: 3, or what the file was trained for. episode: W, jobs an episode in training (30 and, for I = 3, 60
    come with mlsched); 0: 30, or what the file was trained with.
    """
    return policy("chic-pair", weights, window, episode).plan(instance, rng, greedy)
