"""Uniform-random: every task on a server drawn from those with room, what a trained policy must beat.

It stands in no paper's table; Harmony's history of placements is made so (Section VI-A: "place them randomly").
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import place_all
from mlsched.instances.placement import Instance, Plan


@solver("uniform-random", problem="placement", paper="Harmony Section VI-A, the history")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Each task to a random server with room; jobs in the order of the instance."""
    return place_all(instance, lambda room, job, kind, able: int(rng.choice(able)))
