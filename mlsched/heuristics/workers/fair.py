"""Fair: the same number of workers and PSs for everyone, as far as that goes.

Bundles of one worker and one PS, round after round in arrival order. Work-conserving: what a job cannot use, because
its table ends or its next bundle does not fit, goes to the others. The rule looks at numbers of tasks, not at how much
of a resource they take, nor at how fast the job is: by default it gives bundles that do not help (`useful`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._bundles import fill
from mlsched.heuristics.workers._room import Room
from mlsched.instances.workers import Instance, Plan


@solver("fair", problem="workers", paper="equal shares")
def answer(instance: Instance, *, rng: np.random.Generator, useful: bool = False) -> Plan:
    """Equal numbers of workers and PSs, nothing left idle (not recommended: no better than at random).

    useful: a job gets no bundle that does not make it faster.
    """
    room = Room(instance)
    fill(room, lambda job: float(room.workers[job] + room.ps[job]), useful=useful)
    return room.plan()
