"""The LP relaxation of the configuration model by HiGHS: prices for exact bounds, and its primal solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.aliases import Array, BackendResult
from mlsched.core.deadline import MOMENT, Deadline
from mlsched.core.fields import FloatArray, IntArray
from mlsched.formulations.placement._linear import highs_model
from mlsched.formulations.placement._master import Master, price
from mlsched.solvers.backends.highs import run_lp

#: Up to this number of configurations, the LP has them all from the start.
FEW = 5000
#: Configurations per class that one round may add, and the relative distance to the bound that ends the rounds.
MORE, CLOSE = 200, 1e-5


def solve(master: Master, seconds: float | None) -> BackendResult:
    """Return prices of the link rows; None if the limit ends the LP first or it is infeasible.

    Infeasibility proves nothing here: floats may be wrong, and exact arithmetic decides. Columns are generated: the
    LP starts with the configurations that host at most one new job. Each round prices the complete table at once
    and adds the configurations of the highest value.
    """
    import highspy

    deadline = Deadline(seconds)
    table, space = master.table, master.space
    new = (table.slowdown[:, space.running :] > 0).sum(axis=1)
    active = new <= 1 if len(table) > FEW else np.ones(len(table), dtype=bool)
    lp, a = highs_model(master)
    costs, most = np.asarray(lp.col_cost_).copy(), np.asarray(lp.col_upper_).copy()
    columns = np.concatenate([np.flatnonzero(active), np.arange(len(table), lp.num_col_)])
    highs = _highs_of_columns(lp, a, columns, costs, most)
    best, prices, again = None, None, True
    while True:
        if (remaining := deadline.remaining(MOMENT)) is not None:
            highs.setOptionValue("time_limit", highs.getRunTime() + remaining)
        run_lp(highs)
        if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            # HiGHS minimises -speed, so a link row's price for maximising is the negative of its dual.
            duals = -np.asarray(highs.getSolution().row_dual)[: master.rows]
            bound = price(master, duals).value
            if best is None or bound < best:
                best, prices = bound, duals
            value = -highs.getInfo().objective_function_value
            if active.all() or bound <= value * (1 + CLOSE):
                return prices
            more = _most_valuable_columns(master, duals, active)
        elif again and not deadline.passed():
            again, more = False, np.zeros(0, dtype=np.int64)  # a warm start may fail: solve once without it
        else:
            return prices
        if deadline.passed():
            return prices
        if more.size:
            active[more] = True
            added_part, columns = a[:, more], np.concatenate([columns, more])
            highs.addCols(
                len(more),
                costs[more],
                np.zeros(len(more)),
                most[more],
                added_part.nnz,
                added_part.indptr[:-1],
                added_part.indices,
                added_part.data,
            )
        elif highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            return prices
        else:
            highs = _highs_of_columns(lp, a, columns, costs, most)


def _highs_of_columns(lp: Any, a: Any, columns: IntArray, costs: FloatArray, most: FloatArray) -> Any:
    """Return HiGHS with some columns of an LP."""
    import highspy

    highs = highspy.Highs()
    highspy.Highs.resetGlobalScheduler(True)
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    _restrict_columns(lp, a, columns, costs, most)
    highs.passModel(lp)
    return highs


def _restrict_columns(lp: Any, a: Any, columns: IntArray, costs: FloatArray, most: FloatArray) -> None:
    """Restrict an LP to some columns."""
    remaining_part = a[:, columns]
    lp.num_col_ = len(columns)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs[columns], np.zeros(len(columns)), most[columns]
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = (
        remaining_part.indptr,
        remaining_part.indices,
        remaining_part.data,
    )


def _most_valuable_columns(master: Master, prices: Array, active: Array) -> Array:
    """Return, per class, the few most valuable configurations outside the LP, if above all inside it at these prices.

    `active` marks the configurations inside the LP.
    """
    worth = -np.append(prices, 0.0)[master.supply].sum(axis=1)
    selection = []
    for k in range(len(master.space.classes)):
        mine = np.flatnonzero(master.table.group == k)
        inside = worth[mine[active[mine]]].max(initial=-np.inf)
        better = mine[(worth[mine] > inside + 1e-6) & ~active[mine]]
        selection.append(better[np.argsort(-worth[better], kind="stable")][:MORE])
    return np.concatenate(selection)
