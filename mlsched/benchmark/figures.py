"""The report's pictures: how far answerers are from the optimum, and how solve time grows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.benchmark import plots
from mlsched.benchmark.row import BROKEN, Row
from mlsched.benchmark.table import group_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def gap_distribution(rows: Sequence[Row]) -> Figure | None:
    """One panel an objective: the share of instances (y) on which an answerer is within a gap (x) of the optimum.

    rows: of one problem. Instances whose optimum is 0 are left out; a gap that the rank decides is beyond every
    percentage. Exact answerers are drawn only where some gap is not 0. None when there is nothing to draw.
    """
    shares = [(row, _share(row)) for row in rows]
    short = {(row.answerer, row.objective) for row, share in shares if share}
    drawn = [r for r, s in shares if s is not None and (r.kind != "exact" or (r.answerer, r.objective) in short)]
    panels = group_by(drawn, lambda row: row.objective)
    if not panels:
        return None
    labels = list(dict.fromkeys(row.answerer for row in drawn))
    made, axes = plots.figure(width=1.6 + 3.6 * len(panels), height=3.4, columns=len(panels))
    for ax, (objective, group) in zip(axes, panels.items(), strict=True):
        percentages = {label: _percentages(own) for label, own in group_by(group, lambda r: r.answerer).items()}
        end = max(100.0, *(found[found < math.inf].max(initial=0.0) for found in percentages.values()))
        for label, found in percentages.items():
            compared = found[found < math.inf]
            heights = np.arange(len(compared) + 1) / len(found)
            # From (0, 0): the height of the first step at 0 is the share of optimal answers.
            xs, ys = [0.0, *compared, end], [*heights, heights[-1]]
            ax.step(xs, ys, where="post", label=label, linewidth=1.8, **plots.style(labels.index(label)))
        if end > 100:  # the familiar scale up to 100 %, powers of ten beyond
            ax.set_xscale("symlog", linthresh=100, linscale=2)
        ax.set(title=objective, xlabel="gap to the optimum, %", xlim=(-2, 1.02 * end), ylim=(0, 1.03))
    axes[0].set_ylabel("share of instances")
    plots.legend(made, axes)
    return made


def _percentages(rows: Sequence[Row]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The gaps of rows that have a share, ascending, in percent."""
    return np.sort([100 * (_share(row) or 0.0) for row in rows])


def _share(row: Row) -> float | None:
    """The gap as a share: infinite where the rank decides, None without an optimum or with an optimum of 0."""
    found = row.gap_to_optimum
    if found is None:
        return None
    return math.inf if found.rank is not None else found.share


def solve_times(rows: Sequence[Row]) -> Figure | None:
    """Wall seconds of one call over the size of the instance, a series an exact answerer, a line through medians.

    rows: of one problem. Hollow marks are solves without a proof. None when there is nothing to draw.
    """
    drawn = [row for row in rows if row.kind == "exact" and row.seconds and row.status not in ("skipped", *BROKEN)]
    if not drawn:
        return None
    made, axes = plots.figure(width=7.0, height=3.8)
    for index, (label, own) in enumerate(group_by(drawn, lambda row: row.answerer).items()):
        style, marker = plots.style(index), MARKERS[index % len(MARKERS)]
        for proved in (True, False):
            part = [row for row in own if (row.status in ("optimal", "infeasible")) == proved]
            face = style["color"] if proved else "none"
            axes[0].scatter(
                [r.size for r in part],
                [r.seconds for r in part],
                s=16,
                alpha=0.45,
                marker=marker,
                facecolors=face,
                edgecolors=style["color"],
                linewidths=0.8,
            )
        # Instances of one preset differ a little in size: the line goes through the presets.
        presets = group_by(own, lambda row: row.case).values()
        points = sorted((_median([r.size for r in p]), _median([r.seconds or 0 for r in p])) for p in presets)
        axes[0].plot(*zip(*points, strict=True), label=label, marker=marker, markersize=5, linewidth=1.8, **style)
    axes[0].set(xscale="log", yscale="log", xlabel="integers in the instance", ylabel="wall time, s")
    plots.legend(made, axes)
    return made


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values))
