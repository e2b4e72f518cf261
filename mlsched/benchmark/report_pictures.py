"""The report's pictures of one problem, each with what it shows."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from mlsched.benchmark import chart, html, profiles, time_to_gap
from mlsched.benchmark.drawn_plans import plan_pictures
from mlsched.benchmark.figures import Styles, profile_charts, seconds, solve_times, time_to_gap_charts
from mlsched.benchmark.profiles import LEAST_SECONDS
from mlsched.benchmark.row import Row
from mlsched.core.errors import MlschedError

LEAST = seconds(LEAST_SECONDS)
TIME_PROFILE_NOTE = (
    "Performance profile (Dolan and Moré 2002) of exact solvers. Ratio of a solver on a question (an "
    "instance with an objective): its CPU seconds divided by the least CPU seconds of any exact solver that "
    "solved the question; solved means that an optimum, or that there is no plan, was proved. Height at 1: how "
    "often it is the fastest; far right: how often it solves at all. What it did not solve has no ratio and stays"
    f" in n. Less than {LEAST} counts as {LEAST}."
)
VALUE_PROFILE_NOTE = (
    "Performance profile by value. Ratio of a solver on a question: its value divided by the best value of any"
    " solver (where more is better: the best value divided by its own). Height at 1: how often nobody is "
    "better. A question without its plan, a plan that is worse in what the objective compares first, and a value "
    "other than a best value of 0 have no ratio and stay in n. Exact solvers that are the best everywhere are "
    "not drawn."
)
TIME_TO_GAP_NOTE = (
    "Share of questions with a proven optimum that are answered within a gap of it, over CPU time. An answer "
    "counts from the moment that its call returned: plans found on the way are not recorded, so the line of an "
    "exact solver lies where its proof ended. A tick on a line: a call that a limit ended there outside the gap"
    " (censored: with more time it might have come within). Calls without a plan, refusals and failures stay in "
    f"n. Less than {LEAST} counts as {LEAST}."
)
SOLVE_TIME_NOTE = (
    "CPU time of exact solvers over the size of the instance, all objectives. A mark is a solve, hollow where "
    "nothing was proved (a limit ended it); lines join the medians of presets."
)
PLANS_NOTE = (
    "One instance, chosen because the best rule is furthest from the optimum there, among those of the first "
    "preset with an optimum that is proved within seconds. The plans were made again from the recorded seeds and "
    "have the recorded values. The front, where there is one, is that of most plans among some small instances: "
    "each point is a plan than which none is better in both objectives; grey: where points may be missing."
)
NO_TIMES = "No charts of CPU times: the rows of some calls have none."


def pictures(rows: Sequence[Row], best: str | None, key: str) -> Iterator[str]:
    """Charts of all rows, and plans of one instance. rows: of one problem, with gaps; key: unique within the page."""
    styles = {name: index for index, name in enumerate(dict.fromkeys(row.solver for row in rows))}
    yield from _profiles(rows, styles)
    panels = time_to_gap.panels(rows)
    if panels:
        names = _drawn(styles, [panel.courses for panel in panels])
        yield html.heading("Time to gap", 3)
        charts, most = time_to_gap_charts(panels, styles), len(time_to_gap.GAPS)
        yield html.panels(charts[:most], TIME_TO_GAP_NOTE, names)
        if charts[most:]:
            others = html.panels(charts[most:], "As above.", names)
            folded = f"Time to gap on further presets and by further objectives ({len(charts) - most} charts)"
            yield html.folded(folded, [others])
    if (times := solve_times(rows, styles)) is not None:
        exact = {row.solver: None for row in rows if row.kind == "exact" and not row.restricted}
        yield html.heading("Solve times", 3)
        yield html.panels([times], SOLVE_TIME_NOTE, _drawn(styles, [exact]))
    elif any(row.cpu_seconds is None and row.seconds is not None for row in rows):
        yield html.text(NO_TIMES, note=True)
    yield from _plans(rows, best, key)


def _profiles(rows: Sequence[Row], styles: Styles) -> Iterator[str]:
    wanted = [
        ("time, exact solvers", profiles.time_profiles(rows), TIME_PROFILE_NOTE),
        ("value, everyone", profiles.value_profiles(rows), VALUE_PROFILE_NOTE),
    ]
    for what, found, note in wanted:
        if not found:
            continue
        yield html.heading(f"Performance profiles by {what}", 3)
        names = _drawn(styles, [profile.ratios for profile in found])
        if left_out := sum(profile.left_out for profile in found):
            note += f" Nobody solved {left_out} of the questions, or the answers contradict each other; they stay in n."
        yield html.panels(profile_charts(found, styles), note, names)


def _drawn(styles: Styles, lines: Sequence[Container[str]]) -> dict[str, str]:
    """The legend of the solvers that are drawn."""
    return chart.legend({name: style for name, style in styles.items() if any(name in own for own in lines)})


def _plans(rows: Sequence[Row], best: str | None, key: str) -> Iterator[str]:
    found, trouble = [], ""
    try:
        for one in plan_pictures(rows, best, key):
            found.append(html.text(one.title, note=True) + one.svg)
    except MlschedError as error:
        trouble = f"{'No more' if found else 'No'} pictures of plans: {error}"
    if found or trouble:
        yield html.heading("Plans", 3)
    if found:
        yield html.panels(found, PLANS_NOTE, wide=True)
    if trouble:
        yield html.text(trouble, note=True)
