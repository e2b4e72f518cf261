"""LRTP: suspend the jobs with the longest remaining execution time (Big-C; FitGpp paper, Section 4.1).

The paper describes it in two sentences: it "preferentially preempts the job with the longest remaining execution
time", with perfect predictions, "until they can prepare enough resource for the incoming TE job". Here jobs are taken
from the complete cluster until some node has room. Victims on other nodes stay suspended, although the TE job does
not need them: the paper's share of preempted jobs (9.6 %, Table 3) is too large for a closer choice. Big-C itself
reclaims a part of a container's resources. FitGpp's authors simulate complete jobs, and so does this rule. Jobs at
the limit P are skipped. No job is suspended if suspending all would not make room.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.preemption._room import Room
from mlsched.heuristics.preemption.fitgpp import own_limit
from mlsched.instances.preemption import Instance, Plan


@solver("lrtp", problem="preemption", information="oracle", world=own_limit, paper="Big-C, in FitGpp Section 4.1")
def answer(instance: Instance, *, rng: np.random.Generator, P: int = 0) -> Plan:
    """Suspend jobs by longest true remaining time until a node has room (not recommended: no better than random)."""
    room = Room(instance, P)
    longest_first = np.argsort(-instance.job_remaining, kind="stable")
    for demand in instance.te_demand:
        node = room.first_fit(demand)
        if node < 0:
            node = room.suspend_until_fit(demand, longest_first[room.preemptible[longest_first]])
        room.place(demand, node)
    return room.plan()
