"""Picture of a training: validation scores and the other figures of the learning curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.benchmark import plots
from mlsched.core.aliases import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Number of panels side by side; width and height of a panel in inches.
COLUMNS, WIDTH, HEIGHT = 3, 4.2, 2.9
#: Number of points above which a line is drawn faintly, with its mean over a tenth of the training on top.
SMOOTHED = 30


def training_picture(policy: str, curve: Sequence[Mapping[str, float]], scores: Mapping[str, float]) -> Figure:
    """Return a figure with one panel per figure of a learning curve, the validation score first.

    A mark shows the score of the returned weights (the lowest, unless only another meets the recipe's criterion). A
    dashed line shows the score of the untrained policy.

    Args:
        policy: Name of the policy.
        curve: One entry per iteration, with its measured figures.
        scores: Scores in the card of the weights.
    """
    names = list(dict.fromkeys(name for entry in curve for name in entry if name != "iteration"))
    names = [name for name in names if name == "validation" or not name.startswith("validation_")]
    names.sort(key=lambda name: name != "validation")
    columns = min(COLUMNS, max(1, len(names)))
    rows = -(-max(1, len(names)) // columns)
    figure, axes = plots.figure(width=WIDTH * columns, height=HEIGHT * rows, columns=columns, rows=rows)
    for ax, name in zip(axes, names, strict=False):
        points = np.array([(entry["iteration"], entry[name]) for entry in curve if name in entry], dtype=float)
        _draw_panel(ax, name, points)
        if name == "validation":
            _mark_scores(ax, scores)
        ax.set(xlabel="iteration", xlim=(0, 1.02 * max((entry["iteration"] for entry in curve), default=1)))
        ax.locator_params(axis="x", integer=True)
        ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 5), useMathText=True)
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    figure.suptitle(f"training of {policy}", fontsize=plots.TEXT + 1)
    plots.finish(figure)
    return figure


def _title_of_figure(name: str) -> str:
    """Return the name of a figure in words, with its unit after a comma."""
    if name == "validation":
        return "validation score (less is better)"
    words = name.removesuffix("_s").replace("_", " ")
    return f"{words}, s" if name.endswith("_s") else words


def _draw_panel(ax: Any, name: str, points: Array) -> None:
    """Draw a figure; a line of many points is drawn faintly behind its moving mean."""
    ax.set_title(_title_of_figure(name), fontsize="medium")
    xs, ys = points[:, 0], points[:, 1]
    if len(xs) <= SMOOTHED:
        ax.plot(xs, ys, marker="o", markersize=3, color=plots.COLOURS[0])
        return
    width = max(2, len(xs) // 10)
    sums = np.concatenate([[0.0], np.cumsum(ys)])
    ends = np.arange(1, len(ys) + 1)
    starts = np.maximum(0, ends - width)
    ax.plot(xs, ys, color=plots.COLOURS[0], alpha=0.25, linewidth=0.8)
    ax.plot(xs, (sums[ends] - sums[starts]) / (ends - starts), color=plots.COLOURS[0], label=f"mean of {width}")
    ax.legend(fontsize="small", frameon=False)


def _mark_scores(ax: Any, scores: Mapping[str, float]) -> None:
    """Mark the scores of the returned weights and of the untrained policy."""
    at, best, untrained = (scores[name] for name in ("best_iteration", "validation", "untrained_validation"))
    ax.plot(at, best, "*", color=plots.COLOURS[1], markersize=11, label=f"kept: {best:.5g}, iteration {at}")
    ax.axhline(untrained, color="#444444", linestyle="--", linewidth=1, label=f"untrained: {untrained:.5g}")
    ax.legend(fontsize="small", frameon=False)
