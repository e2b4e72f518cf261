"""SLAQ's evaluation (Zhang, Stafman, Or and Freedman, SoCC 2017, Section 6): Figures 1, 3, 5 to 10, its claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mlsched.benchmark.experiments.experiment import Experiment, Settings
from mlsched.benchmark.experiments.report import Report
from mlsched.benchmark.experiments.runs import CHECKED, PAIRED, versions_sentence
from mlsched.benchmark.experiments.slaq import claims, figures, measure, tables
from mlsched.benchmark.experiments.slaq import grid as g
from mlsched.benchmark.experiments.slaq.measure import Metrics
from mlsched.benchmark.experiments.slaq.measured import Measured, SlaqView
from mlsched.benchmark.experiments.slaq.prediction import Errors, errors, scheduling_seconds
from mlsched.core.errors import InvalidInput
from mlsched.simulation.quality.options import Options

TITLE = "SLAQ: quality-driven scheduling"


def run(settings: Settings) -> Report:
    """Measure the experiment and set it beside the paper."""
    if settings.trace is not None:
        raise InvalidInput(f"trace = {settings.trace!r}: slaq runs on the paper's own synthetic workload; leave it out")
    grid = settings.sized(g.QUICK if settings.quick else g.FULL)
    metrics = measure.measure(g.cases(grid), grid, workers=settings.workers, progress=settings.progress)
    return report(grid, metrics, errors(grid), title=TITLE + (" (quick)" if settings.quick else ""))


def report(grid: g.Grid, metrics: Mapping[g.Case, Metrics], found: Errors, title: str = TITLE) -> Report:
    """The report of finished measurements."""
    measured = Measured(
        grid,
        [SlaqView(reading, metrics) for reading in (*grid.readings, *grid.variants)],
        [SlaqView(reading, metrics) for reading in grid.sweeps],
        found,
        scheduling_seconds(grid),
    )
    return Report(
        title=title,
        readings=tuple(_readings(grid, metrics)),
        tables=tuple(tables.tables(measured)),
        figures=tuple(figures.figures(measured)),
        claims=tuple(claims.claims(measured)),
    )


def _readings(grid: g.Grid, metrics: Mapping[g.Case, Metrics]) -> list[str]:
    """What was run, and how the paper was read."""
    world = ", ".join(f"{name}={value}" for name, value in dataclasses.asdict(Options()).items())
    found = [
        f"{grid.seeds} workloads (seeds 0 to {grid.seeds - 1}) of {grid.jobs} jobs on {grid.cores} cores a reading, "
        f"Poisson arrivals every {g.MEAN_ARRIVAL:g} s, {len(metrics)} runs in all. {PAIRED}",
        CHECKED,
        "Jobs: stand-ins for Table 1's algorithms, drawn evenly, 100 iterations each (the paper's convergence). The "
        "paper prints neither what an iteration costs nor how loaded its cluster was: a reading's load is expected "
        "core-seconds of a job over cores x time between arrivals, and scales the cost of all iterations alike; its "
        "cap is the most cores a job can use (the paper has none).",
        f"World: {world}, except as the reading says; wake=interval:{g.EPOCH}.",
        "An iteration's CPU time does not depend on the number of cores: Fig. 10(b) is an assumption here.",
    ]
    remarks: dict[str, g.Case] = {}
    for case, each in metrics.items():
        for remark in each.remarks:
            remarks.setdefault(remark.partition("load is")[0], case)
    found += [
        f"Some workloads, first {c.reading.name}, every {c.mean_arrival:g} s: {metrics[c].remarks[0]}."
        for c in remarks.values()
    ]
    return [*found, versions_sentence()]


EXPERIMENT = Experiment("slaq", f"{TITLE} (Figures 1, 3, 5-10)", run)
