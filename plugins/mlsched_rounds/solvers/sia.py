"""Sia's choice of a configuration, GPU type and number, for every job (Jayaram Subramanya et al., SOSP 2023).

    min  sum_jc G_jc^p x_jc  +  lambda sum_j (1 - sum_c x_jc)
    s.t. at most one configuration for each job, and at most the GPUs of each type,

G_jc^p is the cost of a configuration by its goodput (`instances/rounds/goodput.py`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.instances.goodput import POWER, WAITING, Configurations, costs
from mlsched_rounds.solvers._linear import Program


def assign(
    cost: FloatArray,
    configurations: Configurations,
    waiting: FloatArray,
    *,
    deadline: Deadline | None = None,
    gap: float = 0.0,
) -> IntArray:
    """Return each job's configuration of the least sum of costs, -1 for a job that waits at its cost of waiting.

    Only entries below the cost of waiting can be in an optimum. Raises OutOfTime at the deadline.
    """
    jobs, options = np.nonzero(cost < waiting[:, None])
    choice = np.full(len(cost), -1, dtype=np.int64)
    if not jobs.size:
        return choice
    program = Program()
    x = program.add_columns(cost[jobs, options] - waiting[jobs], 0.0, 1.0, whole=True)
    program.put(program.add_rows(-np.inf, 1.0, len(cost))[jobs], x, 1.0)
    rows = program.add_rows(-np.inf, configurations.capacity.astype(np.float64))
    program.put(rows[configurations.type[options]], x, configurations.gpus[options])
    solution = program.solve(deadline=deadline, gap=gap)
    if solution is None:
        raise BackendError("highs calls waiting infeasible")
    selection = np.flatnonzero(solution.x[x] > 0.5)
    choice[jobs[selection]] = options[selection]
    return choice


def sia(
    goodput: FloatArray,
    configurations: Configurations,
    current: IntArray,
    keeps: FloatArray,
    *,
    power: float = POWER,
    waiting: float = WAITING,
    deadline: Deadline | None = None,
) -> IntArray:
    """Return Sia's configuration of each job, -1 for a job that waits.

    With `power` above 0, as printed in the paper, the sum is maximised.

    Args:
        goodput: Useful examples per second, shape (jobs, configurations); 0 if a job cannot run.
        configurations, current, keeps, power: See `costs`.
        waiting: Cost of waiting.
        deadline: Time limit.
    """
    cost = costs(goodput, current, keeps, power=power)
    if power > 0:
        cost, waiting = np.where(np.isfinite(cost), -cost, np.inf), -waiting
    return assign(cost, configurations, np.full(len(goodput), waiting), deadline=deadline)
