"""Pictures, by matplotlib (the `plot` extra). Every function returns a figure; `svg` and `save` turn it into output."""

from __future__ import annotations

import io
import itertools
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write
from mlsched.core.safe_open import target_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Okabe and Ito's colours, told apart by colour-blind readers too; with the dashes they make 28 styles.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
DASHES = ("-", "--", ":", "-.")


#: Inches: the width of a column and of a page of a paper, for which pictures are drawn at their size.
COLUMN, PAGE = 3.3, 6.9
#: Points: text of titles and axes, and the smallest text there is.
TEXT, SMALL = 8.0, 7.0
#: A sign's mean width as a share of its height, and the points that a legend's sample of a line takes.
SIGN, SAMPLE = 0.56, 34
#: Inches beside the panels of a picture that numbers and labels take.
SIDES = 0.75
#: The same of a line of text.
LINE = 0.13
#: Pictures have no ground of their own; on a dark one the reader's program turns black into white and keeps the hues.
DARK = "<style>@media (prefers-color-scheme: dark) {:root {filter: invert(1) hue-rotate(180deg)}}</style>"


def inches(width: str | float) -> float:
    """The width of a picture: "column", "page", or inches."""
    named = {"column": COLUMN, "page": PAGE}
    if isinstance(width, str) and width in named:
        return named[width]
    if isinstance(width, bool) or not isinstance(width, (int, float)) or not 2 <= width <= 40:
        raise InvalidInput(f"width: {width!r}, expected 'column' ({COLUMN} inches), 'page' ({PAGE}) or 2 to 40 inches")
    return float(width)


def style(index: int, count: int = 1) -> dict[str, Any]:
    """Colour and dash of the index-th line; of several, each has dashes of its own, and the first ones are wider.

    Where lines coincide, the wider one below is seen between the dashes of the one above it.
    """
    if count == 1:
        return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}
    turn = index + 2 * (index // len(COLOURS))  # as many styles as there are pairs
    width = 1.1 + 1.5 * (count - 1 - index) / (count - 1)
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[turn % len(DASHES)], "linewidth": width}


def legend(made: Figure, axes: Sequence[Any]) -> None:
    """One legend for all panels, above them, every name once."""
    handle_of = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handle_of:
        _legend(made, handle_of, "upper")


def one_legend(made: Figure) -> None:
    """The legends of all panels as one below them, every name once."""
    handle_of: dict[str, Any] = {}
    for ax in made.axes:
        if (box := ax.get_legend()) is not None:
            for text, handle in zip(box.get_texts(), box.legend_handles, strict=True):
                handle_of.setdefault(text.get_text(), handle)
            box.remove()
    if handle_of:
        _legend(made, handle_of, "lower")


def _legend(made: Figure, handle_of: Mapping[str, Any], side: str) -> None:
    """As many columns as the picture is wide enough for."""
    widest = max(len(name) for name in handle_of) * SIGN * SMALL + SAMPLE
    columns = max(1, min(len(handle_of), int(72 * made.get_figwidth() / widest)))
    where = {"loc": f"outside {side} center", "ncols": columns, "frameon": False, "fontsize": SMALL}
    made.legend(list(handle_of.values()), list(handle_of), **where)


def signs(inches: float) -> int:
    """How many characters of a title fit beside each other."""
    return max(14, int(72 * inches / (SIGN * TEXT)))


def wrapped(text: str, room: int) -> str:
    """Lines of at most so many characters."""
    return "\n".join(textwrap.fill(line, room) for line in text.split("\n"))


def direct_labels(ax: Any, most: int = 5) -> None:
    """The name of each line of a panel beside it, where it is furthest from all others; none where no place is free.

    Lines that lie on each other at all of their points have one label together: "fifo = srpt".
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
    taken: list[tuple[float, float, float, float]] = []
    for names in _coinciding({name: y for name, (y, _) in courses.items()}):
        own, colour = courses[names[0]]
        others = [y for name, (y, _) in courses.items() if name not in names]
        text = " = ".join(names)
        size = (SIGN * SMALL * len(text) + 4) / points[0], 1.5 * SMALL / points[1]
        place = _free(grid, own, others, size, taken)
        if place is not None:
            taken.append((*place, *size))
            ax.text(*place, text, transform=ax.transAxes, fontsize=SMALL, color=colour, ha="left", va="bottom")


def _corners(one: Any) -> Any:
    """The points of a line or of steps, as they are drawn."""
    return one.get_path().vertices


def _coinciding(courses: Mapping[str, Any]) -> list[list[str]]:
    """Names whose courses differ by less than a hundredth of the panel everywhere."""
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


def _free(
    grid: Any, own: Any, others: Sequence[Any], size: tuple[float, float], taken: Sequence[tuple[float, ...]]
) -> tuple[float, float] | None:
    """The lower left corner of a label beside a line, such that no line and no other label crosses it; None: nowhere.

    All in shares of the panel. Above the line or below it, at a little distance.
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


def finish(made: Figure) -> None:
    """Text of the sizes that paper asks for, titles within their panels."""
    for ax in made.axes:
        place = ax.get_subplotspec()
        grid = None if place is None else place.get_topmost_subplotspec().get_gridspec()
        columns, rows = (grid.ncols, grid.nrows) if grid else (1, 1)
        across = signs(made.get_figwidth() / columns - SIDES)
        title = wrapped(ax.get_title(), across)
        ax.title.set(text=title, fontsize=TEXT)
        others = LINE * (title.count("\n") + 1 if title else 0) + 3 * LINE * bool(made.legends) / rows
        up = signs(made.get_figheight() / rows - SIDES - others)
        for label, room in ((ax.xaxis.label, across), (ax.yaxis.label, up)):
            label.set(fontsize=TEXT, text=wrapped(label.get_text(), room))
        ax.tick_params(axis="both", which="both", labelsize=SMALL)
        for text in ax.texts:
            text.set_fontsize(max(SMALL, text.get_fontsize()))
        if (box := ax.get_legend()) is not None:
            for text in box.get_texts():
                text.set_fontsize(SMALL)


