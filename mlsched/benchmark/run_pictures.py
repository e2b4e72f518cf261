"""Pictures of runs over one workload, by policy: completion and waiting times, and use of the cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.benchmark import plots
from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlsched.simulation import Run

#: Unit of time on an axis -> seconds, the longest first.
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
#: Mark of series in seconds.
SECONDS = " [s]"
#: Number of equal parts of time over which lines are averaged.
BINS = 100


@validate_arguments
def plot_runs(runs: Iterable[Run] | Mapping[str, Run], path: str | os.PathLike[str]) -> None:
    """Draw runs over one workload to a file (.png, .svg, .pdf).

    Args:
        runs: Runs by the names in the legend, or a sequence of runs named by their solvers.
        path: The file.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=20)
        >>> mlsched.plot_runs([mlsched.simulate(work, rule) for rule in ("fifo", "srpt")], "runs.svg")
    """
    plots.check_target(path)
    plots.save(draw_runs(runs), path)


def draw_runs(runs: Iterable[Run] | Mapping[str, Run], *, width: float = plots.PAGE, notebook: bool = False) -> Figure:
    """Draw runs over one workload: the distributions of completion and waiting times, and lines over time.

    Policies with equal runs share a line, whose label has all names. For a simulator without a table of jobs, the
    distributions are those of `Run.series`, and the line over time is the number of unfinished jobs.

    Args:
        runs: Runs by name, or a sequence of runs.
        width: Width in inches.
        notebook: Create a figure that notebooks display.
    """
    runs_by_name = dict(runs) if isinstance(runs, Mapping) else _runs_by_name(runs)
    if not runs_by_name:
        raise InvalidInput("runs: expected at least one to draw")
    if any(run.simulation.table is None or run.simulation.over_time is None for run in runs_by_name.values()):
        return _draw_samples(runs_by_name, width, notebook)
    tables, courses = _merge_equal({name: (run.table(), run.over_time()) for name, run in runs_by_name.items()})
    has_slowdown = any(course["slowed_jobs"].any() for course in courses.values())
    panels = 6 if has_slowdown else 4
    figure, axes = _panel_axes(panels, width, notebook)
    unit = _common_unit([_time_column(columns, "jct") for columns in tables.values()])
    _distributions(axes[0], tables, "jct", "completion time", unit)
    _distributions(axes[1], tables, "waiting", "waiting time", unit)
    first_course = next(iter(courses.values()))
    resources = [key for key in first_course if key.startswith("utilisation_")]
    main = "utilisation_gpu" if "utilisation_gpu" in resources else resources[0]
    _draw_over_time(axes[2], courses, main, f"{main.removeprefix('utilisation_').upper()}s in use, %", 100, unit)
    axes[2].set_ylim(0, 103)
    _draw_over_time(axes[3], courses, "waiting_jobs", "jobs waiting", 1, unit)
    if has_slowdown:
        _draw_over_time(axes[4], courses, "slowed_jobs", "jobs slowed down by too much usage", 1, unit)
        _draw_over_time(axes[5], courses, "running_jobs", "jobs running", 1, unit)
    for ax in axes[3:]:
        _count_axis(ax)
    return _finish(figure, axes)


def _panel_axes(count: int, width: float, notebook: bool) -> tuple[Figure, list[Any]]:
    """Return axes for `count` panels: two beside each other on a page, below one another in a column."""
    columns = 2 if width >= 5 else 1
    rows = -(-count // columns)
    panel_figure, axes = plots.figure(width, rows * min(2.3, width / columns * 0.72), columns, rows, notebook=notebook)
    for ax in axes[count:]:
        ax.remove()
    return panel_figure, axes[:count]


def _count_axis(ax: Any) -> None:
    """Set the axis of a number of jobs: integers, from 0 to at least 1."""
    ax.set_ylim(0, max(1.0, ax.get_ylim()[1]))
    ax.locator_params(axis="y", integer=True)


def _runs_by_name(runs: Iterable[Run]) -> dict[str, Run]:
    runs_by_name: dict[str, Run] = {}
    for run in runs:
        name, count = run.solver, 1
        while name in runs_by_name:
            count += 1
            name = f"{run.solver} ({count})"
        runs_by_name[name] = run
    return runs_by_name


def _draw_samples(runs_by_name: Mapping[str, Run], width: float, notebook: bool) -> Figure:
    """Draw the distributions of the simulator's series, and the unfinished jobs over time."""
    tables, courses = _merge_equal({name: (run.series(), _unfinished(run)) for name, run in runs_by_name.items()})
    series = list(next(iter(tables.values())))
    figure, axes = _panel_axes(len(series) + 1, width, notebook)
    unit = _common_unit(
        [(np.asarray(samples[key]), True) for samples in tables.values() for key in series if SECONDS in key]
    )
    for ax, key in zip(axes, series, strict=False):
        seconds = SECONDS in key
        length = unit[1] if seconds else 1.0
        plots.distribution(ax, {name: np.asarray(samples[key]) / length for name, samples in tables.items()})
        ax.set(xlabel=key.replace(SECONDS, f", {unit[0]}") if seconds else key, ylabel="share of jobs")
    last = axes[len(series)]
    _draw_over_time(
        last,
        courses,
        "unfinished_jobs",
        "jobs not yet done",
        1,
        unit if any(SECONDS in key for key in series) else None,
    )
    _count_axis(last)
    return _finish(figure, axes)


