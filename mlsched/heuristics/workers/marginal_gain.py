"""Plain marginal gain: repeatedly add the worker or PS that saves most time, for any amount of resources.

This is Optimus' greedy without its division by the dominant resource. Tasks that do not fit are skipped.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._climb import climb
from mlsched.heuristics.workers._room import Room
from mlsched.instances.workers import Instance, Plan


@solver("marginal-gain", problem="workers", objectives=("total_jct",), paper="none; Optimus without normalisation")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Give one task at a time to the job that saves most, until no fitting task saves time."""
    room = Room(instance)
    room.start()
    climb(room, lambda kind, job: 1.0, stop="full", at_zero=False)
    return room.plan()
