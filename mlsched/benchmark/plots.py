"""Pictures by matplotlib (the `plot` extra); functions return a figure, which `svg` and `save` turn into output."""

from __future__ import annotations

import io
import itertools
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.files import atomic_write
from mlsched.core.safe_open import target_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Okabe and Ito's colours, which colour-blind readers can distinguish; with the dashes they give 28 styles.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
DASHES = ("-", "--", ":", "-.")


#: Width of a column and of a page of a paper in inches; pictures are drawn at their printed size.
COLUMN, PAGE = 3.3, 6.9
#: Points of titles and axes, and of the smallest text.
TEXT, SMALL = 8.0, 7.0
#: Mean width of a character as a share of its height, and points of a line sample in a legend.
CHARACTER_WIDTH, SAMPLE = 0.56, 34
#: Inches beside the panels of a picture for numbers and labels.
SIDES = 0.75
#: Inches of a line of text.
LINE = 0.13
#: Pictures have a transparent ground; on a dark one, this style turns black into white and keeps the hues.
DARK = "<style>@media (prefers-color-scheme: dark) {:root {filter: invert(1) hue-rotate(180deg)}}</style>"


def inches(width: str | float) -> float:
    """Return the width of a picture in inches: "column", "page", or a number."""
    widths = {"column": COLUMN, "page": PAGE}
    if isinstance(width, str) and width in widths:
        return widths[width]
    if isinstance(width, bool) or not isinstance(width, (int, float)) or not 2 <= width <= 40:
        raise InvalidInput(f"width: {width!r}, expected 'column' ({COLUMN} inches), 'page' ({PAGE}) or 2 to 40 inches")
    return float(width)


def style(index: int, count: int = 1) -> dict[str, str | float]:
    """Return colour and dash of the index-th line; several lines differ in dashes, and the first ones are wider.

    If lines coincide, the wider one is visible between the dashes of the one above it.
    """
    if count == 1:
        return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}
    turn = index + 2 * (index // len(COLOURS))  # all pairs of colour and dash
    width = 1.1 + 1.5 * (count - 1 - index) / (count - 1)
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[turn % len(DASHES)], "linewidth": width}


def legend(figure_: Figure, axes: Sequence[Any]) -> None:
    """Add one legend for all panels above them, with every name once."""
    handle_of = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handle_of:
        _legend(figure_, handle_of, "upper")


def one_legend(figure_: Figure) -> None:
    """Replace the legends of all panels by one below them, with every name once."""
    handle_of: Data = {}
    for ax in figure_.axes:
        if (box := ax.get_legend()) is not None:
            for text, handle in zip(box.get_texts(), box.legend_handles, strict=True):
                handle_of.setdefault(text.get_text(), handle)
            box.remove()
    if handle_of:
        _legend(figure_, handle_of, "lower")


def _legend(figure_: Figure, handle_of: Mapping[str, Any], side: str) -> None:
    """Add a legend with as many columns as the width allows."""
    widest = max(len(name) for name in handle_of) * CHARACTER_WIDTH * SMALL + SAMPLE
    columns = max(1, min(len(handle_of), int(72 * figure_.get_figwidth() / widest)))
    where = {"loc": f"outside {side} center", "ncols": columns, "frameon": False, "fontsize": SMALL}
    figure_.legend(list(handle_of.values()), list(handle_of), **where)


def title_characters(inches: float) -> int:
    """Return the number of characters of a title that fit beside each other."""
    return max(14, int(72 * inches / (CHARACTER_WIDTH * TEXT)))


def wrap_text(text: str, room: int) -> str:
    """Wrap lines at `room` characters."""
    return "\n".join(textwrap.fill(line, room) for line in text.split("\n"))


