"""Gavel's `fifo_perf` (Narayanan et al., OSDI 2020): by arrival, each job on its fastest type that has room.

The oldest job comes first; the first that fits nowhere ends the round, so that nobody overtakes it. Gavel's `fifo`,
which is to know no rates, runs on V100s only through a stale variable; as it is meant, it takes whatever has most GPUs
free: `perf=false`.

What is ours: a job that can run on no type at all is passed over; Gavel's would end every round.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


@solver("fifo", problem="rounds", paper="Gavel, FIFO")
def answer(instance: Instance, *, rng: np.random.Generator, perf: bool = True) -> Plan:
    """By arrival, each job in its fastest configuration that fits, until one fits nowhere."""
    room = Room(instance)
    for j in np.lexsort((np.arange(len(instance.age)), -instance.age)).tolist():
        if not instance.rate[j].any():
            continue
        fitting = room.fitting(j)
        if not fitting.size:
            break
        if perf:
            room.take_fastest(j)
        else:
            free = room.free[instance.config_type[fitting]] - instance.config_gpus[fitting]
            room.take(j, int(fitting[np.argmax(free)]))
    return room.plan()
