"""Our claims beside the FitGpp paper's, on the same runs; `mlsched reproduce findings` has the rest."""

from __future__ import annotations

import itertools

from mlsched_papers.claim import Bound
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measured import At, FitGppView
from mlsched_papers.statement import ABOVE_0, BELOW_0, Piece, stated


@stated(
    "ours-minmax",
    text="The min-max grace period answers TE jobs faster than FitGpp",
    where="ours",
    tested="95th percentile of TE slowdown below FitGpp's, paired by seed",
)
def ours_minmax(view: FitGppView) -> list[Piece]:
    less = view.less(g.FITGPP, g.MINMAX, "te_p95")
    return [Piece(view.name, "TE 95th, min-max less FitGpp", less, BELOW_0)]


@stated(
    "ours-order",
    text="FIFO that serves TE jobs first already achieves nearly all of the cut of TE slowdown",
    where="ours",
    tested="a cut of TE 95th of at least 90 % against FIFO, without any preemption",
)
def ours_order(view: FitGppView) -> list[Piece]:
    return [Piece(view.name, "cut of TE 95th", view.cut(g.FIRST, g.FIFO, "te_p95"), Bound(low=90.0), "%")]


@stated(
    "ours-order-costs",
    text="Serving TE jobs first already costs throughput, more than FitGpp loses in total",
    where="ours",
    tested="lost throughput of FIFO with TE jobs first above FitGpp's, paired by workload",
)
def ours_order_costs(view: FitGppView) -> list[Piece]:
    more = view.less(g.FITGPP, g.FIRST, "lost")
    return [Piece(view.name, "lost throughput, FIFO with TE jobs first less FitGpp", more, ABOVE_0, "points")]


@stated(
    "ours-backlog",
    text="No policy but FIFO has a steady state: their backlogs grow as long as the run lasts",
    where="ours",
    tested="growth of the backlog over the second half of the arrivals above 0",
)
def ours_backlog(view: FitGppView) -> list[Piece]:
    policies = (*g.PREEMPTIVE, g.FIRST, g.MINMAX)
    return [Piece(view.name, p.label, view.values(p, "growth"), ABOVE_0, "loads per day") for p in policies]


@stated(
    "ours-length",
    text="FitGpp's rise of the BE median against FIFO grows with the length of the run",
    where="ours",
    tested="the rise at each number of jobs below that at the next",
)
def ours_length(view: FitGppView) -> list[Piece]:
    pieces: list[Piece] = []
    for short, long in itertools.pairwise((*view.grid.shorter, 0)):
        more = view.be_rise(At(jobs=long)) - view.be_rise(At(jobs=short))
        what = f"rise at {long or view.grid.jobs} jobs less that at {short}"
        pieces.append(Piece(view.name, what, more, ABOVE_0, "points"))
    return pieces


STATEMENTS = (ours_minmax, ours_order, ours_order_costs, ours_backlog, ours_length)
#: Claims without FitGpp are independent of its fallback.
WITHOUT_FITGPP = (ours_order, ours_backlog)
