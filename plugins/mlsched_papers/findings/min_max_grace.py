"""Finding (b): victims by rising grace period, with neither score nor solver, serve TE jobs no worse than FitGpp.

The heuristic is the solver `min-max-grace` (`heuristics/preemption/min_max_grace.py`). It is compared with FitGpp with
either fallback, on both calibrations and, with `--trace`, on a public trace. On a trace only the grace periods differ
from run to run, since traces lack them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mlsched_papers.claim import Bound, estimate
from mlsched_papers.experiment import Settings
from mlsched_papers.findings.finding import Finding, Section
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp import measure
from mlsched_papers.fitgpp.measure import Metrics, Source
from mlsched_papers.fitgpp.measured import FitGppView, Readings
from mlsched_papers.report import Number, Table
from mlsched_papers.statement import BELOW_0, Piece, stated
from mlsched_papers.view import change

POLICIES = (g.FITGPP, g.AGAIN, g.MINMAX)
#: Metric -> its column; the heuristic aims at the first two.
COLUMNS = {
    "te_p95": "TE 95th",
    "te_p99": "TE 99th",
    "be_p50": "BE 50th",
    "be_p95": "BE 95th",
    "preempted": "preempted [%]",
    "interval_p95": "interval 95th [min]",
}


def run(settings: Settings) -> Section:
    """Measure the finding."""
    grid = dataclasses.replace(settings.sized(g.QUICK if settings.quick else g.FULL), trace=settings.trace is not None)
    source = Source(grid.jobs, settings.trace, settings.cluster, settings.jobs)
    metrics = measure.measure(cases(grid), source, workers=settings.workers, progress=settings.progress)
    return section(grid, metrics)


def cases(grid: g.Grid) -> list[g.Case]:
    """Return all its runs, the trace's first, since it may be refused."""
    interpretations = ((g.TRACE,) if grid.trace else ()) + grid.interpretations
    return [
        g.Case(interpretation, seed, policy)
        for interpretation in interpretations
        for seed in range(grid.seeds)
        for policy in POLICIES
    ]


def section(grid: g.Grid, metrics: Mapping[g.Case, Metrics]) -> Section:
    """Return its part of the report."""
    names = (*grid.interpretations, *((g.TRACE,) if grid.trace else ()))
    interpretations = [Readings.of(name, grid, metrics) for name in names]
    views = [view for each in interpretations for view in (each.plain, each.literal)]
    text = f"{grid.seeds} workloads per interpretation" + (
        "; " + next(remark for case, m in metrics.items() if case.interpretation == g.TRACE for remark in m.remarks[:1])
        if grid.trace
        else "; no trace: give one with --trace"
    )
    return Section(
        (text + ".",),
        tuple(_table(each.plain) for each in interpretations),
        tuple(statement.judge(*views) for statement in STATEMENTS),
    )


def _table(view: FitGppView) -> Table:
    """Return each policy's figures, and the percentages by which min-max's exceed FitGpp's, workload by workload."""
    rows = [(p.label, tuple(Number(view.estimate(p, metric)) for metric in COLUMNS)) for p in POLICIES]
    for other in (g.FITGPP, g.AGAIN):
        more = tuple(Number(estimate(view.less(other, g.MINMAX, metric))) for metric in COLUMNS)
        rows.append((f"min-max less {other.label}", more))
    title = "what they change against FitGpp, workload by workload"
    return Table(f"Min-max grace periods, {view.name}", title, ("policy", *COLUMNS.values()), tuple(rows))


def _less(view: FitGppView, metric: str) -> list[Piece]:
    return [Piece(view.name, f"{COLUMNS[metric]}, min-max less FitGpp", view.less(g.FITGPP, g.MINMAX, metric), BELOW_0)]


@stated(
    "minmax-te-p95",
    text="Min-max grace periods lower the 95th percentile of TE slowdown against FitGpp",
    where="ours",
    tested="below FitGpp's, paired by workload",
)
def te_p95(view: FitGppView) -> list[Piece]:
    return _less(view, "te_p95")


@stated(
    "minmax-te-p99",
    text="Min-max grace periods lower the 99th percentile of TE slowdown against FitGpp",
    where="ours",
    tested="below FitGpp's, paired by workload",
)
def te_p99(view: FitGppView) -> list[Piece]:
    return _less(view, "te_p99")


@stated(
    "minmax-be-p95",
    text="Min-max grace periods do not slow BE jobs more than FitGpp",
    where="ours",
    tested="95th percentile of BE slowdown at most 1 % above FitGpp's, paired by workload",
)
def be_p95(view: FitGppView) -> list[Piece]:
    more = change(view.values(g.MINMAX, "be_p95"), view.values(g.FITGPP, "be_p95"))
    return [Piece(view.name, "BE 95th, min-max against FitGpp", more, Bound(high=1.0), "%")]


STATEMENTS = (te_p95, te_p99, be_p95)
FINDING = Finding(
    "min-max", "victims by rising grace period, without a score or a solver, serve TE jobs no worse than FitGpp", run
)
