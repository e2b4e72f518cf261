"""The report's pictures of one problem, with their explanations."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from mlsched.benchmark import chart, html, profiles, time_to_gap
from mlsched.benchmark.drawn_plans import plan_pictures
from mlsched.benchmark.figures import Styles, profile_charts, seconds_text, solve_times, time_to_gap_charts
from mlsched.benchmark.profiles import LEAST_SECONDS
from mlsched.benchmark.row import Row
from mlsched.core.errors import MlschedError

LEAST = seconds_text(LEAST_SECONDS)
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
    """Yield charts of all rows, and plans of one instance.

    Args:
        rows: Rows of one problem, with gaps.
        best: Name of the best rule, or None.
        key: Identifier that is unique within the page.
    """
    styles = {name: index for index, name in enumerate(dict.fromkeys(row.solver for row in rows))}
    yield from _profile_sections(rows, styles)
    panels = time_to_gap.panels(rows)
    if panels:
        names = _legend_of(styles, [panel.courses for panel in panels])
        yield html.heading("Time to gap", 3)
        charts, most = time_to_gap_charts(panels, styles), len(time_to_gap.GAPS)
        yield html.panels(charts[:most], TIME_TO_GAP_NOTE, names)
        if charts[most:]:
            others = html.panels(charts[most:], "As above.", names)
            title = f"Time to gap on further presets and by further objectives ({len(charts) - most} charts)"
            yield html.collapsible_sections(title, [others])
    if (times := solve_times(rows, styles)) is not None:
        exact = {row.solver: None for row in rows if row.kind == "exact" and not row.restricted}
        yield html.heading("Solve times", 3)
        yield html.panels([times], SOLVE_TIME_NOTE, _legend_of(styles, [exact]))
    elif any(row.cpu_seconds is None and row.seconds is not None for row in rows):
        yield html.paragraph(NO_TIMES, note=True)
    yield from _plan_sections(rows, best, key)


def _profile_sections(rows: Sequence[Row], styles: Styles) -> Iterator[str]:
    kinds = [
        ("time, exact solvers", profiles.time_profiles(rows), TIME_PROFILE_NOTE),
        ("value, everyone", profiles.value_profiles(rows), VALUE_PROFILE_NOTE),
    ]
    for title, profiles_of_kind, note in kinds:
        if not profiles_of_kind:
            continue
        yield html.heading(f"Performance profiles by {title}", 3)
        names = _legend_of(styles, [profile.ratios for profile in profiles_of_kind])
        if left_out := sum(profile.left_out for profile in profiles_of_kind):
            note += f" Nobody solved {left_out} of the questions, or the answers contradict each other; they stay in n."
        yield html.panels(profile_charts(profiles_of_kind, styles), note, names)


def _legend_of(styles: Styles, lines: Sequence[Container[str]]) -> dict[str, str]:
    """Return the legend of the solvers in a chart."""
    return chart.legend({name: style for name, style in styles.items() if any(name in own for own in lines)})


def _plan_sections(rows: Sequence[Row], best: str | None, key: str) -> Iterator[str]:
    elements, error_text = [], ""
    try:
        for picture in plan_pictures(rows, best, key):
            elements.append(html.paragraph(picture.title, note=True) + picture.svg)
    except MlschedError as error:
        error_text = f"{'No more' if elements else 'No'} pictures of plans: {error}"
    if elements or error_text:
        yield html.heading("Plans", 3)
    if elements:
        yield html.panels(elements, PLANS_NOTE, wide=True)
    if error_text:
        yield html.paragraph(error_text, note=True)
