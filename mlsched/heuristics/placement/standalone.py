"""Standalone: a job shares no server with another (Harmony Section II-B, case study 3)."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import answerer
from mlsched.heuristics.placement._room import Room, place_all
from mlsched.instances.placement import Instance, Plan


@answerer("standalone", problem="placement", warm_start=True, paper="Harmony Section II-B")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Each job on as few empty servers as it needs, or it waits."""
    return place_all(instance, own_server)


def own_server(room: Room, job: int, kind: int, able: IntArray) -> int:
    """The fullest of the servers that host this job alone, else the first empty one; -1 if there is none."""
    others = room.tasks.sum(axis=(0, 1)) - room.tasks[:, job].sum(axis=0) + room.running.sum(axis=(0, 1))
    alone = able[others[able] == 0]
    if alone.size == 0:
        return -1
    mine = room.tasks[:, job].sum(axis=0)
    return int(alone[np.argmax(mine[alone])])
