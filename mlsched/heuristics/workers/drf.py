"""DRF: a worker and a PS to the job of the lowest dominant share, again and again.

Paper: Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica, "Dominant Resource Fairness", NSDI 2011, Algorithm 1. A
user is a job, and its task a bundle of one worker and one PS, as the Optimus paper has it. DRF does not know how fast a
job is, so by default it gives bundles that do not help (`useful`).

What differs: Algorithm 1 ends when the bundle of the job with the lowest share does not fit; here that job leaves and
the others go on, so that nothing is left idle (stronger). A job leaves, too, where its table of times ends.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._bundles import fill
from mlsched.heuristics.workers._room import PS, WORKER, Room
from mlsched.instances.workers import Instance, Plan


@solver("drf", problem="workers", paper="DRF (Ghodsi et al., 2011), Algorithm 1")
def answer(instance: Instance, *, rng: np.random.Generator, useful: bool = False) -> Plan:
    """Bundles of a worker and a PS, the lowest dominant share first (not recommended: no better than at random).

    useful: a job gets no bundle that does not make it faster.
    """
    room = Room(instance)

    def dominant_share(job: int) -> float:
        used = (
            room.workers[job] * w + room.ps[job] * p
            for w, p in zip(room.demand[WORKER][job], room.demand[PS][job], strict=True)
        )
        return max((u / c for u, c in zip(used, room.capacity, strict=True) if c), default=0.0)

    fill(room, dominant_share, useful=useful)
    return room.plan()
