"""The configuration model as a matrix, and as a linear program in HiGHS' own terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.aliases import BackendModel
from mlsched.core.fields import FloatArray, IntArray
from mlsched.formulations.placement._master import Master


def matrix(master: Master) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the model as a matrix, with columns lambda, z, s.

    The result is (rows, columns, values, row lower, row upper, column upper). Rows: links, then classes, then jobs,
    then the cap on new jobs.
    """
    space, links = master.space, master.rows
    configurations, cuts = len(master.table), len(master.cuts.job)
    at, job = np.nonzero(master.supply >= 0)
    carry = np.flatnonzero(master.last == 0)
    s = configurations + cuts + np.arange(len(carry))
    classes, z = len(space.classes), configurations + np.arange(cuts)
    new = master.cuts.job >= space.running
    blocks: list[tuple[Any, Any, Any]] = [
        (master.supply[at, job], at, 1),
        (master.demand_row, configurations + master.demand_cut, -master.demand_count),
        (carry, s, -1),
        (carry + 1, s, 1),
        (links + master.table.group, np.arange(configurations), 1),
        (links + classes + master.cuts.job, z, 1),
        (np.full(int(new.sum()), links + classes + space.total), z[new], 1),
    ]
    rows = np.concatenate([b[0] for b in blocks])
    columns = np.concatenate([b[1] for b in blocks])
    values = np.concatenate([np.broadcast_to(b[2], b[0].shape) for b in blocks])
    count = np.array([len(c.servers) for c in space.classes], dtype=np.float64)
    running = (np.arange(space.total) < space.running).astype(np.float64)
    lower = np.concatenate([np.zeros(links), count, running, [-np.inf]])
    upper = np.concatenate([np.zeros(links), count, np.ones(space.total), [space.most]])
    most = np.concatenate([count[master.table.group], np.ones(cuts), np.full(len(carry), np.inf)])
    return rows, columns, values.astype(np.float64), lower, upper, most


def highs_model(master: Master) -> tuple[BackendModel, BackendModel]:
    """Return the LP as a HighsLp that minimises -total_speed, and its matrix in compressed columns."""
    import highspy
    from scipy.sparse import csc_matrix

    rows, columns, values, lower, upper, most = matrix(master)
    a = csc_matrix((values, (rows, columns)), shape=(len(lower), len(most)))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(most), len(lower)
    cost = np.zeros(len(most))
    first = len(master.table)
    cost[first : first + len(master.cuts.job)] = -master.cuts.speed
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.zeros(len(most)), most
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = a.indptr, a.indices, a.data
    return lp, a
