"""Lower bounds of preemption runs, valid for every schedule of a workload.

The bounds allow schedules to know the future, and to stop and move jobs at any time without cost. For each resource,
all nodes together are one machine as fast as the cluster, which works on one job at a time
(`simulation/bound/machine`). The sum of completion times is at least the machine's minimum, attained by the least
remaining work first (SRPT). It is also at least the machine's least sum of mean busy times plus half of the execution
times. Grace periods, lost work and reservations only delay jobs.
"""

from __future__ import annotations

import numpy as np

from mlsched.simulation.bound.machine import least_remaining_work, most_weight
from mlsched.simulation.preemption.workload import Workload


def bound(workload: Workload, pausing: bool = True) -> dict[str, float]:
    """Return the least mean completion time and makespan of a run, seconds.

    Args:
        workload: the jobs and their cluster.
        pausing: ignored, since best-effort jobs may always be suspended.
    """
    w = workload
    if not len(w.submit):
        return {"mean_completion_s": 0.0, "makespan_s": 0.0}
    total, end = float(w.execution.sum()), float((w.submit + w.execution).max())
    for demand, capacity in zip(w.demand.T, w.node_capacity.sum(axis=0).tolist(), strict=True):
        if not demand.any():
            continue
        divisor = int(np.gcd.reduce(np.append(demand, capacity)))
        work, speed = demand // divisor * w.execution, capacity // divisor
        completion = least_remaining_work(w.submit, work, speed)
        busy = most_weight(w.submit, work, np.ones(len(work)), speed)
        total = max(total, float((completion - w.submit).sum()), float((busy - w.submit + w.execution / 2).sum()))
        end = max(end, float(completion.max()))
    return {"mean_completion_s": total / len(w.submit), "makespan_s": end}
