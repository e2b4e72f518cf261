"""Pictures, by matplotlib (the `plot` extra). Every function returns a figure; `svg` and `save` turn it into output."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write
from mlsched.core.opening import target_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Okabe and Ito's colours, told apart by colour-blind readers too; with the dashes they make 28 styles.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
DASHES = ("-", "--", ":", "-.")


def style(index: int, count: int = 1) -> dict[str, Any]:
    """Colour and dash of the index-th line; of several, the first ones are wider, so that equal lines do not hide."""
    line = {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}
    return line | ({"linewidth": 1.3 + 1.2 * (count - 1 - index) / (count - 1)} if count > 1 else {})


def legend(made: Figure, axes: Sequence[Any], *, above: bool = False) -> None:
    """One legend for all panels, beside or above them, every name once."""
    handle_of = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    place: dict[str, Any] = {"loc": "outside right center"}
    if above:
        place = {"loc": "outside upper center", "ncols": min(6, len(handle_of)) or 1}
    made.legend(list(handle_of.values()), list(handle_of), frameon=False, **place)


def figure(width: float = 7.0, height: float = 4.0, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Any]]:
    """A figure with `columns` axes side by side in each of some `rows`, drawn without any display."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput("pictures need matplotlib; pip install 'mlsched[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "mlsched"  # the same picture is the same file
    made = Figure(figsize=(width, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    return made, list(axes)


def cdf(samples: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Empirical distributions: one panel per series, one line per policy; `samples[series][policy]` are its values."""
    made, axes = figure(width=4.2 * max(1, len(samples)), height=3.6, columns=max(1, len(samples)))
    for ax, (series, lines) in zip(axes, samples.items(), strict=False):
        distribution(ax, lines)
        ax.set(xlabel=series, ylabel="share of jobs")
    legend(made, axes, above=True)
    return made


def distribution(ax: Any, lines: Mapping[str, Any]) -> None:
    """The share of the values that are at most x, a step line per name, x on a scale of orders of magnitude.

    Where some value is 0 or below, the axis is linear up to the least positive one: 0 has no logarithm. Values that are
    not a number (what never happened) count as larger than all.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    arrays = {name: np.sort(np.asarray(values, dtype=float)) for name, values in lines.items() if len(values)}
    positive = [values[values > 0] for values in arrays.values() if (values > 0).any()]
    least = min((float(values.min()) for values in positive), default=1.0)
    largest = max((float(np.nanmax(values)) for values in positive), default=1.0)
    for index, (name, ordered) in enumerate(arrays.items()):
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        xs, ys = np.concatenate([ordered[:1], ordered]), np.concatenate([[0.0], share])
        ax.step(xs, ys, where="post", label=name, **style(index, len(arrays)))
    if any((values <= 0).any() for values in arrays.values()):
        ax.set_xscale("symlog", linthresh=least, linscale=0.5)
    else:
        ax.set_xscale("log")
        if largest < 100 * least:  # few powers of ten: say more on the axis
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if largest > 10 * least else (1, 1.5, 2, 3, 4, 6, 8)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0, 1.02)


def lines(panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]], x: str, y: str) -> Figure:
    """One panel a key, one line per name: (x values, y values)."""
    made, axes = figure(width=5.0 * max(1, len(panels)), columns=max(1, len(panels)))
    for ax, (title, series) in zip(axes, panels.items(), strict=False):
        for name, (xs, ys) in series.items():
            ax.plot(xs, ys, marker="o", markersize=4, label=name)
        ax.set(title=title, xlabel=x, ylabel=y)
        ax.legend()
    return made


def front(values: Any, names: Sequence[str], senses: Sequence[str], open_boxes: Sequence[Any] = ()) -> Figure:
    """Non-dominated points, a panel for each pair of objectives; grey: boxes (lower, upper) where some may be missing.

    With two objectives a line joins the points in steps; with more, each panel is a projection.
    """
    from matplotlib.patches import Rectangle

    pairs = list(itertools.combinations(range(len(names)), 2))
    made, axes = figure(width=4.6 * len(pairs), height=4.2, columns=len(pairs))
    points = np.asarray(values, dtype=float).reshape(-1, len(names))
    for ax, (a, b) in zip(axes, pairs, strict=True):
        ax.plot(points[:, a], points[:, b], "o", markersize=4, zorder=3)
        if len(names) == 2 and len(points):
            order = np.argsort(points[:, a])
            where: Any = "post" if senses[a] == senses[b] == "min" else "pre"
            if senses[a] == senses[b]:
                ax.step(points[order, a], points[order, b], where=where, linewidth=1, alpha=0.6)
        limits = ax.axis()
        for low, high in open_boxes:
            ends = [
                (limits[2 * i] if low[k] is None else low[k], limits[2 * i + 1] if high[k] is None else high[k])
                for i, k in enumerate((a, b))
            ]
            (x, right), (y, top) = ends
            ax.add_patch(Rectangle((x, y), right - x, top - y, color="grey", alpha=0.15, linewidth=0))
        if len(points):
            ax.axis(limits)
        ax.set(xlabel=names[a], ylabel=names[b])
        for axis, column in ((ax.xaxis, a), (ax.yaxis, b)):
            if (points[:, column] % 1 == 0).all():
                axis.get_major_locator().set_params(integer=True)
                axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return made


def svg(made: Figure) -> str:
    """The figure as SVG text."""
    buffer = io.StringIO()
    made.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def check_target(path: str | os.PathLike[str]) -> str:
    """The format of a picture's file name, or InvalidInput: also when it may not be written, or without matplotlib."""
    suffix = os.fspath(path).rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InvalidInput(f"{os.fspath(path)}: a picture's name must end in .png, .svg or .pdf")
    figure()
    target_of(path)
    return suffix


def save(made: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure, its format by the file's suffix, atomically."""
    suffix = check_target(path)
    with atomic_write(path, "wb") as stream:
        made.savefig(stream, format=suffix, dpi=150)
