"""What no run of a workload of rounds can be below, whoever schedules it (`solvers/rounds/fluid`)."""

from __future__ import annotations

import functools

import numpy as np

from mlsched_rounds.simulation.workload import MICRO, Workload
from mlsched_rounds.solvers.fluid import grid, makespan_bound, total_jct_bound
from mlsched_rounds.solvers.shares import Floats, Rates

#: Intervals of time in the linear program of completion times: more prove more.
INTERVALS = 120


def bound(workload: Workload, pausing: bool = True) -> dict[str, float]:
    """Mean completion time and makespan, s. Jobs may pause and move at any time for nothing, rounds are as short as
    one likes, and the future is known. If the workload has rates of pairs, a job may always share its GPUs with the
    best partner that it could have, for half of the GPUs' time. A run in which jobs are dropped is not held to it."""
    return {"mean_completion_s": mean_completion(workload), "makespan_s": makespan(workload)}


def _asked(workload: Workload) -> tuple[Rates, Floats]:
    """Rates, and how much of each job there is: steps, or (jobs that change their batch sizes) the job itself."""
    rates, amount = workload.rates, workload.steps.astype(float)
    if workload.adaptation is not None:
        rates, amount = 1 / workload.adaptation.seconds(workload.steps), np.ones(len(amount))
    paired = None if workload.packing is None else np.where(workload.fits, workload.packing.best, 0.0)
    return Rates(np.where(workload.fits, rates, 0.0), workload.gpus, workload.capacity, paired), amount


@functools.lru_cache(maxsize=8)
def makespan(workload: Workload) -> float:
    """No run ends earlier, s since the clock began."""
    release = workload.submit / MICRO
    if not len(release):
        return 0.0
    return float(release.min()) + makespan_bound(*_asked(workload), release)


@functools.lru_cache(maxsize=8)
def mean_completion(workload: Workload, intervals: int = INTERVALS) -> float:
    """No run's mean time from arrival to end is smaller, s."""
    release = workload.submit / MICRO
    if not len(release):
        return 0.0
    last = max(makespan(workload), float(release.max()) + 1.0)
    borders = grid(float(release.min()), last, intervals)
    total = total_jct_bound(*_asked(workload), release, borders)
    return total / len(release)
