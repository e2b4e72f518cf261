"""Fair: the same number of workers and PSs for every job, as far as possible.

Bundles of one worker and one PS are given round after round in arrival order. The rule is work-conserving: if a job's
table ends or its next bundle does not fit, the others get the resources. The rule looks at numbers of tasks, not at
their resources, nor at the speed of the job. By default it also gives bundles that do not help (`useful`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._bundles import fill
from mlsched.heuristics.workers._room import Room
from mlsched.instances.workers import Instance, Plan


@solver("fair", problem="workers", paper="equal shares")
def answer(instance: Instance, *, rng: np.random.Generator, useful: bool = False) -> Plan:
    """Give equal numbers of workers and PSs, work-conserving (not recommended: no better than at random).

    useful: a job gets only bundles that make it faster.
    """
    room = Room(instance)
    fill(room, lambda job: float(room.workers[job] + room.ps[job]), useful=useful)
    return room.plan()
