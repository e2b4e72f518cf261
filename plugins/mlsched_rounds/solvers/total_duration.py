"""Gavel's least total duration (Narayanan et al., OSDI 2020, Section 4.2, "minimize makespan").

With shares X kept until the end, job j ends after N_j / sum_m X_jm tau_jm seconds. The last end T is smallest where the
rates, in units of the jobs' remaining steps, are largest: 1 / T = max min_j (1 / N_j) sum_m X_jm tau_jm, a single
linear program. Gavel's code bisects T instead, between 100 s and 10^6 s until the two ends are 5 % apart, and takes
any shares that are feasible for the last T that was: `bisect` says which T that is.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched_rounds.solvers.shares import Floats, Optimum, Rates, SharesProgram

#: Where Gavel's bisection begins, seconds, and when it ends.
SHORTEST, LONGEST, APART = 100.0, 1e6, 1.05


def duration(rates: Rates, shares: Floats, remaining: Floats) -> float:
    """The last end, seconds from now, of the jobs with remaining steps; inf where one of them gets no time."""
    jobs = np.flatnonzero(remaining > 0)
    with np.errstate(divide="ignore"):
        return float((remaining[jobs] / rates.advanced(shares)[jobs]).max(initial=0.0))


def min_total_duration(rates: Rates, remaining: Floats, *, optimum: Optimum = "vertex") -> Floats:
    """Shares under which the last of the remaining steps are done soonest. Jobs that cannot run are left out."""
    return _shares(rates, remaining, optimum=optimum)


def bisected_total_duration(rates: Rates, remaining: Floats, *, optimum: Optimum = "interior") -> Floats:
    """Any shares that end all jobs within the T at which Gavel's bisection stops."""
    able = np.where(rates.fastest > 0, remaining, 0.0)
    least = duration(rates, min_total_duration(rates, remaining), able)
    return _shares(rates, remaining, within=bisect(least), optimum=optimum) if least < np.inf else 0.0 * rates.rate


def bisect(least: float) -> float:
    """The last feasible T of Gavel's bisection where T is feasible from `least` on; the upper end grows until one is.

    seconds, both
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


def _shares(rates: Rates, remaining: Floats, *, optimum: Optimum, within: float | None = None) -> Floats:
    """Shares of the least total duration, or any that end all jobs `within` so many seconds."""
    jobs = np.intersect1d(np.flatnonzero(remaining > 0), rates.able)
    if not jobs.size:
        return np.zeros(rates.rate.shape)
    alone = remaining[jobs] / rates.fastest[jobs]
    program = SharesProgram(rates)
    # The level is the longest job's duration alone, on its fastest type, as a share of T.
    if within is None:
        level = program.add_columns([1.0])
    else:
        level = program.add_columns([0.0], alone.max() / within * (1 - 1e-9))
    program.put(program.advance(jobs, 1 / rates.fastest[jobs]), level, -alone / alone.max())
    solved = program.solve(maximise=True, optimum=optimum)
    if solved is None:
        raise BackendError("highs calls existing shares infeasible")
    return program.shares(solved.x)
