"""Gavel's largest total throughput (its `max_sum_throughput_perf`): max sum_jm tau_jm X_jm.

Steps of unlike jobs are added up, as in Gavel; jobs of fast steps get all the time that they can use.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray
from mlsched_rounds.solvers.shares import Optimum, Rates, SharesProgram


def max_sum(rates: Rates, *, optimum: Optimum = "vertex") -> FloatArray:
    """Return the shares of the most steps per second, of all jobs together."""
    largest = rates.rate.max(initial=0.0)
    if largest == 0:
        return np.zeros(rates.rate.shape)
    program = SharesProgram(rates, (rates.rate / largest).ravel())
    solution = program.solve(maximise=True, optimum=optimum)
    if solution is None:
        raise BackendError("highs calls existing shares infeasible")
    return program.shares(solution.x)