def _unfinished(run: Run) -> dict[str, object]:
    """Return the number of submitted and unfinished jobs at each change, in seconds after the first submission.

    Job tables have either the end of a job or its time since submission.
    """
    jobs = run.jobs
    submit_times = np.asarray(jobs["submit_s"] if "submit_s" in jobs else jobs["submit"], dtype=float)
    end_times = np.asarray(jobs["finish"] if "finish" in jobs else submit_times + jobs["completion_s"], dtype=float)
    times = np.unique(
        np.concatenate([submit_times, end_times[np.isfinite(end_times)], [] if submit_times.size else [0.0]])
    )
    count = np.searchsorted(np.sort(submit_times), times, "right") - np.searchsorted(np.sort(end_times), times, "right")
    return {"time_s": times - times[0], "unfinished_jobs": count}


def _merge_equal(results: Mapping[str, tuple[Data, Data]]) -> tuple[dict[str, Data], dict[str, Data]]:
    """Merge job tables and lines over time of policies with equal ones, under all their names."""
    groups: dict[str, list[str]] = {}
    for name, (table, course) in results.items():
        same = (o for o in groups if _are_equal(table, results[o][0]) and _are_equal(course, results[o][1]))
        groups.setdefault(next(same, name), []).append(name)
    labels = {first: ", ".join(names) for first, names in groups.items()}
    tables = {label: results[first][0] for first, label in labels.items()}
    return tables, {label: results[first][1] for first, label in labels.items()}


def _are_equal(some: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(len(some[key]) == len(other[key]) and _equal_elements(some[key], other[key]).all() for key in some)


def _equal_elements(some: object, other: object) -> Any:
    """Compare element by element; NaN equals itself."""
    return (some == other) | ((some != some) & (other != other))


def _time_column(columns: Mapping[str, object], stem: str) -> tuple[FloatArray, bool]:
    """Return a column of times by its name without the unit, and whether it is in seconds (else in ticks)."""
    seconds = f"{stem}_s" in columns
    return np.asarray(columns[f"{stem}_s" if seconds else f"{stem}_ticks"], dtype=float), seconds


def _common_unit(columns: Sequence[tuple[FloatArray, bool]]) -> tuple[str, float]:
    """Return one unit for all panels of a picture, in which typical values are readable."""
    return _readable_unit([values[values > 0] for values, _ in columns], all(seconds for _, seconds in columns))


def _readable_unit(values: Iterable[FloatArray], seconds: bool) -> tuple[str, float]:
    """Return the unit in which typical values are readable, and its length."""
    if not seconds:
        return "ticks", 1.0
    typical = float(np.median(np.concatenate([v[v > 0] for v in values] or [np.ones(1)]) if values else 1.0))
    return next(((name, length) for name, length in UNITS.items() if typical >= 2 * length), ("seconds", 1.0))


def _distributions(
    ax: Any, tables: Mapping[str, Mapping[str, Any]], stem: str, label: str, unit: tuple[str, float]
) -> None:
    """Draw the share of jobs with at most a time, one step line per policy, with 0 on the axis.

    Args:
        ax: The axes.
        tables: Job tables by policy.
        stem: Name of the column without its unit.
        label: Axis label.
        unit: Name and length of the unit.
    """
    times_by_policy = {name: _time_column(columns, stem) for name, columns in tables.items()}
    name_of_unit, length = unit
    positive = [values[values > 0] for values, _ in times_by_policy.values() if (values > 0).any()]
    least = min((float(values.min()) for values in positive), default=1.0) / length
    for index, (name, (values, _)) in enumerate(times_by_policy.items()):
        ordered = np.sort(values) / length
        share = np.arange(1, len(ordered) + 1) / max(1, len(ordered))
        xs, ys = np.concatenate([ordered[:1], ordered]), np.concatenate([[0.0], share])
        ax.step(xs, ys, where="post", label=name, **plots.style(index, len(times_by_policy)))
    ax.set_xscale("symlog", linthresh=least, linscale=0.5)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set(xlabel=f"{label}, {name_of_unit}", ylabel="share of jobs", ylim=(0, 1.02))
    ax.set_xlim(left=0 if stem == "waiting" else least)


def _draw_over_time(
    ax: Any,
    courses: Mapping[str, Mapping[str, Any]],
    column: str,
    label: str,
    factor: float,
    unit: tuple[str, float] | None = None,
) -> None:
    """Draw a quantity over time, averaged over equal parts of the longest run.

    Args:
        ax: The axes.
        courses: Quantities over time by policy.
        column: Name of the quantity.
        label: Axis label.
        factor: Factor of the values.
        unit: Name and length of the unit of time.
    """
    times_by_policy = {name: _time_column(columns, "time") for name, columns in courses.items()}
    end = max(float(times[-1]) for times, _ in times_by_policy.values())
    name_of_unit, length = unit or _readable_unit(
        [np.array([end / 5 or 1.0])], all(in_seconds for _, in_seconds in times_by_policy.values())
    )
    edges = np.linspace(0, end, BINS + 1)
    for index, (name, (times, _)) in enumerate(times_by_policy.items()):
        values = factor * np.asarray(courses[name][column], dtype=float)
        area = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
        until = edges[edges <= times[-1]]
        until = np.append(until, times[-1]) if until[-1] < times[-1] else until
        means = np.diff(np.interp(until, times, area)) / np.maximum(np.diff(until), 1e-9)
        ax.stairs(means, until / length, baseline=None, label=name, **plots.style(index, len(times_by_policy)))
    ax.set(xlabel=f"{name_of_unit} since the first submit", ylabel=label, xlim=(0, end / length or 1))


def _finish(figure: Figure, axes: Any) -> Figure:
    """Add the legend and the names beside the lines; return the figure."""
    plots.legend(figure, axes)
    plots.finish(figure)
    figure.draw_without_rendering()  # fixes the positions of panels
    for ax in axes:
        plots.direct_labels(ax)
    return figure
