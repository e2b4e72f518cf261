"""Bin packing: place every task on the server with the least free capacity (Borg; Harmony Section IV-B2).

Harmony: "The bin packing policy places a worker or a PS ... on a machine with least capacity left (where the worker
or PS can still be accommodated)". Free capacity is measured as load balancing measures load: in shares of the server,
summed over the resources. The paper does not define it, nor ties (here the first server), nor the order of jobs and
tasks (see `_room`). Borg's own scores (spread of a job's tasks, preemption, stranded resources) are left out.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import Room, place_all
from mlsched.instances.placement import Instance, Plan


@solver("bin-packing", problem="placement", warm_start=True, paper="Harmony Section IV-B2")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place each task on the fullest server with room for it."""
    return place_all(instance, fullest)


def fullest(room: Room, job: int, kind: int, able: IntArray) -> int:
    """Return the server with the least free share, summed over the resources; ties go to the lowest index."""
    free = (room.free / room.capacity).sum(axis=1)
    return int(able[np.argmin(free[able])])
