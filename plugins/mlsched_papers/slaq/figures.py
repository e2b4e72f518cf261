"""Figures 1, 3 and 5 to 10 of the SLAQ paper, measured; the paper's are images with unreadable numbers."""

from __future__ import annotations

from mlsched.instances.quality.table1 import TABLE_1
from mlsched_papers.report import Figure
from mlsched_papers.slaq.grid import PAIR, SLAQ
from mlsched_papers.slaq.measure import LEVELS, Line
from mlsched_papers.slaq.measured import Measured, SlaqView
from mlsched_papers.slaq.prediction import AHEAD, FOUR, REDUCTIONS, changes, shares_of_time

#: Lines of a picture of cores by loss.
GROUPS = {"high": "25 % of high loss", "medium": "25 % of medium loss", "low": "50 % of low loss"}
FIRST = "of the first workload"


def figures(m: Measured) -> list[Figure]:
    """Return the figures, over time for every interpretation with all policies."""
    result = [_figure_1(), _figure_5(), _figure_6(m)]
    for view in m.core:
        if view.interpretation in m.grid.interpretations:
            result += [_figure_3(view), _figure_7(view), _figure_8(view)]
    return [*sorted(result, key=lambda f: f.name), _figure_9(m), _figure_10(m)]


def _figure_1() -> Figure:
    reductions = [float(r) for r in REDUCTIONS]
    panels = {"": {name: (reductions, shares_of_time(name)) for name in FOUR}}
    return Figure(
        "Figure 1",
        "cumulative time to a loss reduction (stand-in curves)",
        panels,
        "loss reduction, %",
        "time, % of that to convergence",
    )


def _figure_3(view: SlaqView) -> Figure:
    panels = {"": {p.label: view.curve(p, "job") for p in PAIR}}
    return Figure(
        "Figure 3",
        f"loss of the middle job {FIRST}, {view.name}; accuracy is not simulated",
        panels,
        "s since its submission",
        "normalised loss",
    )


def _figure_5() -> Figure:
    panels = {"": {row.acronym: _numbered(changes(row.acronym)) for row in TABLE_1}}
    return Figure("Figure 5", "normalised changes of loss (stand-in curves)", panels, "iteration", "normalised change")


def _figure_6(m: Measured) -> Figure:
    ahead = [float(a) for a in AHEAD]
    lines = {"weighted fit": m.errors.fit, "strawman": m.errors.strawman}
    panels = {"": {name: (ahead, [_mean(result["all", a]) for a in AHEAD]) for name, result in lines.items()}}
    return Figure("Figure 6", "mean prediction error", panels, "iterations ahead", "error, %")


def _figure_7(view: SlaqView) -> Figure:
    levels = [float(level) for level in LEVELS]
    panels = {
        f"average loss {FIRST}, by time [s]": {p.label: view.curve(p, "average") for p in PAIR},
        "mean time [s] by loss reduction [%]": {
            p.label: (levels, [float(view.values(p, f"time_{level}").mean()) for level in LEVELS]) for p in PAIR
        },
    }
    return Figure("Figure 7", f"loss and time, {view.name}", panels)


def _figure_8(view: SlaqView) -> Figure:
    panels = {p.label: {title: view.curve(p, name) for name, title in GROUPS.items()} for p in PAIR}
    return Figure("Figure 8", f"cores by loss of the jobs {FIRST}, {view.name}", panels, "s", "share of cores, %")


def _figure_9(m: Measured) -> Figure:
    arrivals = list(m.grid.arrivals)
    panels = {
        f"to {level} %, {v.name}": {
            p.label: (arrivals, [float(v.values(p, f"time_to_{level}_s", a).mean()) for a in arrivals]) for p in PAIR
        }
        for v in m.sweeps
        for level in (90, 95)
    }
    return Figure("Figure 9", "time to a loss reduction", panels, "s between arrivals", "s")


def _figure_10(m: Measured) -> Figure:
    keep = {jobs: result.mean for jobs, result in m.seconds.items() if result is not None}
    place = [float(i) for i in range(len(TABLE_1))]
    lines = {"weighted fit": m.errors.fit, "strawman": m.errors.strawman}
    panels: dict[str, dict[str, Line]] = {
        "(a) error ten ahead [%], algorithms in the order of Table 1": {
            name: (place, [_mean(result[row.acronym, AHEAD[-1]]) for row in TABLE_1]) for name, result in lines.items()
        },
        "(c) one decision [s], by jobs": {SLAQ.label: ([float(jobs) for jobs in keep], list(keep.values()))},
    }
    return Figure("Figure 10", "(b), CPU time over workers, is an assumption of the simulated world", panels)


def _numbered(values: list[float]) -> Line:
    return [float(k + 1) for k in range(len(values))], values


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
