"""Load balancing: place every task on the least loaded server (Mesos, Kubernetes; Harmony Section VI-B).

Harmony: "it assigns a worker/PS to the server with the least load. We normalize the usage of resources (e.g., CPU,
GPU) and sum them as the load of a server." Usage is the demand of running and placed tasks, in shares of the server's
capacity, over all resources of the instance (including memory). The paper does not define ties (here the first
server) nor the order of jobs and tasks (see `_room`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import Room, place_all
from mlsched.instances.placement import Instance, Plan


@solver("load-balancing", problem="placement", warm_start=True, paper="Harmony Section VI-B")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place each task on the server with the least load (not recommended: worse than at random).

    The load is the sum of its used shares of the resources.
    """
    return place_all(instance, least_loaded)


def least_loaded(room: Room, job: int, kind: int, able: IntArray) -> int:
    """Return the least loaded of the servers that fit; ties go to the lowest index."""
    return int(able[np.argmin(room.load()[able])])
