"""Gavel's evaluation (Narayanan et al., OSDI 2020), repeated: `mlsched reproduce gavel --trace FOLDER`.

The folder has Gavel's throughputs and the traces of its physical cluster. Its two traces are run unchanged, beside the
output of its own simulator. Claims are tested on drawn workloads from its generator, since one trace lacks an interval.
"""

from __future__ import annotations

from mlsched.core.errors import InvalidInput
from mlsched_papers.claim import estimate, exact
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.gavel.claims import MEAN, SPAN, STATEMENTS, View
from mlsched_papers.gavel.measure import INTERPRETATIONS, Case, Grid, Kind, Metrics, folder_of, run_case
from mlsched_papers.gavel.paper import CLUSTER, PRINTED, TRACES
from mlsched_papers.report import Number, Report, Table
from mlsched_papers.runs import CHECKED, PAIRED, measure_all, versions_sentence
from mlsched_papers.scoreboard import Paper

TITLE = "Gavel: heterogeneity-aware scheduling in rounds"
FULL, QUICK = Grid(), Grid(jobs=8, seeds=2)
#: Policies on drawn workloads, by kind.
DRAWN: dict[Kind, tuple[str, ...]] = {
    "continuous": (
        "fifo",
        "fifo_perf",
        "isolated",
        "max_min",
        "max_min_perf",
        "finish_time_fairness",
        "finish_time_fairness_perf",
        "max_sum",
        "srpt",
    ),
    "static": ("fifo_perf", "max_min_perf", "min_total_duration_perf"),
}


def run(settings: Settings) -> Report:
    """Measure the experiment."""
    if settings.cluster is not None:
        raise InvalidInput("cluster: Gavel's own is run; leave it out")
    grid = settings.sized(QUICK if settings.quick else FULL)
    grid = Grid(grid.jobs, grid.seeds, grid.gap, folder_of(settings.trace))
    metrics = measure_all(run_case, cases(grid), grid, workers=settings.workers, progress=settings.progress)
    return report(grid, metrics, quick=settings.quick)


def cases(grid: Grid) -> list[Case]:
    """Return every run, and the bounds."""
    result = [Case(policy, trace=trace) for trace, policy in PRINTED]
    result += [Case("", trace=trace) for trace in TRACES]
    for kind, policies in DRAWN.items():
        for seed in range(grid.seeds):
            result += [
                Case(policy, interpretation, kind, seed) for interpretation in INTERPRETATIONS for policy in policies
            ]
            result.append(Case("", kind=kind, seed=seed))
    return result


def report(grid: Grid, metrics: dict[Case, Metrics], *, quick: bool = False) -> Report:
    """Return the report of finished measurements."""
    views = [View(name, grid, metrics) for name in INTERPRETATIONS]
    interpretations = (
        f"Gavel's traces {' and '.join(TRACES)} on {CLUSTER} V100, P100 and K80 GPUs in rounds of 360 s, seed 0; "
        "`printed` is what its own simulator prints with ECOS.",
        f"{grid.seeds} continuous and {grid.seeds} static workloads (seeds 0 to {grid.seeds - 1}) of {grid.jobs} jobs, "
        "drawn as Gavel's generator draws them: any model that runs on V100s; "
        "1, 2, 4 or 8 GPUs (.7, .1, .15, .05); four fifths of 10^1.5 to 10^3 minutes on V100s, "
        f"the others of up to 10^4; arrivals every {grid.gap:g} s on average.",
        "Interpretations: as printed - what Gavel's program does; as meant - " + ", ".join(
            f"{name}={value}" for name, value in INTERPRETATIONS["as meant"].items()
        ) + " (docs/problems/simulator.md).",
        "Bounds: of every schedule with pauses and moves at will, that knows the future.",
        PAIRED,
        CHECKED,
        versions_sentence(),
    )  # fmt: skip
    tables = (*(_traces(trace, metrics) for trace in TRACES), *(_drawn(view, kind) for view in views for kind in DRAWN))
    claims = tuple(statement.judge(*views) for statement in STATEMENTS)
    return Report(TITLE + (" (quick)" if quick else ""), interpretations, tables, (), claims)


def _traces(trace: str, metrics: dict[Case, Metrics]) -> Table:
    """Compare our results with the output of Gavel's simulator."""
    bound = metrics[Case("", trace=trace)].values
    rows = []
    for (name, policy), printed in PRINTED.items():
        if name == trace:
            values = metrics[Case(policy, trace=trace)].values
            numbers = [Number(exact(float(values[m] or 0.0)), of) for m, of in zip((MEAN, SPAN), printed, strict=True)]
            above = [exact(100 * (float(values[m] or 0.0) / float(bound[m] or 1.0) - 1)) for m in (MEAN, SPAN)]
            rows.append((policy, (*numbers, *map(Number, above))))
    own = tuple(Number(exact(float(bound[m] or 0.0))) for m in (MEAN, SPAN))
    rows.append(("bound", (*own, Number(exact(0.0)), Number(exact(0.0)))))
    header = ("policy", "mean JCT [s]", "makespan [s]", "JCT above bound [%]", "makespan above bound [%]")
    return Table(trace.removesuffix(".trace"), f"{trace}, {CLUSTER}; paper: Gavel's simulator", header, tuple(rows))


def _drawn(view: View, kind: Kind) -> Table:
    """Return the measurements on drawn workloads, and their distances from the bounds."""
    rows = []
    for policy in DRAWN[kind]:
        values = [view.values(policy, m, kind) / 3600 for m in (MEAN, SPAN)]
        above = [view.above(policy, m, kind) for m in (MEAN, SPAN)]
        rows.append((policy, tuple(Number(estimate(each)) for each in (*values, *above))))
    header = ("policy", "mean JCT [h]", "makespan [h]", "JCT above bound [%]", "makespan above bound [%]")
    return Table(f"{kind} {view.name}", f"Drawn {kind} workloads, {view.name}", header, tuple(rows))


PAPER = Paper(
    name="Gavel (OSDI 2020)",
    question="which job runs on which GPU type",
    headline="las",
    why="The abstract's factors for makespan and mean completion time are not measured here.",
    condition="Workloads are drawn with the rates of the authors' repository.",
)

EXPERIMENT = Experiment("gavel", f"{TITLE} (traces, drawn workloads, bounds)", run, statements=STATEMENTS, paper=PAPER)
