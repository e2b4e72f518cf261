"""Standalone: a job shares no server with another (Harmony Section II-B).

Harmony: "each job is run on a dedicated server" (case study 1), jobs of one worker and one PS each. It is a scheme of
the case studies, not one of the baselines of Section VI. A job that does not fit one server takes, task by task, the
one that holds most of it where the task still fits, else the first empty one, and waits when there is none: few
servers, though not always the fewest possible.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import Room, place_all
from mlsched.instances.placement import Instance, Plan


@solver("standalone", problem="placement", warm_start=True, paper="Harmony Section II-B")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Each job on empty servers of its own, one after another as they fill, or it waits."""
    return place_all(instance, own_server)


def own_server(room: Room, job: int, kind: int, able: IntArray) -> int:
    """Of the servers that host this job alone the one with most of its tasks, else the first empty one, else -1."""
    others = room.tasks.sum(axis=(0, 1)) - room.tasks[:, job].sum(axis=0) + room.running.sum(axis=(0, 1))
    alone = able[others[able] == 0]
    if alone.size == 0:
        return -1
    mine = room.tasks[:, job].sum(axis=0)
    return int(alone[np.argmax(mine[alone])])
