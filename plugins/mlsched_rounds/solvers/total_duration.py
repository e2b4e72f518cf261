"""Gavel's least total duration (Narayanan et al., OSDI 2020, Section 4.2, "minimize makespan").

With shares X kept until the end, job j ends after N_j / sum_m X_jm tau_jm seconds. The last end T is smallest if the
rates, in units of the jobs' remaining steps, are largest: 1 / T = max min_j (1 / N_j) sum_m X_jm tau_jm, a single
linear program. Gavel's code bisects T instead, between 100 s and 10^6 s until the two ends are 5 % apart, and takes any
shares that are feasible for the last feasible T: `bisect` returns that T.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray
from mlsched_rounds.solvers.shares import Optimum, Rates, SharesProgram

#: Start of Gavel's bisection, seconds, and its final gap.
SHORTEST, LONGEST, APART = 100.0, 1e6, 1.05


def duration(rates: Rates, shares: FloatArray, remaining: FloatArray) -> float:
    """Return the last end, seconds from now, of the jobs with remaining steps; inf if one of them gets no time."""
    jobs = np.flatnonzero(remaining > 0)
    with np.errstate(divide="ignore"):
        return float((remaining[jobs] / rates.advanced(shares)[jobs]).max(initial=0.0))


def min_total_duration(rates: Rates, remaining: FloatArray, *, optimum: Optimum = "vertex") -> FloatArray:
    """Return the shares that complete the remaining steps soonest. Jobs that cannot run are left out."""
    return _shares_of_duration(rates, remaining, optimum=optimum)


def bisected_total_duration(rates: Rates, remaining: FloatArray, *, optimum: Optimum = "interior") -> FloatArray:
    """Return shares that end all jobs within the T at which Gavel's bisection stops."""
    able = np.where(rates.fastest > 0, remaining, 0.0)
    least = duration(rates, min_total_duration(rates, remaining), able)
    return (
        _shares_of_duration(rates, remaining, within=bisect(least), optimum=optimum)
        if least < np.inf
        else 0.0 * rates.rate
    )


def bisect(least: float) -> float:
    """Return the last feasible T of Gavel's bisection, given that T is feasible from `least` on.

    The upper end grows until it is feasible.

    Both are in seconds.
    """
    low, high, longest, feasible = SHORTEST, LONGEST, LONGEST, None
    while feasible is None or APART * low < high:
        middle = (low + high) / 2
        if middle >= least:
            feasible = high = middle
        else:
            low = middle
        if feasible is None and APART * low >= high:
            longest *= 10
            high = longest
    return feasible


def _shares_of_duration(
    rates: Rates, remaining: FloatArray, *, optimum: Optimum, within: float | None = None
) -> FloatArray:
    """Return shares of the least total duration, or any that end all jobs `within` this number of seconds."""
    jobs = np.intersect1d(np.flatnonzero(remaining > 0), rates.able)
    if not jobs.size:
        return np.zeros(rates.rate.shape)
    alone = remaining[jobs] / rates.fastest[jobs]
    program = SharesProgram(rates)
    # The level is the longest job's duration on its fastest type, as a share of T.
    if within is None:
        level = program.add_columns([1.0])
    else:
        level = program.add_columns([0.0], alone.max() / within * (1 - 1e-9))
    program.put(program.advance(jobs, 1 / rates.fastest[jobs]), level, -alone / alone.max())
    solution = program.solve(maximise=True, optimum=optimum)
    if solution is None:
        raise BackendError("highs calls existing shares infeasible")
    return program.shares(solution.x)
