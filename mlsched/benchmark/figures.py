"""Charts of one problem in the report: performance profiles, time to gap, and growth of solve time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from mlsched.benchmark import time_to_gap
from mlsched.benchmark.axes import Axis, logarithmic
from mlsched.benchmark.chart import Series, chart, steps
from mlsched.benchmark.formats import percent
from mlsched.benchmark.profiles import LEAST_SECONDS, Profile
from mlsched.benchmark.row import BROKEN, Row
from mlsched.benchmark.table import group_by

#: Solver -> index of its line's style; the same in every chart of a problem.
Styles = dict[str, int]


def seconds_text(value: float) -> str:
    """Format seconds on an axis: "10 ms", "2 s"."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if value * factor < 999.5:
            return f"{value * factor:g} {unit}"
    return f"{value:g} s"


def ratio_text(ratio: float) -> str:
    """Format a ratio on an axis."""
    return f"{ratio:g}×"


SHARE = Axis("share of questions", 0, 1.02, write=lambda share: f"{100 * share:g} %")


def profile_charts(profiles: Sequence[Profile], styles: Styles) -> list[str]:
    """Return one chart per profile: x is the ratio, y the share of calls in which a solver has at most that ratio."""
    charts = []
    for profile in profiles:
        largest = max((r[-1] for r in profile.ratios.values() if r), default=1.0)
        axis = Axis("ratio to the best", 1, max(1.1, 1.02 * largest), log=largest > 4, write=ratio_text)
        series = [
            Series(name, styles[name], _rising_line(1.0, ratios, profile.questions, axis.high))
            for name, ratios in profile.ratios.items()
        ]
        charts.append(chart(f"{profile.title}, n = {profile.questions}", axis, SHARE, series))
    return charts


def time_to_gap_charts(panels: Sequence[time_to_gap.Panel], styles: Styles) -> list[str]:
    """Return one chart per objective and gap: x is CPU time, y the share of calls with an answer within the gap."""
    ends = [t for panel in panels for c in panel.courses.values() for t in (*c.within, *c.censored)]
    axis = Axis("CPU time", LEAST_SECONDS, 1.1 * max(ends, default=1.0), True, seconds_text)
    charts = []
    for panel in panels:
        series = []
        for name, course in panel.courses.items():
            line = _rising_line(LEAST_SECONDS, course.within, panel.questions, axis.high)
            ticks = [(t, sum(w <= t for w in course.within) / panel.questions) for t in course.censored]
            series.append(Series(name, styles[name], line, ticks=ticks))
        goal = "optimal" if panel.gap == 0 else f"gap ≤ {percent(panel.gap)}"
        charts.append(chart(f"{panel.title}: {goal}, n = {panel.questions}", axis, SHARE, series))
    return charts


def _rising_line(start: float, values: Sequence[float], total: int, end: float) -> list[tuple[float, float]]:
    """Return a line from (start, 0) to the end of the axis that rises by one call's share at each value."""
    corners = [(start, 0.0), *((value, (k + 1) / total) for k, value in enumerate(values))]
    return [*steps(corners), (end, corners[-1][1])]


def solve_times(rows: Sequence[Row], styles: Styles) -> str | None:
    """Return a chart of CPU seconds per call over instance size, or None without times.

    Lines join the medians of the presets.

    Args:
        rows: Rows of one problem; only exact solvers are drawn, and hollow marks are solves without a proof.
        styles: Style of each solver.
    """
    visible = [
        row
        for row in rows
        if row.kind == "exact" and not row.restricted and row.cpu_seconds and row.status not in ("skipped", *BROKEN)
    ]
    if not visible:
        return None
    series = []
    for name, own in group_by(visible, lambda row: row.solver).items():
        presets = group_by(own, lambda row: row.case).values()
        line = sorted((_median([r.size for r in p]), _median([r.cpu_seconds or 0.0 for r in p])) for p in presets)
        marks: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for row in own:
            marks[row.status in ("optimal", "infeasible")].append((row.size, row.cpu_seconds or 0.0))
        series.append(Series(name, styles[name], line, filled=marks[True], hollow=marks[False]))
    sizes = logarithmic("integers in the instance", [float(row.size) for row in visible])
    times = logarithmic("CPU time", [row.cpu_seconds for row in visible if row.cpu_seconds], seconds_text)
    return chart("exact solvers", sizes, times, series)


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values))
