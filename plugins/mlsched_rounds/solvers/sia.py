"""Sia's choice of a configuration, GPU type and number, for every job (Jayaram Subramanya et al., SOSP 2023).

    min  sum_jc G_jc^p x_jc  +  lambda sum_j (1 - sum_c x_jc)
    s.t. at most one configuration for each job, and for each type no more GPUs than there are,

where G_jc^p is the cost of a configuration by its goodput (`instances/rounds/goodput.py`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError
from mlsched.core.fields import IntArray
from mlsched_rounds.instances.goodput import POWER, WAITING, Configurations, costs
from mlsched_rounds.solvers._linear import Floats, Program


def assign(
    cost: Floats, configurations: Configurations, waiting: Floats, *, deadline: Deadline | None = None, gap: float = 0.0
) -> IntArray:
    """Each job's configuration, -1 for one that waits at its cost of waiting, such that the costs' sum is smallest.

    Only entries below the cost of waiting can be in an optimum. Raises OutOfTime at the deadline.
    """
    jobs, options = np.nonzero(cost < waiting[:, None])
    chosen = np.full(len(cost), -1, dtype=np.int64)
    if not jobs.size:
        return chosen
    program = Program()
    x = program.add_columns(cost[jobs, options] - waiting[jobs], 0.0, 1.0, whole=True)
    program.put(program.add_rows(-np.inf, 1.0, len(cost))[jobs], x, 1.0)
    rows = program.add_rows(-np.inf, configurations.capacity.astype(np.float64))
    program.put(rows[configurations.type[options]], x, configurations.gpus[options])
    solved = program.solve(deadline=deadline, gap=gap)
    if solved is None:
        raise BackendError("highs calls waiting infeasible")
    taken = np.flatnonzero(solved.x[x] > 0.5)
    chosen[jobs[taken]] = options[taken]
    return chosen


def sia(
    goodput: Floats,
    configurations: Configurations,
    current: IntArray,
    keeps: Floats,
    *,
    power: float = POWER,
    waiting: float = WAITING,
    deadline: Deadline | None = None,
) -> IntArray:
    """Sia's configuration of each job, -1 for one that waits.

    goodput: jobs x configurations, useful examples per second, 0 where a job cannot run; see `costs` for the others.
    With `power` above 0 as the paper prints it, the sum is maximised.
    """
    cost = costs(goodput, current, keeps, power=power)
    if power > 0:
        cost, waiting = np.where(np.isfinite(cost), -cost, np.inf), -waiting
    return assign(cost, configurations, np.full(len(goodput), waiting), deadline=deadline)
