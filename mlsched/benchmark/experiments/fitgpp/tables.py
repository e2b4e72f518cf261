"""Tables 1 to 5 of the FitGpp paper, measured, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from mlsched.benchmark.experiments.fitgpp import grid as g
from mlsched.benchmark.experiments.fitgpp import paper
from mlsched.benchmark.experiments.fitgpp.measured import FitGppView
from mlsched.benchmark.experiments.report import Number, Table

SLOWDOWN = ("TE 50th", "TE 95th", "TE 99th", "BE 50th", "BE 95th", "BE 99th")
SLOWDOWN_METRICS = ("te_p50", "te_p95", "te_p99", "be_p50", "be_p95", "be_p99")
INTERVALS = ("interval_p50", "interval_p75", "interval_p95", "interval_p99")
COUNTS = ("preempted_1", "preempted_2", "preempted_>=3")
STAND_IN = "public stand-in, not the paper's private trace"
HOW_TO_GET = (
    "Not measured: the paper's trace is private. Give a public one to stand in for it: --trace FILE --cluster ..."
)


def tables(views: Sequence[FitGppView], trace: FitGppView | None) -> list[Table]:
    """Tables 1 to 4 for each reading, then Table 5."""
    return [table for view in views for table in _synthetic(view)] + [_table_5(trace)]


def _synthetic(view: FitGppView) -> list[Table]:
    under = f"reading {view.name}"
    ours, preemptive = (*g.PAPER, g.MINMAX), (*g.PREEMPTIVE, g.MINMAX)
    return [
        _table("Table 1", f"slowdown rates, {under}", SLOWDOWN, view, ours, SLOWDOWN_METRICS, paper.TABLE_1),
        _table(
            "Table 2",
            f"re-scheduling intervals [min], {under}",
            ("50th", "75th", "95th", "99th"),
            view,
            preemptive,
            INTERVALS,
            paper.TABLE_2,
        ),
        _table(
            "Table 3",
            f"preempted jobs, P = 1 [% of all jobs], {under}",
            ("preempted",),
            view,
            preemptive,
            ("preempted",),
            paper.TABLE_3,
        ),
        _table(
            "Table 4",
            f"jobs preempted so often, P infinite [% of all jobs], {under}",
            ("1", "2", "3 or more"),
            view,
            g.UNLIMITED,
            COUNTS,
            paper.TABLE_4,
        ),
    ]


def _table_5(trace: FitGppView | None) -> Table:
    title = f"slowdown rates, trace ({STAND_IN})"
    if trace is None:
        return Table("Table 5", title, ("policy", *SLOWDOWN), (), HOW_TO_GET)
    made = _table("Table 5", title, SLOWDOWN, trace, g.PAPER, SLOWDOWN_METRICS, paper.TABLE_5)
    return Table(made.name, made.title, made.header, made.rows, "The paper's numbers are of another trace.")


def _table(
    name: str,
    title: str,
    columns: Sequence[str],
    view: FitGppView,
    policies: Sequence[g.Policy],
    metrics: Sequence[str],
    printed: paper.Rows,
) -> Table:
    rows = []
    for policy in policies:
        theirs: Sequence[float | None] = printed.get(policy.label, (None,) * len(metrics))
        measured = [view.estimate(policy, metric) for metric in metrics]
        rows.append((policy.label, tuple(Number(m, p) for m, p in zip(measured, theirs, strict=True))))
    return Table(name, title, ("policy", *columns), tuple(rows))
