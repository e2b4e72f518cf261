"""The fractional optimum of a round, in which jobs share the round's time; rounding loses some of its value.

The rows of the round's program with x[j, c] >= 0, a share of the round for each job and configuration. Its value is a
bound on every plan's. The value of shares is that of their configurations, in proportion.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.contract import objective_entry
from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray
from mlsched_rounds.formulations.tables import OBJECTIVES
from mlsched_rounds.instances import Instance
from mlsched_rounds.solvers._linear import Program


@dataclasses.dataclass(frozen=True)
class Fractional:
    """A fractional optimum.

    Attributes:
        value: Bound on the objective of every plan.
        shares: Shares of the round, shape (jobs, configurations).
    """

    value: float
    shares: FloatArray


def fractional(instance: Instance, objective: str) -> Fractional:
    """Return the optimum of an objective over shares of the round."""
    table = objective_entry(OBJECTIVES, objective, "OBJECTIVES of formulations/rounds/tables.py")(instance)
    shares = np.zeros(instance.rate.shape)
    job, config = np.nonzero(instance.rate)
    able = np.unique(job)
    if not able.size:
        return Fractional(float(table.nobody if table.worst else sum(table.waiting)), shares)
    running = np.array([table.running[j][c] for j, c in zip(job.tolist(), config.tolist(), strict=True)], dtype=float)
    waiting = np.array(table.waiting, dtype=float)
    gain = table.sign * (running - waiting[job])
    unit = max(1.0, float(np.abs(gain).max()))
    program = Program()
    x = program.add_columns(np.zeros(len(job)) if table.worst else gain / unit, 0.0, 1.0)
    program.put(program.add_rows(-np.inf, 1.0, len(instance.rate))[job], x, 1.0)
    types = program.add_rows(-np.inf, instance.capacity.astype(np.float64))
    program.put(types[instance.config_type[config]], x, instance.config_gpus[config])
    if table.worst:
        # level >= cost of each job, counted from the largest cost of waiting
        level = program.add_columns([1.0], -np.inf)
        offset = float((table.sign * waiting[able]).max())
        rows = program.add_rows((table.sign * waiting[able] - offset) / unit, np.inf)
        program.put(rows, level, 1.0)
        program.put(rows[np.searchsorted(able, job)], x, -gain / unit)
    solution = program.solve()
    if solution is None:
        raise BackendError("highs calls a round infeasible although all jobs may wait")
    shares[job, config] = np.clip(solution.x[x], 0.0, 1.0)
    if table.worst:
        return Fractional(table.base + table.sign * (offset + unit * solution.value), shares)
    return Fractional(float(waiting.sum() + table.sign * unit * solution.value), shares)
