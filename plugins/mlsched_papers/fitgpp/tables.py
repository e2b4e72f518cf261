"""Tables 1 to 5 of the FitGpp paper, measured, beside the paper's."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from mlsched_papers.claim import Estimate, estimate
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp import paper
from mlsched_papers.fitgpp.measured import At, FitGppView, Percentile, Readings
from mlsched_papers.report import Number, Table
from mlsched_papers.view import Values, change

SLOWDOWN = ("TE 50th", "TE 95th", "TE 99th", "BE 50th", "BE 95th", "BE 99th")
SLOWDOWN_METRICS = ("te_p50", "te_p95", "te_p99", "be_p50", "be_p95", "be_p99")
POINTS = (50, 75, 95, 99)
INTERVALS, HUNDREDTHS = tuple(f"interval_p{p}" for p in POINTS), tuple(f"{p}th" for p in POINTS)
COUNTS = ("preempted_1", "preempted_2", "preempted_>=3")
PAPERS_JOBS = 2**16
STAND_IN = "public stand-in, not the paper's private trace"
HOW_TO_GET = (
    "Not measured: the paper's trace is private. Give a public one to stand in for it: --trace FILE --cluster ..."
)


#: Columns that are checked for a drift, with their metric.
DRIFTING = dict(zip(SLOWDOWN_METRICS, SLOWDOWN, strict=True)) | {"preempted": "preempted"}
DRIFTING |= {f"interval_p{p}": f"interval {p}th" for p in POINTS}


def tables(interpretations: Sequence[Readings], trace: Readings | None) -> list[Table]:
    """Return Tables 1 to 4 for each interpretation with their evidence of a steady state, then Table 5."""
    return [table for each in interpretations for table in _synthetic(each)] + [_table_5(trace)]


def _synthetic(interpretations: Readings) -> list[Table]:
    view = interpretations.plain
    under = f"reading {view.name}"
    ours, preemptive = (*g.PAPER, g.FIRST, *g.BESIDE), (*g.PREEMPTIVE, *g.BESIDE)
    return [
        _table("Table 1", f"slowdown rates, {under}", SLOWDOWN, view, ours, SLOWDOWN_METRICS, paper.TABLE_1),
        _table(
            "Table 2", f"re-scheduling intervals [min], {under}", HUNDREDTHS, view, preemptive, INTERVALS, paper.TABLE_2
        ),
        _pooled(interpretations.pooled, preemptive),
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
        steady_state(view, ours),
        lengths(view),
    ]


def _pooled(view: FitGppView, policies: Sequence[g.Policy]) -> Table:
    """Return Table 2 over the intervals of all workloads together."""
    rows = []
    for policy in policies:
        theirs: Sequence[float | None] = paper.TABLE_2.get(policy.label, (None,) * len(POINTS))
        measurement = [view.over_intervals(functools.partial(_one, policy, p), policy) for p in POINTS]
        rows.append((policy.label, tuple(Number(_as_estimate(m), p) for m, p in zip(measurement, theirs, strict=True))))
    return Table(
        f"Table 2, {view.name}",
        "re-scheduling intervals of all workloads together [min]",
        ("policy", *HUNDREDTHS),
        tuple(rows),
        "Intervals: 95 %, over drawn sets of as many workloads.",
    )


def _one(policy: g.Policy, p: int, at: Percentile) -> Values:
    return at(policy, p)


def _as_estimate(result: Values | Estimate | None) -> Estimate | None:
    return result if result is None or isinstance(result, Estimate) else estimate(result)


def steady_state(view: FitGppView, policies: Sequence[g.Policy]) -> Table:
    """Return the growth of each policy's backlog, and the drift of the columns of Tables 1 to 3."""
    display = tuple(metric for metric in SLOWDOWN_METRICS if metric != "te_p50")
    metrics = ("growth", "lost", *(f"drift_{metric}" for metric in display))
    rows = [(p.label, tuple(Number(view.estimate(p, metric)) for metric in metrics)) for p in policies]
    note = (
        "Over the second half of the arrivals: growth of the backlog (waiting demand over capacity) in cluster loads a "
        "day, and the share of the arriving work that is never kept up with, %; then the drift of each column, %: its "
        f"value over the last quarter of the arrivals against that over the third. {_flags(view, policies)}"
    )
    header = ("policy", "growth", "lost", *(DRIFTING[metric] for metric in display))
    return Table(f"Steady state, {view.name}", "the second half of the run", header, tuple(rows), note)


def _flags(view: FitGppView, policies: Sequence[g.Policy]) -> str:
    """Return the columns that are not stationary: the drift's interval, corrected for all cells, excludes 0."""
    cells = {
        (policy, metric): result
        for policy in policies
        for metric in DRIFTING
        if (result := view.estimate(policy, f"drift_{metric}")) is not None and result.half
    }
    flagged = {
        p.label: [DRIFTING[m] for (q, m), e in cells.items() if p == q and _drifts(e, len(cells))] for p in policies
    }
    names = "; ".join(f"{label}: {', '.join(columns)}" for label, columns in flagged.items() if columns)
    rule = f"the drift's 95 % interval, corrected for {len(cells)} cells, excludes 0"
    return f"Not stationary ({rule}): {names or 'none'}."


def _drifts(result: Estimate, cells: int) -> bool:
    half = result.wider(cells)
    return half is not None and abs(result.mean) > half


def lengths(view: FitGppView) -> Table:
    """Return FitGpp's rise of the BE median and 95th against FIFO, by the number of jobs."""
    rows = []
    for policy in (g.FITGPP, g.AGAIN):
        for jobs in (*view.grid.shorter, 0):
            at = At(jobs=jobs)
            rises = [
                estimate(change(view.values(policy, metric, at), view.values(g.FIFO, metric, at)))
                for metric in ("be_p50", "be_p95")
            ]
            printed = (paper.BE_MEDIAN_RISE, paper.BE_P95_RISE) if not jobs else (None, None)
            label = f"{policy.label}, {jobs or view.grid.jobs} jobs"
            rows.append((label, tuple(Number(rise, theirs) for rise, theirs in zip(rises, printed, strict=True))))
    return Table(
        f"Length of the run, {view.name}",
        "rise of BE slowdown against FIFO [%]",
        ("policy", "BE 50th", "BE 95th"),
        tuple(rows),
        f"The paper's numbers are of {PAPERS_JOBS} jobs. Without a steady state the number of jobs decides them.",
    )


def _table_5(trace: Readings | None) -> Table:
    title = f"slowdown rates, trace ({STAND_IN})"
    if trace is None:
        return Table("Table 5", title, ("policy", *SLOWDOWN), (), HOW_TO_GET)
    policies = (*g.PAPER, *g.BESIDE)
    output = _table("Table 5", title, SLOWDOWN, trace.plain, policies, SLOWDOWN_METRICS, paper.TABLE_5)
    return dataclasses.replace(output, note="The paper's numbers are of another trace.")


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
        measurement = [view.estimate(policy, metric) for metric in metrics]
        rows.append((policy.label, tuple(Number(m, p) for m, p in zip(measurement, theirs, strict=True))))
    return Table(name, title, ("policy", *columns), tuple(rows))
