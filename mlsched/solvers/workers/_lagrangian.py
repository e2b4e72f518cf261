"""The Lagrangian relaxation of the capacities at prices from an LP solver."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched.formulations.workers.columns import Columns, columns
from mlsched.formulations.workers.relaxation import Relaxed, cut, rounded
from mlsched.instances.workers import Instance


def relax(choice: Columns) -> Relaxed:
    """Return the relaxation at (nearly) the best prices."""
    return rounded(choice, duals(choice))


def columns_of(instance: Instance, reduce: bool) -> Columns:
    """Return the columns of an instance; with `reduce`, without columns that Lagrangian bounds rule out."""
    choice = columns(instance)
    return cut(choice, relax(choice)) if reduce else choice


def duals(choice: Columns) -> FloatArray:
    """Return prices from the LP relaxation as floats; zeros if every capacity is unlimited."""
    if not len(choice.capacity):
        return np.zeros(0)
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    count = len(choice.job)
    once = csr_matrix((np.ones(count), (choice.job, np.arange(count))), shape=(choice.jobs, count))
    solution = linprog(
        choice.cost.astype(np.float64),
        A_ub=csr_matrix(choice.use.T.astype(np.float64)),
        b_ub=choice.capacity,
        A_eq=once,
        b_eq=np.ones(choice.jobs),
        method="highs",
    )
    # Any prices >= 0 prove a bound: without an LP solution the bound is weak.
    return -solution.ineqlin.marginals if solution.status == 0 else np.zeros(len(choice.capacity))
