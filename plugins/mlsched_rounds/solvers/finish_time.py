"""Finish-time fairness (Themis, Mahajan et al., NSDI 2020) as Gavel states it with types (OSDI 2020, Section 4.2).

With shares X kept until the end, job j ends when it is a_j + N_j / theta_j old, theta_j = sum_m X_jm tau_jm. In
isolation with its part of every type it would have ended at F_j = (isolated time until now) + N_j / iso_j. The largest
ratio of the two is minimised:

    min max_j rho_j,    rho_j = (a_j + N_j / theta_j) / F_j.

A ratio rho is reached when theta_j >= need_j(rho) = N_j / (rho F_j - a_j) for all jobs. The fraction of the needs that
can be met, t(rho) = max t: theta_j >= t need_j(rho), is a linear program. 1 / t is convex in rho, being the largest of
sums of convex functions (the program's dual), and falls. So Newton's method on 1 / t = 1 from the left never passes the
root, and the prices of the rows are its slope. Gavel's code passes the ratio to a conic solver.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.solvers.shares import Optimum, Rates, SharesProgram, isolated

#: Newton's method ends at this relative distance from the proven value, or after this number of steps.
CLOSE, STEPS = 1e-9, 60


@dataclasses.dataclass(frozen=True)
class Progress:
    """Progress of the jobs.

    Attributes:
        remaining: Remaining steps.
        age: Seconds since arrival.
        isolated: Seconds that all past steps would have taken in isolation with a part of every type ("cumulated
            isolated time").
    """

    remaining: FloatArray
    age: FloatArray
    isolated: FloatArray


def ratios(rates: Rates, shares: FloatArray, progress: Progress) -> FloatArray:
    """Return the finish-time ratio rho_j of each job if it keeps its shares.

    It is nan for jobs that are finished or can never run, and inf for unfinished jobs without a share.
    """
    jobs = _unfinished_jobs(rates, progress)
    result = np.full(len(rates.gpus), np.nan)
    with np.errstate(divide="ignore"):
        result[jobs] = progress.age[jobs] + progress.remaining[jobs] / rates.advanced(shares)[jobs]
    result[jobs] /= _isolated_duration(rates, progress)[jobs]
    return result


def finish_time_fairness(rates: Rates, progress: Progress, *, optimum: Optimum = "vertex") -> FloatArray:
    """Return the shares under which the largest ratio is smallest."""
    jobs = _unfinished_jobs(rates, progress)
    if not jobs.size:
        return np.zeros(rates.rate.shape)
    fair, age, rest = _isolated_duration(rates, progress)[jobs], progress.age[jobs], progress.remaining[jobs]
    # Every ratio is at least that of a job that runs on its fastest type all the time.
    rho = float(((age + rest / rates.fastest[jobs]) / fair).max())
    best, reach = np.zeros(rates.rate.shape), np.inf
    for _ in range(STEPS):
        need = rest / (rho * fair - age)
        shares, matches, slope = _meet_needs(rates, jobs, need, -need * fair / (rho * fair - age))
        worst = float(np.nanmax(ratios(rates, shares, progress)))
        if worst < reach:
            best, reach = shares, worst
        if reach <= rho * (1 + CLOSE) or matches >= 1 - CLOSE:
            break
        # (1 / t)' = -t' / t^2
        rho += (1 / matches - 1) * matches**2 / slope
    return best if optimum == "vertex" else _interior_point(rates, jobs, rest / (reach * fair - age), best)


def _unfinished_jobs(rates: Rates, progress: Progress) -> IntArray:
    return np.intersect1d(np.flatnonzero(progress.remaining > 0), rates.able)


def _isolated_duration(rates: Rates, progress: Progress) -> FloatArray:
    """Return F_j: seconds from arrival to the end, in isolation with a part of every type."""
    alone = np.maximum(rates.advanced(isolated(rates)), 1e-300)
    fair: FloatArray = progress.isolated + progress.remaining / alone
    return fair


def _meet_needs(rates: Rates, jobs: IntArray, need: FloatArray, change: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the shares that meet most of the needs, the fraction t that they meet, and dt / drho.

    The derivative is along this change of the needs.
    """
    program = SharesProgram(rates)
    per_step = 1 / rates.fastest[jobs]
    level = program.add_columns([1.0])
    rows = program.advance(jobs, per_step)
    program.put(rows, level, -need * per_step)
    solution = program.solve(maximise=True)
    if solution is None:
        raise BackendError("highs calls existing shares infeasible")
    t = float(solution.x[level[0]])
    return program.shares(solution.x), t, float((solution.prices[rows] * change * per_step).sum() * t)


def _interior_point(rates: Rates, jobs: IntArray, need: FloatArray, best: FloatArray) -> FloatArray:
    """Return a point in the middle of the shares that meet the needs."""
    program = SharesProgram(rates)
    per_step = 1 / rates.fastest[jobs]
    program.advance(jobs, per_step, need * per_step * (1 - CLOSE))
    solution = program.solve(optimum="interior")
    return best if solution is None else program.shares(solution.x)
