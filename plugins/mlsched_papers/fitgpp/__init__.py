"""FitGpp's evaluation (Yabuuchi, Taniwaki and Omura, 2019, Section 4): Tables 1 to 5, Figures 3 to 8, its claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mlsched.simulation import simulation
from mlsched.simulation.preemption.options import Options
from mlsched.simulation.preemption.synthetic import CALIBRATIONS
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.fitgpp import claims, claims_tables, figures, measure, tables
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measure import Metrics, Source
from mlsched_papers.fitgpp.measured import Readings
from mlsched_papers.fitgpp.tables import STAND_IN
from mlsched_papers.report import Report
from mlsched_papers.runs import CHECKED, PAIRED, versions_sentence
from mlsched_papers.scoreboard import Paper

TITLE = "FitGpp: low-latency job scheduling with preemption"


def run(settings: Settings) -> Report:
    """Measure the experiment and compare it with the paper."""
    grid = dataclasses.replace(settings.sized(g.QUICK if settings.quick else g.FULL), trace=settings.trace is not None)
    source = Source(grid.jobs, settings.trace, settings.cluster, settings.jobs)
    metrics = measure.measure(g.cases(grid), source, workers=settings.workers, progress=settings.progress)
    return report(grid, metrics, TITLE + (" (quick)" if settings.quick else ""))


def report(grid: g.Grid, metrics: Mapping[g.Case, Metrics], title: str = TITLE) -> Report:
    """Return the report of finished measurements."""
    interpretations = [Readings.of(interpretation, grid, metrics) for interpretation in grid.interpretations]
    views = [each.plain for each in interpretations]
    trace = Readings.of(g.TRACE, grid, metrics) if grid.trace else None
    return Report(
        title=title,
        interpretations=tuple(_readings(grid, metrics)),
        tables=tuple(tables.tables(interpretations, trace)),
        figures=tuple(figures.figures(views, trace.plain if trace else None, grid)),
        claims=tuple(claims.claims(interpretations, trace)),
    )


def _readings(grid: g.Grid, metrics: Mapping[g.Case, Metrics]) -> list[str]:
    """Describe the runs and the interpretation of the paper."""
    world = ", ".join(f"{name}={value}" for name, value in dataclasses.asdict(Options()).items())
    result = [
        f"{grid.seeds} workloads (seeds 0 to {grid.seeds - 1}) of {grid.jobs} jobs per interpretation, {len(metrics)} "
        "runs in "
        f"all; RAND is averaged over {grid.rand_repeats} runs a workload in the tables. {PAIRED}",
        CHECKED,
    ]
    result += [
        f"Interpretation {name.upper()}: a calibration of the demand distributions, which the paper shows only "
        f"as images; during_grace={CALIBRATIONS[name].during_grace}."
        for name in grid.interpretations
    ]
    result.append(
        "Literal fallback: fitgpp:fallback=again, which preempts one random job and then tries Eq. 4 again; "
        "fitgpp:fallback=random preempts random jobs until a node has room."
    )
    result.append(
        f"Simulator: {world}, except as the interpretation says; a rule's own P is its preemption_limit; FIFO has "
        "te_first=False; "
        f"scheduling_events={simulation('preemption').scheduling_events}."
    )
    if grid.trace:
        result.append(f"Table 5 and Figure 8: {STAND_IN}; jobs that fit no node are dropped.")
    result += _remarks(metrics)
    return [*result, versions_sentence()]


def _remarks(metrics: Mapping[g.Case, Metrics]) -> list[str]:
    """Return the runs' remarks, once each, with the first interpretation and seed."""
    result: dict[str, g.Case] = {}
    for case, each in metrics.items():
        for remark in each.remarks:
            result.setdefault(remark, case)
    return [
        f"Interpretation {case.interpretation.upper()}, seed {case.seed}: {remark}." for remark, case in result.items()
    ]


PAPER = Paper(
    name="FitGpp (OpML 2019)",
    question="which best-effort jobs are suspended for short trial-and-error jobs",
    headline="te-p95-cut",
    why=(
        "The slowdown of best-effort jobs depends on the length of the run, because the backlog grows at "
        "the paper's load."
    ),
    condition="FIFO that serves the short jobs first achieves nearly all of the cut without suspensions.",
)

EXPERIMENT = Experiment(
    "fitgpp",
    f"{TITLE} (Tables 1-5, Figures 3-8)",
    run,
    statements=(*claims.STATEMENTS, *claims_tables.TRACE_STATEMENTS),
    paper=PAPER,
)
