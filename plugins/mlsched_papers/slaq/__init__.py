"""SLAQ's evaluation (Zhang, Stafman, Or and Freedman, SoCC 2017, Section 6): Figures 1, 3, 5 to 10, its claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mlsched.simulation.quality.options import Options
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.report import Report
from mlsched_papers.runs import CHECKED, PAIRED, measure_all, versions_sentence
from mlsched_papers.scoreboard import Paper
from mlsched_papers.slaq import claims, figures, measure, tables
from mlsched_papers.slaq import grid as g
from mlsched_papers.slaq.measure import Metrics
from mlsched_papers.slaq.measured import Measured, SlaqView
from mlsched_papers.slaq.prediction import AHEAD, Errors, errors, scheduling_seconds
from mlsched_papers.slaq.recorded import RecordedErrors, recorded_errors

TITLE = "SLAQ: quality-driven scheduling"
RATIOS = (
    "Percentages are means of the workloads' own or, where it says so, of the means over all workloads; intervals of "
    "the latter are Student's t over jackknife pseudo-values. The paper's 73 % is read as 1 - SLAQ / fair and, as it "
    "cannot be that, as fair / SLAQ - 1."
)
PREDICTED = (
    "Prediction errors on the stand-in curves are assumed, not measured: the curves are of the families that are "
    "fitted, with a noise of 1 % of what is left of the loss. "
)
RECORDED = "Those on recorded curves are of deep networks, which are not in Table 1."
NOT_RECORDED = "Give trace=algoperf:PATH,pollux:PATH for those on recorded curves of deep networks."


def run(settings: Settings) -> Report:
    """Measure the experiment and compare it with the paper."""
    grid = settings.sized(g.QUICK if settings.quick else g.FULL)
    recorded = recorded_errors(settings.trace, ahead=AHEAD[-1])
    metrics = measure_all(measure.run_case, g.cases(grid), grid, workers=settings.workers, progress=settings.progress)
    return report(grid, metrics, errors(grid), recorded, title=TITLE + (" (quick)" if settings.quick else ""))


def report(
    grid: g.Grid,
    metrics: Mapping[g.Case, Metrics],
    found: Errors,
    recorded: Mapping[str, RecordedErrors],
    title: str = TITLE,
) -> Report:
    """Return the report of finished measurements."""
    measurement = Measured(
        grid,
        [
            SlaqView(interpretation, metrics)
            for interpretation in (*grid.interpretations, *grid.variants, *grid.departures)
        ],
        [SlaqView(interpretation, metrics) for interpretation in grid.sweeps],
        found,
        scheduling_seconds(grid),
        recorded,
    )
    return Report(
        title=title,
        interpretations=tuple(_readings(grid, metrics, recorded)),
        tables=tuple(tables.tables(measurement)),
        figures=tuple(figures.figures(measurement)),
        claims=tuple(claims.claims(measurement)),
    )


def _readings(grid: g.Grid, metrics: Mapping[g.Case, Metrics], recorded: Mapping[str, RecordedErrors]) -> list[str]:
    """Describe the runs and the interpretation of the paper."""
    world = ", ".join(f"{name}={value}" for name, value in dataclasses.asdict(Options()).items())
    result = [
        f"{grid.seeds} workloads (seeds 0 to {grid.seeds - 1}) of {grid.jobs} jobs on {grid.cores} cores per "
        "interpretation "
        f"for fair and SLAQ, the first {min(grid.few, grid.seeds)} for other policies, for Fig. 9 and for "
        "interpretations "
        f"that do not count; Poisson arrivals every {g.MEAN_ARRIVAL:g} s, {len(metrics)} runs in all. {PAIRED}",
        CHECKED,
        "Jobs: stand-ins for Table 1's algorithms, drawn evenly, 100 iterations each (the paper's convergence). The "
        "paper prints neither what an iteration costs nor how loaded its cluster was: an interpretation's load is "
        "expected "
        "core-seconds of a job over cores x time between arrivals, and scales the cost of all iterations alike; its "
        "cap is the most cores a job can use (the paper has none).",
        f"Simulator: {world}, except as the interpretation says; scheduling_events=interval:{g.EPOCH}.",
        RATIOS,
        "Shown, and counted for no verdict: "
        + "; ".join(f"{interpretation.name} ({interpretation.excluded})" for interpretation in grid.departures)
        + ".",
        PREDICTED + (RECORDED if recorded else NOT_RECORDED),
        "An iteration's CPU time does not depend on the number of cores: Fig. 10(b) is an assumption here.",
    ]
    remarks: dict[str, g.Case] = {}
    for case, each in metrics.items():
        for remark in each.remarks:
            remarks.setdefault(remark.partition("load is")[0], case)
    result += [
        f"Some workloads, first {c.interpretation.name}, every {c.mean_arrival:g} s: {metrics[c].remarks[0]}."
        for c in remarks.values()
    ]
    return [*result, versions_sentence()]


PAPER = Paper(
    name="SLAQ (SoCC 2017)",
    question="how many cores each training job gets",
    headline="average-loss-73",
    why=(
        "The paper leaves the load and the arithmetic of its percentages open, and two pairs of its "
        "numbers contradict each other."
    ),
    condition=(
        "SLAQ brings jobs to most of their loss reduction sooner than fair shares, and to their end later. "
        "With whole iterations per epoch it is worse than fair shares."
    ),
)

EXPERIMENT = Experiment("slaq", f"{TITLE} (Figures 1, 3, 5-10)", run, statements=claims.STATEMENTS, paper=PAPER)