def figure(
    width: float = PAGE, height: float = 4.0, columns: int = 1, rows: int = 1, *, notebook: bool = False
) -> tuple[Figure, list[Any]]:
    """A figure with `columns` axes side by side in each of some `rows`, drawn without any display.

    notebook: it is one of pyplot's, which notebooks show and scripts with a window open.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput("pictures need matplotlib; pip install 'mlsched[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "mlsched"  # the same picture is the same file
    if notebook:
        import matplotlib.pyplot as plt

        made = plt.figure(figsize=(width, height), layout="constrained")
    else:
        made = Figure(figsize=(width, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    return made, list(axes)


def cdf(samples: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Empirical distributions: one panel per series, one line per policy; `samples[series][policy]` are its values."""
    made, axes = figure(width=3.4 * max(1, len(samples)), height=3.0, columns=max(1, len(samples)))
    for ax, (series, lines) in zip(axes, samples.items(), strict=False):
        distribution(ax, lines)
        ax.set(xlabel=series, ylabel="share of jobs")
    legend(made, axes)
    finish(made)
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
    made, axes = figure(width=max(PAGE, 3.4 * len(panels)), height=3.4, columns=max(1, len(panels)))
    for ax, (title, series) in zip(axes, panels.items(), strict=False):
        for index, (name, (xs, ys)) in enumerate(series.items()):
            ax.plot(xs, ys, marker="o", markersize=3, label=name, **style(index, len(series)))
        ax.set(title=title, xlabel=x, ylabel=y)
    legend(made, axes)
    finish(made)
    return made


def goal(name: str, unit: str | None, sense: str) -> str:
    """An objective as an axis says it: "makespan, ticks (less is better)"."""
    return f"{name}{f', {unit}' if unit else ''} ({'less' if sense == 'min' else 'more'} is better)"


def front_of(found: Any, *, width: float = PAGE, notebook: bool = False) -> Figure:
    """The picture of a `Front`, in values as people read them where nothing is compared before these."""
    table, units = found.table(), {}
    if found.instance is not None:
        units = {o.name: o.unit for o in found.instance.objectives}
    names = list(found.objectives or list(table)[: len(found.senses)])
    labels = [goal(name, units.get(name), sense) for name, sense in zip(names, found.senses, strict=True)]
    plain = len(table) == len(names)
    values = np.stack([table[name] for name in names], axis=1) if plain and len(found) else found.sort_keys
    boxes: list[tuple[Any, ...]] = [(box.lower, box.upper) for box in found.open]
    if not plain:
        labels = [f"{label}; with who waits" for label in labels]
    elif found.instance is not None and boxes:
        boxes = [tuple(_base(found.instance, names, end) for end in box) for box in boxes]
    return front(values, labels, found.senses, boxes, width=width, notebook=notebook)


def _base(instance: Any, names: Sequence[str], end: Sequence[Any]) -> list[Any]:
    """The corner of a box without what is compared before the values."""
    ranks = [instance.primary(name) for name in names]
    return [e if e is None or rank is None else rank.split(e)[1] for e, rank in zip(end, ranks, strict=True)]


def front(
    values: Any,
    names: Sequence[str],
    senses: Sequence[str],
    open_boxes: Sequence[Any] = (),
    *,
    width: float = PAGE,
    notebook: bool = False,
) -> Figure:
    """Non-dominated points, a panel for each pair of objectives; grey: boxes (lower, upper) where some may be missing.

    With two objectives a line joins the points in steps; with more, each panel is a projection. names: what the axes
    say (`goal`).
    """
    from matplotlib.patches import Rectangle

    pairs = list(itertools.combinations(range(len(names)), 2))
    columns = max(1, min(len(pairs), int(width / 2.2)))
    rows = -(-len(pairs) // columns)
    each = min(width / columns, 4.0)
    made, axes = figure(columns * each, rows * min(each, 3.0), columns, rows, notebook=notebook)
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
    finish(made)
    return made


def svg(made: Figure) -> str:
    """The figure as SVG text."""
    buffer = io.StringIO()
    made.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _themed(text: str) -> str:
    """SVG text whose picture is readable on a light and on a dark ground."""
    return text.replace("<defs>", f"{DARK}<defs>", 1)


def check_target(path: str | os.PathLike[str]) -> str:
    """The format of a picture's file name, or InvalidInput: also when it may not be written, or without matplotlib."""
    suffix = os.fspath(path).rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InvalidInput(f"{os.fspath(path)}: expected a name ending in .png, .svg or .pdf")
    figure()
    target_of(path)
    return suffix


def save(made: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure, its format by the file's suffix, atomically."""
    suffix = check_target(path)
    if suffix == "svg":
        grounds = [made.patch, *(ax.patch for ax in made.axes)]
        before = [ground.get_alpha() for ground in grounds]
        for ground in grounds:
            ground.set_alpha(0)
        text = _themed(svg(made))
        for ground, alpha in zip(grounds, before, strict=True):
            ground.set_alpha(alpha)
        with atomic_write(path) as stream:
            stream.write(text)
        return
    with atomic_write(path, "wb") as stream:
        made.savefig(stream, format=suffix, dpi=300)
