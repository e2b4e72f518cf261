"""FIFO without preemption (FitGpp paper, Section 4.1). On the clock, TE jobs then have equal priority.

The paper's "(non-preemptive) vanilla FIFO" is one strict queue for both kinds of job. That is a weak baseline for TE
jobs. With `te_first=true` the same rule serves them first, still without preemption. This step brings nearly all of
the cut that the paper credits to preemption (docs/problems/preemption.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import UNLIMITED
from mlsched.core.registry import solver
from mlsched.heuristics.preemption._room import Room
from mlsched.instances.preemption import Instance, Plan


def vanilla_queue(params: Mapping[str, Any]) -> Data:
    """Return the options of the paper's FIFO: one queue for both kinds of job."""
    return {"te_first": False}


@solver("fifo", problem="preemption", world=vanilla_queue, paper="FitGpp Section 4.1")
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Place each TE job on the first node with room, or let it wait."""
    room = Room(instance, UNLIMITED)
    for demand in instance.te_demand:
        room.place(demand, room.first_fit(demand))
    return room.plan()
