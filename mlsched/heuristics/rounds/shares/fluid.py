"""The bound's own linear program, asked again at each reset (ours): shares of the least fluid sum of completion times.

The program of `solvers/rounds/fluid.py` is given what remains of each job, and its first interval's shares stand until
the next reset. Intervals grow by a constant factor from the first, as long as allocations stand at least, to twice the
makespan's bound.
"""

from __future__ import annotations

from mlsched.heuristics.rounds.shares.asked import Asked, Policy, Readings, Shares
from mlsched.solvers.rounds.fluid import fluid_shares, grid, makespan_bound
from mlsched.solvers.rounds.shares import Floats, Rates

#: Intervals of the program.
INTERVALS = 30
#: Seconds for which an allocation stands at least.
FIRST = 1920.0


def _start(readings: Readings) -> Shares:
    return shares


def shares(asked: Asked) -> Floats:
    """The first interval's shares."""
    rates = Rates(asked.rate, asked.gpus, asked.capacity)
    end = 2 * makespan_bound(rates, asked.remaining, 0.0 * asked.remaining)
    return fluid_shares(rates, asked.remaining, grid(0.0, max(end, 2 * FIRST), INTERVALS, first=FIRST))


FLUID = Policy("fluid_mpc", _start, aware=True, doc="the bound's linear program, asked again at each reset (ours)")
