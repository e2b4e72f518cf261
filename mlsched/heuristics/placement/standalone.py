"""Standalone: each job has servers of its own (Harmony Section II-B).

Harmony: "each job is run on a dedicated server" (case study 1), for jobs of one worker and one PS each. It is a
scheme of the case studies, not a baseline of Section VI. A job that does not fit one server is placed task by task. A
task goes to the server with most of the job's tasks that still has room, else to the first empty server. Without an
empty server, the job waits. So a job uses few servers, though not always the fewest.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import Room, place_all
from mlsched.instances.placement import Instance, Plan


@solver("standalone", problem="placement", warm_start=True, paper="Harmony Section II-B")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place each job on empty servers of its own, filled one after another, or let it wait."""
    return place_all(instance, own_server)


def own_server(room: Room, job: int, kind: int, able: IntArray) -> int:
    """Return the server that hosts only this job with most of its tasks, else the first empty server, else -1."""
    others = room.tasks.sum(axis=(0, 1)) - room.tasks[:, job].sum(axis=0) + room.running.sum(axis=(0, 1))
    alone = able[others[able] == 0]
    if alone.size == 0:
        return -1
    mine = room.tasks[:, job].sum(axis=0)
    return int(alone[np.argmax(mine[alone])])
