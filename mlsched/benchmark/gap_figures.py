"""Figures of a store for papers: distributions of gaps, and performance profiles by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from mlsched.benchmark import plots
from mlsched.benchmark.profiles import value_profiles
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import group_by
from mlsched.core.errors import InvalidInput

#: Panel -> solver -> (number of calls, values of calls that have one).
Panels = dict[str, dict[str, tuple[int, list[float]]]]


def gap_figure(rows: Sequence[Row], path: Path, figure: Literal["gaps", "profile"]) -> None:
    """Write one panel per problem and objective, as wide as a column of a paper, or as its page for several.

    Figure "gaps" shows the share of instances with at most a gap. Figure "profile" shows the share with at most a ratio
    to the best value (Dolan and Moré 2002). Calls without a value stay in the denominator.

    Args:
        rows: Rows with gaps.
        path: Target.
        figure: Kind of figure.

    Raises:
        InvalidInput: The rows lack values to draw.
    """
    panels = _gap_panels(rows) if figure == "gaps" else _profile_panels(rows)
    if not panels:
        fault = "no gap to a proven optimum" if figure == "gaps" else "no question with two solvers"
        raise InvalidInput(f"{path}: the rows have {fault}; bench an exact solver and a rule into the store")
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    width = plots.COLUMN if columns == 1 else plots.PAGE
    figure_, axes = plots.figure(width=width, height=0.6 + 2.1 * lines, columns=columns, rows=lines)
    for ax, (title, solvers) in zip(axes, panels.items(), strict=False):
        _draw_rising_lines(ax, solvers, start=0.0 if figure == "gaps" else 1.0)
        label = "gap to the optimum, %" if figure == "gaps" else "ratio to the best value"
        ax.set(title=title, xlabel=label, ylabel="share of instances", ylim=(0, 1.02))
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    plots.legend(figure_, axes)
    plots.finish(figure_)
    plots.save(figure_, path)


def _draw_rising_lines(ax: Any, solvers: Mapping[str, tuple[int, Sequence[float]]], start: float) -> None:
    """Draw one line per solver that rises at each of its values."""
    end = max((max(values) for _, values in solvers.values() if values), default=start)
    end = max(1.05 * end, start + 0.1)
    for index, (name, (count, values)) in enumerate(solvers.items()):
        xs, shares = [start, *sorted(values), end], [k / count for k in range(len(values) + 1)]
        ax.step(xs, [*shares, shares[-1]], where="post", label=name, **plots.style(index, len(solvers)))
    ax.set_xlim(start, end)


def _gap_panels(rows: Sequence[Row]) -> Panels:
    """Return gaps in percent of rules and policies, and of exact solvers that are not optimal everywhere."""
    panels: Panels = {}
    for (problem, objective), group in group_by(rows, lambda row: (row.problem, row.objective)).items():
        solved = {row.instance_hash for row in group if row.gap_to_optimum is not None}
        own: dict[str, tuple[int, list[float]]] = {}
        for solver, calls in group_by([r for r in group if r.instance_hash in solved], lambda row: row.solver).items():
            shares = [row.gap_to_optimum.share for row in calls if row.gap_to_optimum is not None]
            values = [100 * share for share in shares if share is not None]
            if values and (calls[0].kind != "exact" or any(values) or len(values) < len(calls)):
                own[solver] = (len(calls), values)
        if own:
            panels[f"{problem}: {objective}, n = {len(solved)}"] = own
    return panels


def _profile_panels(rows: Sequence[Row]) -> Panels:
    """Return ratios to the best value (`benchmark/profiles.py`)."""
    return {
        f"{problem}: {profile.title}, n = {profile.questions}": {
            name: (profile.questions, ratios) for name, ratios in profile.ratios.items()
        }
        for problem, group in group_by(rows, lambda row: row.problem).items()
        for profile in value_profiles(group)
    }
