"""Finding (a): arrivals recorded in a closed loop under one policy leave any other policy without a steady state.

The FitGpp paper submits jobs so that the cluster load stays at 2.0 under FIFO, and replays the times for every policy
(Section 4.2). FIFO is saturated by construction. A policy that wastes a little more of the cluster, by preempting or
merely by serving TE jobs first, can never catch up. Its backlog grows throughout the run, and the length of the run
decides by how much BE jobs are slowed down.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlsched_papers.experiment import Settings
from mlsched_papers.findings.finding import Finding, Section
from mlsched_papers.fitgpp import claims_ours, measure, tables
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measure import Metrics, Source
from mlsched_papers.fitgpp.measured import Readings

POLICIES = (*g.PAPER, g.FIRST, *g.BESIDE)


def run(settings: Settings) -> Section:
    """Measure the finding: without sweeps, the tables' policies, the runs by length."""
    grid = settings.sized(g.QUICK if settings.quick else g.FULL)
    metrics = measure.measure(cases(grid), Source(grid.jobs), workers=settings.workers, progress=settings.progress)
    return section(grid, metrics)


def cases(grid: g.Grid) -> list[g.Case]:
    """Return all its runs; random heuristics run once per workload."""
    here = [(seed, interpretation) for seed in range(grid.seeds) for interpretation in grid.interpretations]
    full = [g.Case(interpretation, seed, policy) for seed, interpretation in here for policy in POLICIES]
    return full + [
        g.Case(interpretation, seed, policy, jobs=jobs)
        for seed, interpretation in here
        for jobs in grid.shorter
        for policy in (g.FIFO, g.FITGPP, g.AGAIN)
    ]


def section(grid: g.Grid, metrics: Mapping[g.Case, Metrics]) -> Section:
    """Return its part of the report."""
    interpretations = [Readings.of(interpretation, grid, metrics) for interpretation in grid.interpretations]
    plain, literal = [each.plain for each in interpretations], [each.literal for each in interpretations]
    display = [output for view in plain for output in (tables.steady_state(view, POLICIES), tables.lengths(view))]
    claims = (
        claims_ours.ours_backlog.judge(*plain),
        claims_ours.ours_length.judge(*plain, *literal),
        claims_ours.ours_order.judge(*plain),
        claims_ours.ours_order_costs.judge(*plain, *literal),
    )
    text = (
        f"{grid.seeds} workloads of {grid.jobs} jobs for each calibration of the FitGpp paper's workload "
        f"({', '.join(grid.interpretations)}), and as many of {' and of '.join(map(str, grid.shorter)) or 'no'} jobs; "
        "arrivals from the closed loop under FIFO at load 2.0."
    )
    return Section((text,), tuple(display), claims)


FINDING = Finding(
    "steady state", "arrivals from a closed loop under FIFO leave every other policy without a steady state", run
)
