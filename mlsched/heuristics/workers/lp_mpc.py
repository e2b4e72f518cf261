"""LP-MPC: plan ahead as if no further job arrived, and act on the value of each job's work in that plan.

Model predictive control: at each decision the fluid problem of the present jobs (see `docs/problems/offline.md`; no
further arrivals) is solved for one order of finishes, a linear program. Its duals measure how much the total
completion time falls per unit of each job's work. They are larger for a job that delays many others. The decision is
the integer workers and PSs with the most value of work per second,

    max  sum_j value_j * speed_j(w_j, p_j),

exactly, by the dynamic programming of the problem without time, or by the hull greedy if that search is too large.
The next decision plans ahead again.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.workers.rates import feasible_cost, largest_sum, whole_rates
from mlsched.instances.workers import NEVER, Instance, Plan
from mlsched.solvers.workers._event_lp import ARRIVE, EventLP
from mlsched.solvers.workers._fluid import MEAN_WORK, Fluid, scaled_kinds
from mlsched.solvers.workers._orders import descend, shared_order, solve_order

#: Speeds of one model differ by at most this share between jobs, because costs are rounded up to ms.
ALIKE = 1e-3


@solver("lp-mpc", problem="workers", paper="model predictive control on the fluid order LP")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    greed: Annotated[float, Range(0, 10)] = 1.0,
    swaps: Annotated[int, Range(0)] = 5,
) -> Plan:
    """Do the most work per second, valued by the duals of a look-ahead without further arrivals.

    greed: the order of finishes follows from sharing the cluster in proportion to (isolated time left) ** -greed.
    swaps: number of orders, each with two neighbours swapped, that are tried to improve it.
    """
    value = work_values(instance, greed, swaps)
    rate = np.where(instance.cost == NEVER, 0.0, value[:, None, None] / instance.cost)
    return largest_sum(instance, whole_rates(rate))


def work_values(instance: Instance, greed: float = 1.0, swaps: int = 5) -> FloatArray:
    """Return the value of each job's remaining work, in ms of total completion time, by the duals of the LP."""
    cost = feasible_cost(instance)
    able = np.flatnonzero((cost < NEVER).any(axis=(1, 2)))
    value = np.zeros(len(cost))
    if len(able):
        value[able] = _look_ahead_duals(instance, cost, able, greed, swaps)
    return value


def _look_ahead_duals(instance: Instance, cost: IntArray, able: IntArray, greed: float, swaps: int) -> FloatArray:
    alone = cost[able].min(axis=(1, 2)).astype(np.float64)
    unit = float(alone.mean()) / MEAN_WORK
    kinds, kind = scaled_kinds(
        cost[able], instance.worker_demand[able], instance.ps_demand[able], instance.capacity, alike=ALIKE, thin=False
    )
    data = Fluid(kinds, kind, alone / unit, np.zeros(len(able)), kinds[0].use.shape[1], unit * 10**6, 0)
    lp = EventLP(data)
    arrivals = [(ARRIVE, j) for j in range(len(able))]
    order = [*arrivals, *(e for e in shared_order(data, greed) if e[0] != ARRIVE)]
    incumbent = solve_order(lp, order)
    if incumbent is None:
        raise BackendError("lp-mpc: highs did not find the schedule of a feasible order")
    incumbent = descend(lp, incumbent, lambda: lp.orders > swaps)
    return np.asarray(np.maximum(incumbent.work, 0.0) * alone)
