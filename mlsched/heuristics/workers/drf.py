"""DRF: give a worker and a PS to the job of the lowest dominant share, repeatedly.

Paper: Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica, "Dominant Resource Fairness", NSDI 2011, Algorithm 1. A
user is a job, and its task a bundle of one worker and one PS, as the Optimus paper has it. DRF does not know the
speed of a job, so by default it also gives bundles that do not help (`useful`).

Difference: Algorithm 1 ends when the bundle of the job with the lowest share does not fit. Here that job leaves and
the others continue, so that resources do not stay idle (stronger). A job also leaves at the end of its table of
times.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.workers._bundles import fill
from mlsched.heuristics.workers._room import PS, WORKER, Room
from mlsched.instances.workers import Instance, Plan


@solver("drf", problem="workers", paper="DRF (Ghodsi et al., 2011), Algorithm 1")
def answer(instance: Instance, *, rng: np.random.Generator, useful: bool = False) -> Plan:
    """Give bundles of a worker and a PS, the lowest dominant share first (not recommended: no better than at random).

    useful: a job gets only bundles that make it faster.
    """
    room = Room(instance)

    def dominant_share(job: int) -> float:
        use = (
            room.workers[job] * w + room.ps[job] * p
            for w, p in zip(room.demand[WORKER][job], room.demand[PS][job], strict=True)
        )
        return max((u / c for u, c in zip(use, room.capacity, strict=True) if c), default=0.0)

    fill(room, dominant_share, useful=useful)
    return room.plan()
