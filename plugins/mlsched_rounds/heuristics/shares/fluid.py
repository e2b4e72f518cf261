"""The bound's own linear program, asked again at each reset (ours): shares of the least fluid sum of completion times.

The program of `solvers/rounds/fluid.py` is given what remains of each job, and its first interval's shares stand until
the next reset. Intervals reach to twice the makespan's bound: equal ones, or where these are longer than
`Interpretations.first`, growing by a constant factor from that. What is done within the first costs nothing, so that
the program sees no order among jobs that would end in it. By default it is a round, within which no job is paused for
another; where most jobs are shorter, it had better be shorter too.
"""

from __future__ import annotations

from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.fluid import fluid_shares, grid, makespan_bound
from mlsched_rounds.solvers.shares import Floats, Rates

#: Intervals of the program.
INTERVALS = 30


def _start(readings: Readings) -> Shares:
    return lambda asked: shares(asked, readings.first)


def shares(asked: Asked, first: float) -> Floats:
    """The shares of the first interval, which is so many seconds long."""
    rates = Rates(asked.rate, asked.gpus, asked.capacity)
    end = 2 * makespan_bound(rates, asked.remaining, 0.0 * asked.remaining)
    return fluid_shares(rates, asked.remaining, grid(0.0, max(end, 2 * first), INTERVALS, first=first))


FLUID = Policy("fluid_mpc", _start, aware=True, doc="the bound's linear program, asked again at each reset (ours)")
