"""Harmony's evaluation (Bao, Peng and Wu, INFOCOM 2019): Figures 1-5 and 8-10, Table II, and exact placement."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mlsched.core.errors import InvalidInput
from mlsched.instances.placement.models import KINDS
from mlsched.simulation import simulation
from mlsched.simulation.placement.options import Options
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.harmony import claims, figures, measure, prediction, tables, training
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony.measure import Metrics
from mlsched_papers.harmony.measured import COMPLETION, WHOLE, HarmonyView, Measured
from mlsched_papers.report import Report
from mlsched_papers.runs import CHECKED, PAIRED, measure_all, versions_sentence
from mlsched_papers.scoreboard import Paper

TITLE = "Harmony: deep learning-based job placement"


def run(settings: Settings) -> Report:
    """Measure the experiment and compare it with the paper."""
    if settings.trace is not None:
        raise InvalidInput(
            f"trace = {settings.trace!r}: harmony runs on the paper's arrival patterns; leave it out, and use "
            "`mlsched simulate ... --problem placement --trace` for real arrivals"
        )
    grid = settings.sized(g.QUICK if settings.quick else g.FULL, "rack_jobs")
    if not training.possible():
        grid = dataclasses.replace(grid, trainings=0, rack_training=0)
    with tempfile.TemporaryDirectory() as folder:
        output = g.learned(grid, training.variants(grid, Path(folder)), training.large(grid, Path(folder)))
        cases = [*g.cases(grid), *output]
        metrics = measure_all(measure.run_case, cases, grid, workers=settings.workers, progress=settings.progress)
        return report(grid, metrics, title=TITLE + (" (quick)" if settings.quick else ""))


def report(
    grid: g.Grid,
    metrics: Mapping[g.Case, Metrics],
    title: str = TITLE,
    errors: Mapping[str, prediction.Errors] | None = None,
) -> Report:
    """Return the report of finished runs.

    errors: The errors of Figure 9 by kind of interference; None: measure them now.
    """
    views = [
        HarmonyView(interpretation, metrics, metric)
        for interpretation in grid.interpretations
        for metric in (COMPLETION, WHOLE)
    ]
    measurement = Measured(
        grid,
        views,
        HarmonyView(grid.rack, metrics) if grid.rack is not None else None,
        errors or {kind: prediction.errors(grid, kind) for kind in KINDS},
    )
    return Report(
        title=title,
        interpretations=tuple(_readings(grid, metrics)),
        tables=tuple(tables.tables(measurement)),
        figures=tuple(figures.figures(measurement)),
        claims=tuple(claims.claims(measurement)),
    )


def _readings(grid: g.Grid, metrics: Mapping[g.Case, Metrics]) -> list[str]:
    """Describe the runs and the interpretation of the paper."""
    world = ", ".join(f"{name}={value}" for name, value in dataclasses.asdict(Options()).items())
    trained = [policy.label for policy in g.policies() if policy.kind == "trained"]
    result = [
        f"{len(metrics)} runs of {grid.jobs} jobs on {g.TESTBED} servers. Seeds of the workloads: "
        + "; ".join(_seeds(interpretation, metrics) for interpretation in grid.interpretations)
        + f". {PAIRED}",
        CHECKED,
        "Interference: synthetic (the paper's Fig. 2 is an image), with the anchors that its text gives; linear and "
        "quadratic in CPU and network use as other interpretations. Network penalties: the same group's measured "
        "speeds.",
        "The paper prints no lengths of jobs. An interpretation's load is the share of all CPUs that the jobs would "
        "hold if "
        "none ever slowed another one down; what a policy really needs is that times its average slowdown (and what is "
        "left of the interval in which a job is done), and where this nears 1 its queue grows. Batches come at the "
        "beginning of an interval.",
        "The Google-like pattern is a stand-in (a daily cycle and bursts), not Google's trace, and not fitted to it.",
        f"Simulator: {world}, except as the interpretation says; "
        f"scheduling_events={simulation('placement').scheduling_events}. A job that is done leaves "
        "at the end of its interval; its completion is the moment of its last epoch, in 'whole intervals' the end of "
        "that interval.",
        "Baselines as the paper's text has them: LIF scores a server by the slowdown of its tasks over running alone, "
        "Tetris fills one server after another. Other interpretations of LIF (the increase by the new task; ties at "
        "random) "
        "are rows, and interpretations of the claims. Rows 'task by task' and '1 + slowdown' are how both were once "
        "implemented here; no claim looks at them.",
        "The exact solver maximises the total speed (Eq. 1) of every batch by CP-SAT, from the rules' best plan, "
        f"within a deterministic work limit of {grid.work:g} a decision.",
        f"Trained policies: {', '.join(trained) or 'none is registered, claims about Harmony are not measured'}. "
        f"Figures 6 and 7 are drawings. {_trainings(grid)}",
    ]
    if grid.rack is not None:
        result.append(
            f"30 servers: {grid.workloads(grid.rack)} workloads of {grid.rack_jobs} jobs, five times the "
            "arrivals; baselines, trained policies and harmony-plus only."
        )
    remarks: dict[str, g.Case] = {}
    for case, each in metrics.items():
        for remark in each.remarks:
            remarks.setdefault(remark, case)
    result += [f"{c.interpretation.name}, {c.pattern}, seed {c.seed}: {remark}." for remark, c in remarks.items()]
    return [*result, versions_sentence()]


def _trainings(grid: g.Grid) -> str:
    """Describe the trainings of the experiment."""
    if grid.trainings or grid.rack_training:
        return (
            f"Table II and Figure 10: one training seed, {grid.trainings} iterations each (exploration until "
            f"{training.ANNEAL}); 30 machines: {grid.rack_training} iterations."
        )
    return (
        "Table II, Figure 10 and the policy for 30 machines need trainings, which were not made: they are made at full "
        "size, and need the extra learn (pip install 'mlsched[learn]')."
    )


def _seeds(interpretation: g.Interpretation, metrics: Mapping[g.Case, Metrics]) -> str:
    """Describe the workloads of an interpretation."""
    usage = {
        p: sorted({c.seed for c in metrics if (c.interpretation, c.pattern) == (interpretation, p)})
        for p in interpretation.patterns
    }
    return f"{interpretation.name}: " + ", ".join(
        f"{pattern} {' '.join(map(str, seeds))}" for pattern, seeds in usage.items()
    )


PAPER = Paper(
    name="Harmony (INFOCOM 2019)",
    question="which server hosts each worker",
    headline="harmony-25",
    why=(
        "The cut depends on the interpretation of the strongest baseline, LIF. On 30 machines it fails "
        "under every interpretation."
    ),
    condition="Interference between jobs is synthetic, because the paper's measurements are not public.",
)

EXPERIMENT = Experiment(
    "harmony", f"{TITLE} (Figures 1-5, 8-10, Table II)", run, statements=claims.STATEMENTS, paper=PAPER
)
