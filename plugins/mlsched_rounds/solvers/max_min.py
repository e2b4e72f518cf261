"""Gavel's max-min fairness (Narayanan et al., OSDI 2020, Section 4.1), and water filling after it (Section 4.4).

The service of the worst-served job is maximised, relative to time in proportion to the types' GPUs:

    max min_j  s_j / (w_j prop_j)  sum_m X_jm tau_jm,      prop_j = sum_m tau_jm c_m / sum_m c_m.

Water filling then raises the second worst without lowering the worst, and so on: the vector of served units, sorted, is
lexicographically largest. The prices of a linear program show the jobs that cannot rise any more. (Gavel's code solves
an integer program.)
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray
from mlsched_rounds.solvers._linear import Infeasible
from mlsched_rounds.solvers.shares import Optimum, Rates, SharesProgram, proportional

#: Prices of the rising rows add up to 1. Below the first one is rounding; if all are, the largest counts.
PRICED = 1e-7
#: Share by which a job may stay below its final level, so that rounding keeps the program feasible.
ROUNDING = 1e-8


def served(rates: Rates, shares: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return the service of each job in the units of max-min fairness; inf for a job that cannot run on any type."""
    able = rates.able
    units = np.full(len(rates.gpus), np.inf)
    units[able] = rates.advanced(shares)[able] * _service_per_step(rates, weight)[able]
    return units


def max_min(rates: Rates, *, weight: FloatArray | None = None, optimum: Optimum = "vertex") -> FloatArray:
    """Return the shares under which the worst-served job is served best.

    Args:
        rates: Rates, GPUs and capacities.
        weight: w_j, default 1; a job of weight 2 should get twice the service.
        optimum: Choice among many optima.
    """
    able = rates.able
    if not able.size:
        return np.zeros(rates.rate.shape)
    program = SharesProgram(rates)
    level = program.add_columns([1.0], -np.inf)
    program.put(program.advance(able, _service_per_step(rates, weight)[able]), level, -1.0)
    return _solve_level(program, optimum=optimum)[0]


def water_filling(rates: Rates, *, weight: FloatArray | None = None) -> FloatArray:
    """Return the shares whose served units, sorted, are lexicographically largest.

    The level of all jobs rises until some can rise no more: those whose rows have a price, since every optimum is tight
    in such a row. Their level is kept, and the others rise further, from the last basis. Jobs that have all of their
    time on their fastest type stop there by themselves; bisection finds how many of them do so before any other job.
    """
    if not rates.able.size:
        return np.zeros(rates.rate.shape)
    filling = _Filling(rates, _service_per_step(rates, weight))
    while filling.rising.any():
        filling.stop_at_tops()
        filling.stop_at_prices()
    return filling.program.shares(filling.solve().x)


class _Filling:
    """The program of water filling, its rising jobs, and the highest service of each."""

    def __init__(self, rates: Rates, per_step: FloatArray) -> None:
        able = rates.able
        self.program = SharesProgram(rates)
        self.level = int(self.program.add_columns([1.0], 0.0, float((per_step * rates.fastest).max()))[0])
        self.rows = self.program.advance(able, per_step[able])
        self.program.put(self.rows, self.level, -1.0)
        self.solver = self.program.started(maximise=True)
        self.solve = self.solver.solve
        self.rising = np.ones(len(able), dtype=bool)
        self.top = (_highest_rates(rates) * per_step)[able]

    def stop_at_tops(self) -> None:
        """Stop jobs at their tops, up to the largest top that all rising jobs can reach together."""
        tops = np.unique(self.top[self.rising])
        good, bad = -1, len(tops)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._can_all_reach(float(tops[middle])):
                good = middle
            else:
                bad = middle
        self._set_limits(float(tops[good]) if good >= 0 else -1.0)
        if good >= 0:
            self.rising &= self.top > tops[good]

    def stop_at_prices(self) -> None:
        """Raise the level of the rising jobs, and stop those whose rows have a price."""
        if not self.rising.any():
            return
        solution = self.solve()
        price = np.where(self.rising, np.abs(solution.prices[self.rows]), -1.0)
        stuck = self.rising & (price >= min(PRICED, float(price.max())))
        for row in self.rows[stuck].tolist():
            self._stop_jobs(row, float(solution.x[self.level]))
        self.rising &= ~stuck

    def _can_all_reach(self, limit: float) -> bool:
        """Return whether all rising jobs can reach this service, or their tops if these are lower."""
        self._set_limits(limit)
        try:
            return bool(self.solve().x[self.level] >= limit * (1 - 2 * ROUNDING))
        except Infeasible:
            return False

    def _set_limits(self, limit: float) -> None:
        """Stop rising jobs with a top of at most `limit` at their tops; let the others rise with the level."""
        for row, top in zip(self.rows[self.rising].tolist(), self.top[self.rising].tolist(), strict=True):
            if top <= limit:
                self._stop_jobs(row, top)
            else:
                self.solver.change_entry(row, self.level, -1.0)
                self.solver.change_low(row, 0.0)

    def _stop_jobs(self, row: int, level: float) -> None:
        self.solver.change_entry(row, self.level, 0.0)
        self.solver.change_low(row, level * (1 - ROUNDING))


def _highest_rates(rates: Rates) -> FloatArray:
    """Return the steps per second of each job with the complete cluster for itself."""
    fastest = np.argsort(-rates.rate, axis=1, kind="stable")
    room = np.take_along_axis(rates.capacity / rates.gpus[:, None], fastest, axis=1)
    most = np.minimum(np.cumsum(room, axis=1), 1.0)
    shares = np.diff(most, axis=1, prepend=0.0)
    return np.asarray((shares * np.take_along_axis(rates.rate, fastest, axis=1)).sum(axis=1))


def _service_per_step(rates: Rates, weight: FloatArray | None) -> FloatArray:
    """Return the units of service of a step per second; 0 for a job that cannot run."""
    usual = (proportional(rates) * rates.rate).sum(axis=1)
    # A job that runs only on types without GPUs has a service of 0, whatever the unit.
    usual = np.where(usual > 0, usual, np.maximum(rates.fastest, 1e-300))
    importance = np.ones(len(rates.gpus)) if weight is None else weight
    return np.where(rates.fastest > 0, rates.gpus / (importance * usual), 0.0)


def _solve_level(program: SharesProgram, *, optimum: Optimum = "vertex") -> tuple[FloatArray, FloatArray]:
    solution = program.solve(maximise=True, optimum=optimum)
    if solution is None:
        raise BackendError("highs calls existing shares infeasible")
    return program.shares(solution.x), solution.x
