"""Uniform-random: draw a server with room for every task; the baseline of a trained policy.

It is not a baseline of a paper. Harmony draws its history of placements in this way (Section VI-A: "place them
randomly").
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import place_all
from mlsched.instances.placement import Instance, Plan


@solver("uniform-random", problem="placement", paper="Harmony Section VI-A, the history")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place each task on a random server with room; jobs in the order of the instance."""
    return place_all(instance, lambda room, job, kind, able: int(rng.choice(able)))
