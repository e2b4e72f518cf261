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

from mlsched.core.errors import SolverError
from mlsched.solvers.rounds.shares import Floats, Optimum, Rates, SharesProgram, proportional

#: Prices of the rising rows add up to 1. Below the first one is rounding; where all are, the largest counts.
PRICED = 1e-7


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
    in such a row. Their level is kept, and that of the others goes on, from the basis where it stopped.
    """
    able, per_step = rates.able, _per_step(rates, weight)
    if not able.size:
        return np.zeros(rates.rate.shape)
    program = SharesProgram(rates)
    level = int(program.add_columns([1.0])[0])
    rows = program.advance(able, per_step[able])
    program.put(rows, level, -1.0)
    solver, rising = program.started(maximise=True), rows
    while True:
        solved = solver.solve()
        price = np.abs(solved.prices[rising])
        stuck = price >= min(PRICED, float(price.max()))
        for row in rising[stuck].tolist():
            solver.change_entry(row, level, 0.0)
            solver.change_low(row, float(solved.x[level]))
        rising = rising[~stuck]
        if not rising.size:
            return program.shares(solved.x)


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
        raise SolverError("highs calls shares infeasible that there are")
    return program.shares(solved.x), solved.x
