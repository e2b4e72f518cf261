"""Finish-time fairness (Themis, Mahajan et al., NSDI 2020) as Gavel states it with types (OSDI 2020, Section 4.2).

With shares X kept until the end, job j ends when it is a_j + N_j / theta_j old, theta_j = sum_m X_jm tau_jm; alone with
its part of every type it would have ended at F_j = (isolated time until now) + N_j / iso_j. The largest ratio of the
two is made smallest:

    min max_j rho_j,    rho_j = (a_j + N_j / theta_j) / F_j.

A ratio rho is reached when theta_j >= need_j(rho) = N_j / (rho F_j - a_j) for all jobs, and how much of the needs can
be met, t(rho) = max t: theta_j >= t need_j(rho), is a linear program. 1 / t is convex in rho, being the largest of sums
of convex functions (the program's dual), and falls; so Newton's method on 1 / t = 1 from the left never passes the
root, and the prices of the rows are its slope. Gavel's code hands the ratio to a conic solver.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import IntArray
from mlsched_rounds.solvers.shares import Floats, Optimum, Rates, SharesProgram, isolated

#: Newton's method ends when what is reached is within this share of what is proven, or after so many steps.
CLOSE, STEPS = 1e-9, 60


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far jobs are. remaining: steps; age: seconds since arrival; isolated: seconds that all steps until now would
    have taken alone with a part of every type ("cumulated isolated time")."""

    remaining: Floats
    age: Floats
    isolated: Floats


def ratios(rates: Rates, shares: Floats, progress: Progress) -> Floats:
    """rho_j of each job with remaining steps and somewhere to run, nan for the others; inf for one without time."""
    jobs = _concerned(rates, progress)
    found = np.full(len(rates.gpus), np.nan)
    with np.errstate(divide="ignore"):
        found[jobs] = progress.age[jobs] + progress.remaining[jobs] / rates.advanced(shares)[jobs]
    found[jobs] /= _fair(rates, progress)[jobs]
    return found


def finish_time_fairness(rates: Rates, progress: Progress, *, optimum: Optimum = "vertex") -> Floats:
    """Shares under which the largest ratio is smallest."""
    jobs = _concerned(rates, progress)
    if not jobs.size:
        return np.zeros(rates.rate.shape)
    fair, age, left = _fair(rates, progress)[jobs], progress.age[jobs], progress.remaining[jobs]
    # No ratio is below that of a job that runs on its fastest type all the time.
    rho = float(((age + left / rates.fastest[jobs]) / fair).max())
    best, reached = np.zeros(rates.rate.shape), np.inf
    for _ in range(STEPS):
        need = left / (rho * fair - age)
        shares, met, slope = _met(rates, jobs, need, -need * fair / (rho * fair - age))
        worst = float(np.nanmax(ratios(rates, shares, progress)))
        if worst < reached:
            best, reached = shares, worst
        if reached <= rho * (1 + CLOSE) or met >= 1 - CLOSE:
            break
        # (1 / t)' = -t' / t^2
        rho += (1 / met - 1) * met**2 / slope
    return best if optimum == "vertex" else _inside(rates, jobs, left / (reached * fair - age), best)


def _concerned(rates: Rates, progress: Progress) -> IntArray:
    return np.intersect1d(np.flatnonzero(progress.remaining > 0), rates.able)


def _fair(rates: Rates, progress: Progress) -> Floats:
    """F_j: seconds from arrival to the end, alone with a part of every type."""
    alone = np.maximum(rates.advanced(isolated(rates)), 1e-300)
    fair: Floats = progress.isolated + progress.remaining / alone
    return fair


def _met(rates: Rates, jobs: IntArray, need: Floats, change: Floats) -> tuple[Floats, float, float]:
    """Shares that meet most of the needs, the part t that they meet, and dt / drho where needs change so fast."""
    program = SharesProgram(rates)
    per_step = 1 / rates.fastest[jobs]
    level = program.add_columns([1.0])
    rows = program.advance(jobs, per_step)
    program.put(rows, level, -need * per_step)
    solved = program.solve(maximise=True)
    if solved is None:
        raise BackendError("highs calls existing shares infeasible")
    t = float(solved.x[level[0]])
    return program.shares(solved.x), t, float((solved.prices[rows] * change * per_step).sum() * t)


def _inside(rates: Rates, jobs: IntArray, need: Floats, best: Floats) -> Floats:
    """A point in the middle of the shares that meet the needs."""
    program = SharesProgram(rates)
    per_step = 1 / rates.fastest[jobs]
    program.advance(jobs, per_step, need * per_step * (1 - CLOSE))
    solved = program.solve(optimum="interior")
    return best if solved is None else program.shares(solved.x)