def direct_labels(ax: Any, most: int = 5) -> None:
    """Label each line of a panel beside it, as far as possible from other lines; skip lines without free space.

    Lines that coincide at all points share a label: "fifo = srpt".
    """
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    stairs = [patch for patch in ax.patches if hasattr(patch, "get_data") and not patch.get_label().startswith("_")]
    if not 1 < len(lines) + len(stairs) <= most:
        return
    to_axes = ax.transData + ax.transAxes.inverted()
    grid = np.linspace(0.02, 0.98, 97)
    courses: dict[str, tuple[Any, Any]] = {}
    for one in (*lines, *stairs):
        xy = to_axes.transform(_corners(one))
        keep = np.isfinite(xy).all(axis=1)
        y = np.interp(grid, xy[keep, 0], xy[keep, 1], left=np.nan, right=np.nan) if keep.any() else grid * np.nan
        colour = one.get_color() if hasattr(one, "get_xdata") else one.get_edgecolor()
        courses[one.get_label()] = (y, colour)
    points = 72 * np.array([ax.get_window_extent().width, ax.get_window_extent().height]) / ax.figure.dpi
    placed: list[tuple[float, float, float, float]] = []
    for names in _coinciding({name: y for name, (y, _) in courses.items()}):
        own, colour = courses[names[0]]
        others = [y for name, (y, _) in courses.items() if name not in names]
        text = " = ".join(names)
        size = (CHARACTER_WIDTH * SMALL * len(text) + 4) / points[0], 1.5 * SMALL / points[1]
        place = _free_position(grid, own, others, size, placed)
        if place is not None:
            placed.append((*place, *size))
            ax.text(*place, text, transform=ax.transAxes, fontsize=SMALL, color=colour, ha="left", va="bottom")


def _corners(line: Any) -> object:
    """Return the points of a line or of steps as drawn."""
    return line.get_path().vertices


def _coinciding(courses: Mapping[str, FloatArray]) -> list[list[str]]:
    """Group names whose lines differ by less than a hundredth of the panel everywhere."""
    groups: list[list[str]] = []
    for name, y in courses.items():
        for group in groups:
            other = courses[group[0]]
            if (np.isnan(y) == np.isnan(other)).all() and np.nanmax(np.abs(y - other), initial=0.0) < 0.01:
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _free_position(
    grid: FloatArray,
    own: FloatArray,
    others: Sequence[FloatArray],
    size: tuple[float, float],
    taken: Sequence[tuple[float, ...]],
) -> tuple[float, float] | None:
    """Return the lower left corner of a label beside a line that avoids other lines and labels, or None.

    Args:
        grid: Horizontal positions, as shares of the panel.
        own: Height of the line at these positions.
        others: Heights of the other lines.
        size: Width and height of the label, as shares of the panel.
        taken: Corners and sizes of placed labels.
    """
    wide, high = size
    best: tuple[float, tuple[float, float]] | None = None
    for x in grid[grid + wide <= 1.0]:
        inside = (grid >= x - 0.01) & (grid <= x + wide + 0.01)
        here = own[inside]
        if np.isnan(here).any():
            continue
        for y in (here.max() + 0.02, here.min() - 0.02 - high):
            if y < 0.01 or y + high > 0.99:
                continue
            if any(x < b[0] + b[2] and b[0] < x + wide and y < b[1] + b[3] and b[1] < y + high for b in taken):
                continue
            distances = [np.abs(o[inside] - (y + high / 2)).min() for o in others if not np.isnan(o[inside]).all()]
            clear = min([float(d) for d in distances if not np.isnan(d)], default=1.0)
            if clear > high and (best is None or clear - abs(y + high / 2 - here.mean()) > best[0]):
                best = clear - abs(y + high / 2 - here.mean()), (float(x), float(y))
    return None if best is None else best[1]


