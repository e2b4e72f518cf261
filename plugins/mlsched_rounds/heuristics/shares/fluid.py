"""The bound's own linear program, solved again at each reset (ours): shares of the least fluid sum of completion times.

The program of `solvers/rounds/fluid.py` gets the remaining steps of each job, and its first interval's shares are used
until the next reset. Intervals extend to twice the makespan's bound. They are equal. If these would be longer than
`Interpretations.first`, they grow from that length by a constant factor. Work within the first interval is free, so the
program ignores the order of jobs that end in it. By default it is a round, within which jobs are not paused for others.
If most jobs are shorter than a round, choose a shorter one.
"""

from __future__ import annotations

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.fluid import fluid_shares, grid, makespan_bound
from mlsched_rounds.solvers.shares import Rates

#: Number of intervals of the program.
INTERVALS = 30


def _start(readings: Readings) -> Shares:
    return lambda query: shares(query, readings.first)


def shares(query: Asked, first: float) -> FloatArray:
    """Return the shares of the first interval, which lasts `first` seconds."""
    rates = Rates(query.rate, query.gpus, query.capacity)
    end = 2 * makespan_bound(rates, query.remaining, 0.0 * query.remaining)
    return fluid_shares(rates, query.remaining, grid(0.0, max(end, 2 * first), INTERVALS, first=first))


FLUID = Policy("fluid_mpc", _start, aware=True, doc="the bound's linear program, asked again at each reset (ours)")
