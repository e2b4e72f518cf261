"""The evaluation of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 4): Figures 4 to 9, and its claims."""

from __future__ import annotations

from collections.abc import Mapping

from mlsched.core.errors import InvalidInput
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.mlfs import claims, figures, measure, tables
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs.measure import Metrics
from mlsched_papers.mlfs.measured import Measured
from mlsched_papers.report import Report
from mlsched_papers.runs import CHECKED, PAIRED, measure_all, versions_sentence
from mlsched_papers.scoreboard import Paper

TITLE = "MLFS: job scheduling for large-scale machine learning clusters"


def run(settings: Settings) -> Report:
    """Measure the experiment and compare it with the paper."""
    if settings.trace is not None:
        raise InvalidInput(f"trace = {settings.trace!r}: mlfs runs on jobs drawn by the paper's recipe; leave it out")
    grid = settings.sized(g.QUICK if settings.quick else g.PAPERS_SIZE if settings.papers_size else g.FULL)
    grid = g.at_loads(grid, settings.loads)
    metrics = measure_all(measure.run_case, g.cases(grid), grid, workers=settings.workers, progress=settings.progress)
    kind = " (quick)" if settings.quick else " (Figure 4 at its size)" if settings.papers_size else ""
    return report(grid, metrics, title=TITLE + kind)


def report(grid: g.Grid, metrics: Mapping[g.Case, Metrics], title: str = TITLE) -> Report:
    """Return the report of finished runs."""
    measurement = [Measured(grid, metrics, interpretation) for interpretation in g.INTERPRETATIONS]
    usage, printed = (view for view in measurement if view.name in (g.HELD, g.PRINTED))
    return Report(
        title=title,
        interpretations=tuple(_readings(grid, metrics)),
        tables=tuple(tables.tables(usage, printed)),
        figures=tuple(figures.figures(usage)),
        claims=tuple(claims.claims(*measurement)),
    )


def _readings(grid: g.Grid, metrics: Mapping[g.Case, Metrics]) -> list[str]:
    """Describe the runs and the interpretation of the paper."""
    everybody = (*g.OURS, *g.PAPERS)
    missing = [policy.label for policy in everybody if policy not in g.known(everybody)]
    world = ", ".join(f"{name}={value}" for name, value in measure.OPTIONS.items())
    few = (
        ""
        if grid.few is None
        else (f", at lower loads, and of MLF-RL, of MLF-H without a feature and of our own schedulers, {grid.few},")
    )
    result = [
        f"{len(metrics)} runs: {grid.seeds} workloads (seeds 0 to {grid.seeds - 1}){few} of {grid.jobs} jobs at x = 1 "
        f"on {4 * grid.servers} GPUs (Figure 4: {g.PAPERS_SIZE.jobs} jobs on {4 * g.PAPERS_SIZE.servers}); other x "
        f"have so many times as many jobs in the same time. {PAIRED}",
        CHECKED,
        f"Offered load {g.LOAD:g} at x = 1: GPU time asked for over what there is while jobs arrive; the median job "
        f"runs {grid.hours:g} h. The paper prints no load and no running times.",
        "Jobs are drawn by the recipe of Section 4.1 (`synthetic:mlfs-cluster`); what it leaves open is said there. "
        "All jobs are of option ii, and may be switched to their required accuracy.",
        f"Simulator: {world}; schedulers are asked at {measure.WAKE} (the paper: every minute). A move costs the "
        "time to send the task's parameters. Whoever goes on after a pause or a move first holds its nodes for "
        f"{grid.pause:g} s without progress.",
        f"Interpretations of MLF-H and MLFS: {'; '.join(g.INTERPRETATIONS)}. If every iteration queues anew, running "
        "jobs compete with waiting jobs. Eq. 4 as printed has a deadline term below 0 for overdue tasks; otherwise "
        "they count as due in a tick.",
        "Schedulers of the comparison are as the paper describes them, under all interpretations: only Tiresias and "
        "HyperSched pause jobs, and none places tasks near those that they exchange data with. Stronger ones are ours. "
        "SLAQ without preemption starts new jobs by arrival, as TensorFlow does here.",
        "TensorFlow is the fair scheduler, as the paper has it. Schedulers other than MLF-C never stop a job early. "
        "The lower bound is of runs that may pause for nothing and do not slow each other down.",
    ]
    if missing:
        result.append(f"Not there, hence not measured: {', '.join(missing)}.")
    return [*result, versions_sentence()]


PAPER = Paper(
    name="MLFS (CoNEXT 2020)",
    question="where and when each task runs",
    headline="first-jct",
    why=(
        "Five workloads at the lower load leave claims undecided. Three printed improvements are out of reach for any "
        "scheduler in this simulator."
    ),
    condition=("Baselines are as the paper describes them. A Graphene that preempts is ahead of MLF-H."),
)

EXPERIMENT = Experiment("mlfs", f"{TITLE} (Figures 4 to 9)", run, sizes=True, statements=claims.STATEMENTS, paper=PAPER)
