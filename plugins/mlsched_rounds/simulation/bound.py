"""Lower bounds on every run of a workload of rounds, for any scheduler (`solvers/rounds/fluid`)."""

from __future__ import annotations

import functools

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched_rounds.simulation.workload import MICRO, Workload
from mlsched_rounds.solvers.fluid import grid, makespan_bound, total_jct_bound
from mlsched_rounds.solvers.shares import Rates

#: Number of intervals in the linear program of completion times: more intervals prove more.
INTERVALS = 120


def bound(workload: Workload, pausing: bool = True) -> dict[str, float]:
    """Return lower bounds on mean completion time and makespan, s.

    Jobs may pause and move at any time without cost, rounds may be arbitrarily short, and the future is known. If the
    workload has rates of pairs, a job may always share its GPUs with its best possible partner, for half of the GPUs'
    time. The bounds do not apply to runs with dropped jobs.
    """
    return {"mean_completion_s": mean_completion(workload), "makespan_s": makespan(workload)}


def _rates_and_work(workload: Workload) -> tuple[Rates, FloatArray]:
    """Return the rates, and the work of each job: its steps, or 1 if it changes its batch sizes."""
    rates, amount = workload.rates, workload.steps.astype(float)
    if workload.adaptation is not None:
        rates, amount = 1 / workload.adaptation.seconds(workload.steps), np.ones(len(amount))
    paired = None if workload.packing is None else np.where(workload.fits, workload.packing.best, 0.0)
    return Rates(np.where(workload.fits, rates, 0.0), workload.gpus, workload.capacity, paired), amount


@functools.lru_cache(maxsize=8)
def makespan(workload: Workload) -> float:
    """Return a lower bound on the end of every run, s since the clock began."""
    release = workload.submit / MICRO
    if not len(release):
        return 0.0
    return float(release.min()) + makespan_bound(*_rates_and_work(workload), release)


@functools.lru_cache(maxsize=8)
def mean_completion(workload: Workload, intervals: int = INTERVALS) -> float:
    """Return a lower bound on the mean time from arrival to end, s."""
    release = workload.submit / MICRO
    if not len(release):
        return 0.0
    last = max(makespan(workload), float(release.max()) + 1.0)
    borders = grid(float(release.min()), last, intervals)
    total = total_jct_bound(*_rates_and_work(workload), release, borders)
    return total / len(release)