def finish(figure_: Figure) -> None:
    """Set the text sizes for paper, and wrap titles within their panels."""
    for ax in figure_.axes:
        place = ax.get_subplotspec()
        grid = None if place is None else place.get_topmost_subplotspec().get_gridspec()
        columns, rows = (grid.ncols, grid.nrows) if grid else (1, 1)
        across = title_characters(figure_.get_figwidth() / columns - SIDES)
        title = wrap_text(ax.get_title(), across)
        ax.title.set(text=title, fontsize=TEXT)
        others = LINE * (title.count("\n") + 1 if title else 0) + 3 * LINE * bool(figure_.legends) / rows
        up = title_characters(figure_.get_figheight() / rows - SIDES - others)
        for label, room in ((ax.xaxis.label, across), (ax.yaxis.label, up)):
            label.set(fontsize=TEXT, text=wrap_text(label.get_text(), room))
        ax.tick_params(axis="both", which="both", labelsize=SMALL)
        for text in ax.texts:
            text.set_fontsize(max(SMALL, text.get_fontsize()))
        if (box := ax.get_legend()) is not None:
            for text in box.get_texts():
                text.set_fontsize(SMALL)


def figure(
    width: float = PAGE, height: float = 4.0, columns: int = 1, rows: int = 1, *, notebook: bool = False
) -> tuple[Figure, list[Any]]:
    """Return a figure with `rows` rows of `columns` axes, drawn without a display.

    Args:
        width: Width in inches.
        height: Height in inches.
        columns: Number of axes per row.
        rows: Number of rows.
        notebook: Create a pyplot figure, which notebooks display and scripts open in a window.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput("pictures need matplotlib; pip install 'mlsched[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "mlsched"  # equal pictures give equal files
    if notebook:
        import matplotlib.pyplot as plt

        figure_ = plt.figure(figsize=(width, height), layout="constrained")
    else:
        figure_ = Figure(figsize=(width, height), layout="constrained")
    axes = figure_.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    return figure_, list(axes)


def draw_distributions(samples: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw empirical distributions: one panel per series, one line per policy, from `samples[series][policy]`."""
    figure_, axes = figure(width=3.4 * max(1, len(samples)), height=3.0, columns=max(1, len(samples)))
    for ax, (series, lines) in zip(axes, samples.items(), strict=False):
        distribution(ax, lines)
        ax.set(xlabel=series, ylabel="share of jobs")
    legend(figure_, axes)
    finish(figure_)
    return figure_


