"""Gavel's max-min fairness (Narayanan et al., OSDI 2020, Section 4.1), and water filling after it (Section 4.4).

The job that is served worst is served as well as possible, in units of what it would have with time in proportion to
the types' GPUs:

    max min_j  s_j / (w_j prop_j)  sum_m X_jm tau_jm,      prop_j = sum_m tau_jm c_m / sum_m c_m.

Water filling then raises the second worst without lowering the worst, and so on: the vector of served units, sorted, is
lexicographically largest. Who cannot be raised any more is read off the prices of a linear program. (Gavel's code asks
an integer program.)
"""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import BackendError
from mlsched_rounds.solvers._linear import Infeasible
from mlsched_rounds.solvers.shares import Floats, Optimum, Rates, SharesProgram, proportional

#: Prices of the rising rows add up to 1. Below the first one is rounding; where all are, the largest counts.
PRICED = 1e-7
#: Share by which a job may stay below where it stopped, so that rounding makes nothing infeasible.
ROUNDING = 1e-8


def served(rates: Rates, shares: Floats, weight: Floats | None = None) -> Floats:
    """The units that each job is served: what max-min fairness compares; inf for a job that cannot run anywhere."""
    able = rates.able
    units = np.full(len(rates.gpus), np.inf)
    units[able] = rates.advanced(shares)[able] * _per_step(rates, weight)[able]
    return units


def max_min(rates: Rates, *, weight: Floats | None = None, optimum: Optimum = "vertex") -> Floats:
    """Shares under which the worst-served job is served best.

    weight: w_j, 1 where left out: a job of weight 2 ought to have twice as much. optimum: which of many optima.
    """
    able = rates.able
    if not able.size:
        return np.zeros(rates.rate.shape)
    program = SharesProgram(rates)
    level = program.add_columns([1.0], -np.inf)
    program.put(program.advance(able, _per_step(rates, weight)[able]), level, -1.0)
    return _solved(program, optimum=optimum)[0]


def water_filling(rates: Rates, *, weight: Floats | None = None) -> Floats:
    """Shares whose served units, sorted, are lexicographically largest.

    The level of all jobs rises until some can rise no more: those whose rows have a price, since no optimum has slack
    in such a row. Their level is kept, and that of the others goes on, from the basis where it stopped. Jobs that have
    all of their time on their fastest type stop there by themselves; how many of them do so before anybody else is
    found by bisection.
    """
    if not rates.able.size:
        return np.zeros(rates.rate.shape)
    filling = _Filling(rates, _per_step(rates, weight))
    while filling.rising.any():
        filling.stop_at_tops()
        filling.stop_at_prices()
    return filling.program.shares(filling.solve().x)


class _Filling:
    """The program of water filling; which jobs still rise, and the most that each can be served."""

    def __init__(self, rates: Rates, per_step: Floats) -> None:
        able = rates.able
        self.program = SharesProgram(rates)
        self.level = int(self.program.add_columns([1.0], 0.0, float((per_step * rates.fastest).max()))[0])
        self.rows = self.program.advance(able, per_step[able])
        self.program.put(self.rows, self.level, -1.0)
        self.solver = self.program.started(maximise=True)
        self.solve = self.solver.solve
        self.rising = np.ones(len(able), dtype=bool)
        self.top = (_tops(rates) * per_step)[able]

    def stop_at_tops(self) -> None:
        """Stop all jobs that reach their tops before another's row has a price."""
        tops = np.unique(self.top[self.rising])
        good, bad = -1, len(tops)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._reached(float(tops[middle])):
                good = middle
            else:
                bad = middle
        self._set(float(tops[good]) if good >= 0 else -1.0)
        if good >= 0:
            self.rising &= self.top > tops[good]

    def stop_at_prices(self) -> None:
        """Raise the level of who still rises, and stop those whose rows have a price."""
        if not self.rising.any():
            return
        solved = self.solve()
        price = np.where(self.rising, np.abs(solved.prices[self.rows]), -1.0)
        stuck = self.rising & (price >= min(PRICED, float(price.max())))
        for row in self.rows[stuck].tolist():
            self._stop(row, float(solved.x[self.level]))
        self.rising &= ~stuck

    def _reached(self, limit: float) -> bool:
        """Whether all rising jobs can be served so much, or their tops where these are below."""
        self._set(limit)
        try:
            return bool(self.solve().x[self.level] >= limit * (1 - 2 * ROUNDING))
        except Infeasible:
            return False

    def _set(self, limit: float) -> None:
        """Stop rising jobs of tops up to the limit there; the level counts for the others."""
        for row, top in zip(self.rows[self.rising].tolist(), self.top[self.rising].tolist(), strict=True):
            if top <= limit:
                self._stop(row, top)
            else:
                self.solver.change_entry(row, self.level, -1.0)
                self.solver.change_low(row, 0.0)

    def _stop(self, row: int, level: float) -> None:
        self.solver.change_entry(row, self.level, 0.0)
        self.solver.change_low(row, level * (1 - ROUNDING))


def _tops(rates: Rates) -> Floats:
    """The steps per second of each job if it had the cluster for itself."""
    fastest = np.argsort(-rates.rate, axis=1, kind="stable")
    room = np.take_along_axis(rates.capacity / rates.gpus[:, None], fastest, axis=1)
    most = np.minimum(np.cumsum(room, axis=1), 1.0)
    shares = np.diff(most, axis=1, prepend=0.0)
    return np.asarray((shares * np.take_along_axis(rates.rate, fastest, axis=1)).sum(axis=1))


def _per_step(rates: Rates, weight: Floats | None) -> Floats:
    """Units that a job is served by a step per second; 0 for a job that cannot run."""
    usual = (proportional(rates) * rates.rate).sum(axis=1)
    # A job that runs only on types without GPUs is served nothing, whatever the unit.
    usual = np.where(usual > 0, usual, np.maximum(rates.fastest, 1e-300))
    importance = np.ones(len(rates.gpus)) if weight is None else weight
    return np.where(rates.fastest > 0, rates.gpus / (importance * usual), 0.0)


def _solved(program: SharesProgram, *, optimum: Optimum = "vertex") -> tuple[Floats, Floats]:
    solved = program.solve(maximise=True, optimum=optimum)
    if solved is None:
        raise BackendError("highs calls existing shares infeasible")
    return program.shares(solved.x), solved.x
