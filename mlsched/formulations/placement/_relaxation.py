"""The LP relaxation of the configuration model by HiGHS: prices for exact bounds, and its primal solution."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mlsched.formulations.placement._master import Master, price

#: Up to so many configurations, the LP takes them all at once.
FEW = 5000
#: Configurations that a class may add in one round, and the relative distance to the bound that ends the rounds.
MORE, CLOSE = 200, 1e-5


def matrix(master: Master) -> tuple[Any, Any, Any, Any, Any, Any]:
    """(rows, columns, values, row lower, row upper, column upper) of the model; columns: lambda, z, s.

    Rows: links, then classes, then jobs, then the cap on new jobs.
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


def highs_model(master: Master) -> tuple[Any, Any]:
    """The LP as a HighsLp that minimises -total_speed, and its matrix in compressed columns."""
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


def solve(master: Master, seconds: float | None) -> Any:
    """Prices of the link rows; None when the limit struck first or the LP has no solution (left to exact arithmetic).

    Columns are generated: the LP starts from the configurations that host at most one new job and takes in, round by
    round, those that the whole table (priced at once) says are worth most.
    """
    import highspy

    deadline = None if seconds is None else time.perf_counter() + seconds
    table, space = master.table, master.space
    new = (table.slowdown[:, space.running :] > 0).sum(axis=1)
    active = new <= 1 if len(table) > FEW else np.ones(len(table), dtype=bool)
    lp, a = highs_model(master)
    costs, most = np.asarray(lp.col_cost_).copy(), np.asarray(lp.col_upper_).copy()
    columns = np.concatenate([np.flatnonzero(active), np.arange(len(table), lp.num_col_)])
    highs = _fresh(lp, a, columns, costs, most)
    best, prices, again = None, None, True
    while True:
        if deadline is not None:
            highs.setOptionValue("time_limit", highs.getRunTime() + max(0.01, deadline - time.perf_counter()))
        highs.run()
        if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            # HiGHS minimises -speed and prices rows for that: a link row's price for maximising is the negative.
            found = -np.asarray(highs.getSolution().row_dual)[: master.rows]
            bound = price(master, found).value
            if best is None or bound < best:
                best, prices = bound, found
            value = -highs.getInfo().objective_function_value
            if active.all() or bound <= value * (1 + CLOSE):
                return prices
            more = _worth_most(master, found, active)
        elif again and (deadline is None or time.perf_counter() < deadline):
            again, more = False, np.zeros(0, dtype=np.int64)  # a warm start that went wrong: once more, cold
        else:
            return prices
        if deadline is not None and time.perf_counter() >= deadline:
            return prices
        if more.size:
            active[more] = True
            piece, columns = a[:, more], np.concatenate([columns, more])
            highs.addCols(len(more), costs[more], np.zeros(len(more)), most[more], piece.nnz, piece.indptr[:-1],
                          piece.indices, piece.data)  # fmt: skip
        elif highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            return prices
        else:
            highs = _fresh(lp, a, columns, costs, most)


def _fresh(lp: Any, a: Any, columns: Any, costs: Any, most: Any) -> Any:
    """HiGHS with some columns of an LP."""
    import highspy

    highs = highspy.Highs()
    highspy.Highs.resetGlobalScheduler(True)
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    _restrict(lp, a, columns, costs, most)
    highs.passModel(lp)
    return highs


def _restrict(lp: Any, a: Any, columns: Any, costs: Any, most: Any) -> None:
    """Leave only some columns in an LP."""
    piece = a[:, columns]
    lp.num_col_ = len(columns)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs[columns], np.zeros(len(columns)), most[columns]
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = piece.indptr, piece.indices, piece.data


def _worth_most(master: Master, prices: Any, active: Any) -> Any:
    """Of each class, the configurations outside the LP that are worth more than all inside it: the best few of them."""
    worth = -np.append(prices, 0.0)[master.supply].sum(axis=1)
    found = []
    for k in range(len(master.space.classes)):
        mine = np.flatnonzero(master.table.group == k)
        inside = worth[mine[active[mine]]].max(initial=-np.inf)
        better = mine[(worth[mine] > inside + 1e-6) & ~active[mine]]
        found.append(better[np.argsort(-worth[better], kind="stable")][:MORE])
    return np.concatenate(found)
