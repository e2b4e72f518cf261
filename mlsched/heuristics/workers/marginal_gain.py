"""Plain marginal gain: one worker or PS more, each time where it saves most time, whatever it takes.

Optimus' greedy without its division by the dominant resource; what does not fit is passed over.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._climb import climb
from mlsched.heuristics.workers._room import Room
from mlsched.instances.workers import Instance, Plan


@solver("marginal-gain", problem="workers", objectives=("total_jct",), paper="none; Optimus without normalisation")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """One task at a time where it saves most, until nothing that fits saves anything."""
    room = Room(instance)
    room.start()
    climb(room, lambda kind, job: 1.0, stop="full", at_zero=False)
    return room.plan()
