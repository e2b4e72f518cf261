"""A picture of runs over one workload, policy by policy: how long jobs took and waited, how full the cluster was."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mlsched.benchmark import plots
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlsched.simulation import Run

Floats = npt.NDArray[np.float64]
#: Unit of time on an axis -> seconds, the longest first.
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
#: How series say that they are in seconds.
SECONDS = " [s]"
#: Parts of the whole time over which lines are averaged, so that they can be told apart.
BINS = 100


@validate_arguments
def plot_runs(runs: Iterable[Run] | Mapping[str, Run], path: str | os.PathLike[str]) -> None:
    """Draw runs over one workload into a picture (.png, .svg, .pdf).

    Args:
        runs: by the names that the legend shall show, or one after another, called by their solvers.
        path: the file.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=20)
        >>> mlsched.plot_runs([mlsched.simulate(work, rule) for rule in ("fifo", "srpt")], "runs.svg")
    """
    plots.check_target(path)
    plots.save(picture(runs), path)


def picture(runs: Iterable[Run] | Mapping[str, Run], *, width: float = plots.PAGE, notebook: bool = False) -> Figure:
    """Runs over one workload: the shares of jobs with at most a completion and a waiting time, and lines over time.

    Policies that did the same share a line, of which the legend names them all. Of runs in a world without a table of
    jobs, the distributions are those of `Run.series`, and the line over time is the number of jobs not yet done.
    """
    named = dict(runs) if isinstance(runs, Mapping) else _named(runs)
    if not named:
        raise InvalidInput("runs: there is none to draw")
    if any(run.simulation.table is None or run.simulation.over_time is None for run in named.values()):
        return _of_samples(named, width, notebook)
    tables, courses = _merged({name: (run.table(), run.over_time()) for name, run in named.items()})
    slowed = any(course["slowed_jobs"].any() for course in courses.values())
    panels = 6 if slowed else 4
    made, axes = _panels(panels, width, notebook)
    unit = _unit([_time(columns, "jct") for columns in tables.values()])
    _distributions(axes[0], tables, "jct", "completion time", unit)
    _distributions(axes[1], tables, "waiting", "waiting time", unit)
    used = next(iter(courses.values()))
    resources = [key for key in used if key.startswith("utilisation_")]
    main = "utilisation_gpu" if "utilisation_gpu" in resources else resources[0]
    _lines(axes[2], courses, main, f"{main.removeprefix('utilisation_').upper()}s in use, %", 100, unit)
    axes[2].set_ylim(0, 103)
    _lines(axes[3], courses, "waiting_jobs", "jobs waiting", 1, unit)
    if slowed:
        _lines(axes[4], courses, "slowed_jobs", "jobs slowed down by too much usage", 1, unit)
        _lines(axes[5], courses, "running_jobs", "jobs running", 1, unit)
    for ax in axes[3:]:
        _counts(ax)
    return _finished(made, axes)


def _panels(count: int, width: float, notebook: bool) -> tuple[Figure, list[Any]]:
    """Axes for so many panels: two beside each other on a page, below one another in a column."""
    columns = 2 if width >= 5 else 1
    rows = -(-count // columns)
    made, axes = plots.figure(width, rows * min(2.3, width / columns * 0.72), columns, rows, notebook=notebook)
    for ax in axes[count:]:
        ax.remove()
    return made, axes[:count]


def _counts(ax: Any) -> None:
    """The axis of a number of jobs: whole, from 0, and 1 at least."""
    ax.set_ylim(0, max(1.0, ax.get_ylim()[1]))
    ax.locator_params(axis="y", integer=True)


def _named(runs: Iterable[Run]) -> dict[str, Run]:
    named: dict[str, Run] = {}
    for run in runs:
        name, count = run.solver, 1
        while name in named:
            count += 1
            name = f"{run.solver} ({count})"
        named[name] = run
    return named


def _of_samples(named: Mapping[str, Run], width: float, notebook: bool) -> Figure:
    """The distributions of what a world says of its jobs, and the jobs that are not done over time."""
    tables, courses = _merged({name: (run.series(), _unfinished(run)) for name, run in named.items()})
    series = list(next(iter(tables.values())))
    made, axes = _panels(len(series) + 1, width, notebook)
    unit = _unit([(np.asarray(samples[key]), True) for samples in tables.values() for key in series if SECONDS in key])
    for ax, key in zip(axes, series, strict=False):
        seconds = SECONDS in key
        length = unit[1] if seconds else 1.0
        plots.distribution(ax, {name: np.asarray(samples[key]) / length for name, samples in tables.items()})
        ax.set(xlabel=key.replace(SECONDS, f", {unit[0]}") if seconds else key, ylabel="share of jobs")
    last = axes[len(series)]
    _lines(
        last,
        courses,
        "unfinished_jobs",
        "jobs not yet done",
        1,
        unit if any(SECONDS in key for key in series) else None,
    )
    _counts(last)
    return _finished(made, axes)


def _unfinished(run: Run) -> dict[str, Any]:
    """How many jobs have come and are not done, from each time at which that changes; seconds since the first came.

    The tables of jobs say when a job ended, or how long after its submission it did.
    """
    jobs = run.jobs
    came = np.asarray(jobs["submit_s"] if "submit_s" in jobs else jobs["submit"], dtype=float)
    went = np.asarray(jobs["finish"] if "finish" in jobs else came + jobs["completion_s"], dtype=float)
    times = np.unique(np.concatenate([came, went[np.isfinite(went)], [] if came.size else [0.0]]))
    count = np.searchsorted(np.sort(came), times, "right") - np.searchsorted(np.sort(went), times, "right")
    return {"time_s": times - times[0], "unfinished_jobs": count}


def _merged(
    results: Mapping[str, tuple[dict[str, Any], dict[str, Any]]],
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Tables of jobs and courses over time, by the names of all policies that have the same."""
    groups: dict[str, list[str]] = {}
    for name, (table, course) in results.items():
        same = (o for o in groups if _equal(table, results[o][0]) and _equal(course, results[o][1]))
        groups.setdefault(next(same, name), []).append(name)
    labels = {first: ", ".join(names) for first, names in groups.items()}
    tables = {label: results[first][0] for first, label in labels.items()}
    return tables, {label: results[first][1] for first, label in labels.items()}


