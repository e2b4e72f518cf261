"""Gavel's `fifo_perf` (Narayanan et al., OSDI 2020): by arrival, each job on its fastest type with enough free GPUs.

The oldest job comes first. The first job that fits on no type ends the round, so later jobs never overtake it. Gavel's
`fifo` is meant to ignore rates, but runs on V100s only through a stale variable. As intended, it takes the type with
most free GPUs: `perf=false`.

Our change: a job that cannot run on any type is skipped. Gavel's program would end every round there.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


@solver("fifo", problem="rounds", paper="Gavel, FIFO")
def answer(instance: Instance, *, rng: np.random.Generator, perf: bool = True) -> Plan:
    """Run jobs by arrival, each in its fastest configuration that fits, until one fits on no type."""
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
