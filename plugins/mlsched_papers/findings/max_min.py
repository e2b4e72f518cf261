"""Finding (c): SLAQ's max-min variant beats its sum objective on the sum's own metrics.

SLAQ (SoCC 2017) maximises the total loss reduction of the coming epoch by Algorithm 1 and evaluates that. The variant
of Section 4.3, which feeds the job of the largest predicted loss, is described and not evaluated. Here both run on the
same workloads, over loads. Two more runs use gains in the unit of the reported losses, and known loss curves. They show
whether the unit of the gains or the predictor explains the difference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.claim import estimate
from mlsched_papers.experiment import Settings
from mlsched_papers.findings.finding import Finding, Section
from mlsched_papers.report import Number, Table
from mlsched_papers.runs import measure_all
from mlsched_papers.slaq import grid as g
from mlsched_papers.slaq.measure import run_case
from mlsched_papers.slaq.measured import SlaqView
from mlsched_papers.statement import BELOW_0, Piece, Statement, stated
from mlsched_papers.view import Values, change

LOADS = (0.8, 0.9, 1.0, 1.1, 1.2)
#: Metric -> column: averages over the active jobs and time, their sum over time, and means over the jobs.
COLUMNS = {
    "average_loss": "average loss",
    "summed_loss": "summed loss",
    "loss_seconds": "loss x time",
    "time_to_90_s": "to 90 %",
    "time_to_95_s": "to 95 %",
    "completion_s": "to the end",
}
PAIR = (g.SLAQ, g.MAX_MIN)
FULL = g.Grid(
    interpretations=tuple(g.base(load) for load in LOADS),
    variants=(
        g.variant(1.0, "gains by range", normalise="range"),
        g.variant(1.0, "known curves", information="oracle"),
    ),
    sweeps=(),
)
QUICK = dataclasses.replace(FULL, interpretations=FULL.interpretations[2:3], variants=(), seeds=2, jobs=40)

TESTED = "mean over workloads of max-min's change against Algorithm 1, workload by workload: below 0 at every load"
WHERE = "Section 4.3, maximizing the minimum quality"


def _against_sum(view: SlaqView, metric: str) -> Values:
    """Return the percentage by which max-min's value is above Algorithm 1's, workload by workload."""
    return change(view.values(g.MAX_MIN, metric), view.values(g.SLAQ, metric))


def _pieces(views: Sequence[SlaqView], *metrics: str) -> list[Piece]:
    return [Piece(v.name, COLUMNS[m], _against_sum(v, m), BELOW_0, "%") for v in views for m in metrics]


@stated(
    "max-min-summed-loss",
    text="SLAQ's max-min variant reaches a lower summed loss than Algorithm 1, which minimises this sum in each epoch",
    where=WHERE,
    tested=TESTED,
)
def summed_loss(views: Sequence[SlaqView]) -> list[Piece]:
    return _pieces(views, "summed_loss")


@stated(
    "max-min-average-loss",
    text="SLAQ's max-min variant reaches a lower average loss of the active jobs than Algorithm 1",
    where=WHERE,
    tested=TESTED,
)
def average_loss(views: Sequence[SlaqView]) -> list[Piece]:
    return _pieces(views, "average_loss")


@stated(
    "max-min-time",
    text="SLAQ's max-min variant brings jobs to 90 and 95 % of their loss reduction sooner than Algorithm 1",
    where=WHERE,
    tested=TESTED,
)
def time(views: Sequence[SlaqView]) -> list[Piece]:
    return _pieces(views, "time_to_90_s", "time_to_95_s")


STATEMENTS: tuple[Statement, ...] = (summed_loss, average_loss, time)


def cases(grid: g.Grid) -> list[g.Case]:
    """Return both heuristics under every interpretation, on the same workloads."""
    interpretations = (*grid.interpretations, *grid.variants)
    return [g.Case(r, seed, rule, r.at) for seed in range(grid.seeds) for r in interpretations for rule in PAIR]


def measure(settings: Settings) -> Section:
    """Run both heuristics and compare them workload by workload."""
    grid = settings.sized(QUICK if settings.quick else FULL)
    metrics = measure_all(run_case, cases(grid), grid, workers=settings.workers, progress=settings.progress)
    return section(
        grid, [SlaqView(interpretation, metrics) for interpretation in (*grid.interpretations, *grid.variants)]
    )


def section(grid: g.Grid, views: Sequence[SlaqView]) -> Section:
    """Return the section of finished measurements."""
    rows = tuple((v.name, tuple(Number(estimate(_against_sum(v, metric))) for metric in COLUMNS)) for v in views)
    return Section(
        interpretations=(
            f"{grid.seeds} workloads of {grid.jobs} jobs on {grid.cores} cores per interpretation, those of `reproduce "
            "slaq`; "
            "the rules `slaq` (Algorithm 1) and `slaq-max-min` on the same ones.",
        ),
        tables=(
            Table(
                "Finding c",
                "SLAQ's max-min variant against its sum objective, change [%]",
                ("interpretation", *COLUMNS.values()),
                rows,
                "Negative: max-min is better. Times to a loss reduction are means over the jobs.",
            ),
        ),
        claims=tuple(statement.judge(views) for statement in STATEMENTS),
    )


FINDING = Finding("max-min", "SLAQ's max-min variant beats its sum objective on the sum's own metrics", measure)