def _equal(some: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(len(some[key]) == len(other[key]) and _same(some[key], other[key]).all() for key in some)


def _same(some: Any, other: Any) -> Any:
    """Element by element, where what is not a number equals itself."""
    return (some == other) | ((some != some) & (other != other))


def _time(columns: Mapping[str, Any], stem: str) -> tuple[Floats, bool]:
    """A column of times by its name without the unit, and whether it is in seconds (else in ticks)."""
    seconds = f"{stem}_s" in columns
    return np.asarray(columns[f"{stem}_s" if seconds else f"{stem}_ticks"], dtype=float), seconds


def _unit(found: Sequence[tuple[Floats, bool]]) -> tuple[str, float]:
    """One unit for all panels of a picture, in which typical values of these are readable."""
    return _scale([values[values > 0] for values, _ in found], all(seconds for _, seconds in found))


def _scale(values: Iterable[Floats], seconds: bool) -> tuple[str, float]:
    """The unit in which typical values are readable, and its length."""
    if not seconds:
        return "ticks", 1.0
    typical = float(np.median(np.concatenate([v[v > 0] for v in values] or [np.ones(1)]) if values else 1.0))
    return next(((name, length) for name, length in UNITS.items() if typical >= 2 * length), ("seconds", 1.0))


def _distributions(
    ax: Any, tables: Mapping[str, Mapping[str, Any]], stem: str, label: str, unit: tuple[str, float]
) -> None:
    """The share of jobs with at most a time, a step line per policy; 0 is on the axis."""
    found = {name: _time(columns, stem) for name, columns in tables.items()}
    name_of_unit, length = unit
    positive = [values[values > 0] for values, _ in found.values() if (values > 0).any()]
    least = min((float(values.min()) for values in positive), default=1.0) / length
    for index, (name, (values, _)) in enumerate(found.items()):
        ordered = np.sort(values) / length
        share = np.arange(1, len(ordered) + 1) / max(1, len(ordered))
        xs, ys = np.concatenate([ordered[:1], ordered]), np.concatenate([[0.0], share])
        ax.step(xs, ys, where="post", label=name, **plots.style(index, len(found)))
    ax.set_xscale("symlog", linthresh=least, linscale=0.5)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set(xlabel=f"{label}, {name_of_unit}", ylabel="share of jobs", ylim=(0, 1.02))
    ax.set_xlim(left=0 if stem == "waiting" else least)


def _lines(
    ax: Any,
    courses: Mapping[str, Mapping[str, Any]],
    column: str,
    label: str,
    factor: float,
    unit: tuple[str, float] | None = None,
) -> None:
    """A quantity over time, averaged over equal parts of the time that the longest run took."""
    found = {name: _time(columns, "time") for name, columns in courses.items()}
    end = max(float(times[-1]) for times, _ in found.values())
    name_of_unit, length = unit or _scale([np.array([end / 5 or 1.0])], all(known for _, known in found.values()))
    edges = np.linspace(0, end, BINS + 1)
    for index, (name, (times, _)) in enumerate(found.items()):
        values = factor * np.asarray(courses[name][column], dtype=float)
        area = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
        until = edges[edges <= times[-1]]
        until = np.append(until, times[-1]) if until[-1] < times[-1] else until
        means = np.diff(np.interp(until, times, area)) / np.maximum(np.diff(until), 1e-9)
        ax.stairs(means, until / length, baseline=None, label=name, **plots.style(index, len(found)))
    ax.set(xlabel=f"{name_of_unit} since the first submit", ylabel=label, xlim=(0, end / length or 1))


def _finished(made: Figure, axes: Any) -> Figure:
    """The figure with its legend and the names beside its lines."""
    plots.legend(made, axes)
    plots.finish(made)
    made.draw_without_rendering()  # panels have their places
    for ax in axes:
        plots.direct_labels(ax)
    return made