def distribution(ax: Any, lines: Mapping[str, Any]) -> None:
    """Draw the share of values that are at most x: a step line per name, with logarithmic x.

    If some value is 0 or below, the axis is linear up to the least positive value, because the logarithm of 0 is
    undefined. NaN (an
    event that never occurred) counts as larger than all.
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
        if largest < 100 * least:  # with few powers of ten, add labels between them
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if largest > 10 * least else (1, 1.5, 2, 3, 4, 6, 8)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0, 1.02)


def draw_lines(panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]], x: str, y: str) -> Figure:
    """Draw one panel per key, and one line per name: (x values, y values)."""
    figure_, axes = figure(width=max(PAGE, 3.4 * len(panels)), height=3.4, columns=max(1, len(panels)))
    for ax, (title, series) in zip(axes, panels.items(), strict=False):
        for index, (name, (xs, ys)) in enumerate(series.items()):
            ax.plot(xs, ys, marker="o", markersize=3, label=name, **style(index, len(series)))
        ax.set(title=title, xlabel=x, ylabel=y)
    legend(figure_, axes)
    finish(figure_)
    return figure_


def axis_label(name: str, unit: str | None, sense: str) -> str:
    """Return an objective as an axis label: "makespan, ticks (less is better)"."""
    return f"{name}{f', {unit}' if unit else ''} ({'less' if sense == 'min' else 'more'} is better)"


def draw_front(front: Any, *, width: float = PAGE, notebook: bool = False) -> Figure:
    """Draw a `Front`, in values without the primary criterion if the objectives have none."""
    table, units = front.table(), {}
    if front.instance is not None:
        units = {o.name: o.unit for o in front.instance.objectives}
    names = list(front.objectives or list(table)[: len(front.senses)])
    labels = [axis_label(name, units.get(name), sense) for name, sense in zip(names, front.senses, strict=True)]
    plain = len(table) == len(names)
    values = np.stack([table[name] for name in names], axis=1) if plain and len(front) else front.sort_keys
    boxes: list[tuple[Any, ...]] = [(box.lower, box.upper) for box in front.open]
    if not plain:
        labels = [f"{label}; with who waits" for label in labels]
    elif front.instance is not None and boxes:
        boxes = [tuple(_base_corner(front.instance, names, end) for end in box) for box in boxes]
    return draw_points(values, labels, front.senses, boxes, width=width, notebook=notebook)


def _base_corner(instance: Any, names: Sequence[str], end: Sequence[Any]) -> list[object]:
    """Return the corner `end` of a box with each value freed of its primary count; None is unbounded."""
    criteria = [instance.primary(name) for name in names]
    return [e if e is None or rank is None else rank.split(e)[1] for e, rank in zip(end, criteria, strict=True)]


def draw_points(
    values: IntArray,
    names: Sequence[str],
    senses: Sequence[str],
    open_boxes: Sequence[Any] = (),
    *,
    width: float = PAGE,
    notebook: bool = False,
) -> Figure:
    """Draw non-dominated points, one panel per pair of objectives; grey boxes may miss points.

    With two objectives, steps join the points; with more, each panel is a projection.

    Args:
        values: Points, shape (points, objectives).
        names: Axis labels (`goal`).
        senses: "min" or "max" of each objective.
        open_boxes: Boxes (lower, upper) in which points may be missing.
        width: Width in inches.
        notebook: Create a figure that notebooks display.
    """
    from matplotlib.patches import Rectangle

    pairs = list(itertools.combinations(range(len(names)), 2))
    columns = max(1, min(len(pairs), int(width / 2.2)))
    rows = -(-len(pairs) // columns)
    each = min(width / columns, 4.0)
    figure_, axes = figure(columns * each, rows * min(each, 3.0), columns, rows, notebook=notebook)
    for ax in axes[len(pairs) :]:
        ax.remove()
    points = np.asarray(values, dtype=float).reshape(-1, len(names))
    for ax, (a, b) in zip(axes[: len(pairs)], pairs, strict=True):
        ax.plot(points[:, a], points[:, b], "o", color=COLOURS[0], markersize=4, zorder=3)
        if len(names) == 2 and len(points):
            order = np.argsort(points[:, a])
            where: Any = "post" if senses[a] == senses[b] == "min" else "pre"
            if senses[a] == senses[b]:
                ax.step(points[order, a], points[order, b], where=where, color=COLOURS[0], linewidth=1, alpha=0.6)
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
        for axis, column in ((ax.xaxis, a), (ax.yaxis, b)):
            if (points[:, column] % 1 == 0).all():
                axis.get_major_locator().set_params(integer=True)
                axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
                axis.get_major_locator().set_params(nbins=max(3, int(each * 1.6)))
        ax.set(xlabel=names[a], ylabel=names[b])
    finish(figure_)
    return figure_


def svg(figure_: Figure) -> str:
    """Return the figure as SVG text."""
    buffer = io.StringIO()
    figure_.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _with_dark_style(text: str) -> str:
    """Return SVG text that is readable on a light and on a dark ground."""
    return text.replace("<defs>", f"{DARK}<defs>", 1)


def check_target(path: str | os.PathLike[str]) -> str:
    """Return the format that a picture's file name ends with.

    Raises InvalidInput for other formats, unwritable files, or if matplotlib is missing.
    """
    suffix = os.fspath(path).rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InvalidInput(f"{os.fspath(path)}: expected a name ending in .png, .svg or .pdf")
    figure()
    target_of(path)
    return suffix


def save(figure_: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure in the format of the file's suffix, atomically."""
    suffix = check_target(path)
    if suffix == "svg":
        grounds = [figure_.patch, *(ax.patch for ax in figure_.axes)]
        before = [ground.get_alpha() for ground in grounds]
        for ground in grounds:
            ground.set_alpha(0)
        text = _with_dark_style(svg(figure_))
        for ground, alpha in zip(grounds, before, strict=True):
            ground.set_alpha(alpha)
        with atomic_write(path) as stream:
            stream.write(text)
        return
    with atomic_write(path, "wb") as stream:
        figure_.savefig(stream, format=suffix, dpi=300)
