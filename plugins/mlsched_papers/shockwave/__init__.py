"""Shockwave's evaluation (Zheng et al., NSDI 2023), repeated: `mlsched reproduce shockwave --trace FOLDER`.

The folder has the trace of 120 jobs and the throughputs of its 32-GPU cluster. The trace is run as in its own
simulator, beside the stored simulations and real runs of its repository. Claims are tested on drawn workloads, since
one trace lacks an interval. If Shockwave's program has several equally good plans, the solver's seed decides.
"""

from __future__ import annotations

from mlsched.core.errors import InvalidInput
from mlsched_papers.claim import estimate, exact
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.report import Number, Report, Table
from mlsched_papers.runs import CHECKED, PAIRED, measure_all, versions_sentence
from mlsched_papers.scoreboard import Paper
from mlsched_papers.shockwave.claims import MEAN, SPAN, STATEMENTS, UNFAIR, WORST, View
from mlsched_papers.shockwave.measure import Case, Grid, Metrics, folder_of, run_case
from mlsched_papers.shockwave.paper import GPUS, NAMES, PHYSICAL, SIMULATED, TRACE

TITLE = "Shockwave: planning for jobs that change their batch sizes"
FULL, QUICK = Grid(), Grid(jobs=8, seeds=2, solves=2, gpus=4)
Printed = dict[str, tuple[float, float]]


def run(settings: Settings) -> Report:
    """Measure the experiment."""
    if settings.cluster is not None:
        raise InvalidInput("cluster: Shockwave's own is run; leave it out")
    grid = settings.sized(QUICK if settings.quick else FULL)
    grid = Grid(grid.jobs, grid.seeds, grid.solves, grid.gpus, grid.gap, folder_of(settings.trace))
    metrics = measure_all(run_case, cases(grid), grid, workers=settings.workers, progress=settings.progress)
    return report(grid, metrics, quick=settings.quick)


def cases(grid: Grid) -> list[Case]:
    """Return every run, and the bounds."""
    result = [Case(""), *(Case(policy) for policy in NAMES)]
    result += [Case("shockwave", solve=solve) for solve in range(1, grid.solves)]
    result += [Case(policy, seed) for seed in range(grid.seeds) for policy in ("", *NAMES)]
    return result


def report(grid: Grid, metrics: dict[Case, Metrics], *, quick: bool = False) -> Report:
    """Return the report of finished measurements."""
    view = View(grid, metrics)
    interpretations = (
        f"Shockwave's trace {TRACE} on {GPUS} GPUs, as its simulator runs it: rounds of 120 s, 20 s lost where a job "
        "resumes, shares for 1,000 s at least, batch sizes that change.",
        f"{grid.seeds} drawn workloads (seeds 0 to {grid.seeds - 1}) of {grid.jobs} jobs on {grid.gpus} GPUs: any "
        "measured model on 1, 2 or 4 GPUs (.6, .3, .1), .2 to 5 hours at the first batch size, accordion or gradient "
        f"noise scale, arrivals every {grid.gap:g} s on average.",
        f"`shockwave` on its own trace: {grid.solves} seeds of the solver (HiGHS; gap .001 as there). Of the others "
        f"{', '.join(f'{name} is `{policy}`' for policy, name in NAMES.items() if policy != 'shockwave')}.",
        "Finish-time ratio: completion time over the profiled time alone times jobs per GPU, as its simulator prints.",
        "Bounds: of every schedule with pauses and moves at will, that knows the future.",
        PAIRED,
        CHECKED,
        versions_sentence(),
    )
    tables = (
        _traced(view, "simulated", "its simulator", SIMULATED),
        _traced(view, "physical", "its runs on real GPUs", PHYSICAL),
        _drawn(view),
    )
    claims = tuple(statement.judge(view) for statement in STATEMENTS)
    return Report(TITLE + (" (quick)" if quick else ""), interpretations, tables, (), claims)


def _traced(view: View, name: str, of: str, printed: Printed) -> Table:
    """Return a table of our results on the paper's trace beside the `printed` ones; `of` describes their origin."""
    least = view.metrics[Case("")].values
    rows = []
    for policy, stored in printed.items():
        numbers, above = [], []
        for metric, number in zip((SPAN, MEAN), stored, strict=True):
            own = view.solved(metric) if policy == "shockwave" else None
            value = view.metrics[Case(policy)].values[metric]
            numbers.append(Number(exact(value) if own is None else estimate(own), number))
            over = 100 * ((value if own is None else own) / least[metric] - 1)
            above.append(Number(exact(float(over)) if own is None else estimate(over)))
        rows.append((policy, (*numbers, *above)))
    nothing = Number(exact(0.0))
    rows.append(("bound", (Number(exact(least[SPAN])), Number(exact(least[MEAN])), nothing, nothing)))
    header = ("policy", "makespan [s]", "mean JCT [s]", "makespan above bound [%]", "JCT above bound [%]")
    return Table(name, f"{TRACE} on {GPUS} GPUs; paper: {of}", header, tuple(rows))


def _drawn(view: View) -> Table:
    """Return the distances from the bounds and the fairness on drawn workloads."""
    rows = []
    for policy in NAMES:
        above = [100 * (view.drawn(policy, metric) / view.drawn("", metric) - 1) for metric in (SPAN, MEAN)]
        fair = [view.drawn(policy, metric) for metric in (WORST, UNFAIR)]
        rows.append((policy, tuple(Number(estimate(each)) for each in (*above, *fair))))
    header = ("policy", "makespan above bound [%]", "JCT above bound [%]", "worst finish-time ratio", "unfair jobs [%]")
    return Table("drawn", "Drawn workloads", header, tuple(rows))


PAPER = Paper(
    name="Shockwave (NSDI 2023)",
    question="which job runs in which round",
    headline="makespan-1.3",
    why="Shockwave ends sooner than fair schedulers, but not by the paper's factor.",
    condition=(
        "Workloads are drawn. On five of the authors' traces our `fluid_mpc` has a shorter mean completion "
        "time than Shockwave."
    ),
)

EXPERIMENT = Experiment(
    "shockwave", f"{TITLE} (its trace, drawn workloads, bounds)", run, statements=STATEMENTS, paper=PAPER
)
