"""RAND: suspend random jobs (FitGpp paper, Section 4.1).

"RAND is a strategy that preempts a randomly selected running BE job", continued "until they can prepare enough
resource for the incoming TE job". As for LRTP, jobs are taken from the complete cluster until some node has room, and
victims on other nodes stay suspended. Jobs at the limit P are skipped. No job is suspended if suspending all would
not make room.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.preemption._room import Room
from mlsched.heuristics.preemption.fitgpp import own_limit
from mlsched.instances.preemption import Instance, Plan


@solver("rand", problem="preemption", world=own_limit, paper="FitGpp Section 4.1")
def answer(instance: Instance, *, rng: np.random.Generator, P: int = 0) -> Plan:
    """Suspend random jobs, cluster-wide, until some node has room (not recommended: no better than any victims)."""
    room = Room(instance, P)
    for demand in instance.te_demand:
        node = room.first_fit(demand)
        if node < 0:
            node = room.suspend_until_fit(demand, rng.permutation(np.flatnonzero(room.preemptible)))
        room.place(demand, node)
    return room.plan()
