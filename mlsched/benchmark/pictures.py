"""`plot`: one call for a picture of plans, results, fronts, runs and losses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mlsched.benchmark import plan_pictures, plots, run_pictures, worst
from mlsched.benchmark.worst import Loss
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.result import Result
from mlsched.simulation import Run
from mlsched.solvers.front import Front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WHAT = "a plan, a Result, a Front, a Run or several, or losses"


@validate_arguments
def plot(
    thing: Plan | Result | Front | Run | Loss | Sequence[Run] | Mapping[str, Run] | Sequence[Loss],
    instance: Instance | None = None,
    *,
    ax: Axes | None = None,
    width: Literal["column", "page"] | float = plots.PAGE,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw a plan, a result, a front, a run, several runs over one workload, or losses; return the axes.

    Pictures have their size on paper: fonts are 7 points or more at any width. `axes.figure` is the figure.

    Args:
        thing: A plan, with its instance; a `Result`, whose solver, value and status form the title; a `Front`; a `Run`,
            a list of runs, or a dictionary by the names in the legend; or losses from `worst_cases`, or one of them.
        instance: Instance that a plan answers.
        ax: Matplotlib axes for a plan or a result; by default new ones.
        width: Width of new axes: "column" (3.3 inches, a column of a paper), "page" (6.9 inches), or inches.
        path: Also write the picture to this file (.png, .svg, .pdf).

    Returns:
        Matplotlib axes; a list of them if the picture has several panels.

    Raises:
        InvalidInput: There is nothing to draw, the plan is not feasible, or matplotlib is missing.

    Examples:
        >>> axes = mlsched.plot(mlsched.solve(mlsched.generate("quality", "small"), "slaq"), width="column")
        >>> axes.get_xlabel()
        'job, by predicted loss'
    """
    inches = plots.inches(width)
    if path is not None:
        plots.check_target(path)
    if isinstance(thing, (Plan, Result)):
        axes = plan_pictures.draw_plan(thing, instance, ax=ax, width=inches, notebook=True)
        drawn_figure = axes.figure
    else:
        if ax is not None or instance is not None:
            raise InvalidInput("plot: ax and instance are for plans and results; leave them out")
        drawn_figure = _picture_of(thing, inches)
        axes = [axis for axis in drawn_figure.axes if axis.get_visible()]
        axes = axes[0] if len(axes) == 1 else axes
    if path is not None:
        plots.save(drawn_figure, path)
    return axes


def _picture_of(thing: Any, inches: float) -> Figure:
    """Return the picture of anything but a plan, in a figure that notebooks display."""
    if isinstance(thing, Front):
        return plots.draw_front(thing, width=inches, notebook=True)
    if isinstance(thing, Run):
        return run_pictures.draw_runs([thing], width=inches, notebook=True)
    if isinstance(thing, Loss):
        return worst.draw_worst([thing], width=inches, notebook=True)
    items = list(thing.values()) if isinstance(thing, Mapping) else thing
    if not isinstance(items, (list, tuple)):
        raise InvalidInput(f"plot: {with_article(type(thing).__name__)} cannot be drawn; give {WHAT}")
    if items and all(isinstance(item, Run) for item in items):
        return run_pictures.draw_runs(thing, width=inches, notebook=True)
    if items and all(isinstance(item, Loss) for item in items):
        return worst.draw_worst(items, width=inches, notebook=True)
    raise InvalidInput(f"plot: the list contains {_kinds(items)}; give {WHAT}")


def _kinds(things: Sequence[object]) -> str:
    return " and ".join(dict.fromkeys(f"{with_article(type(one).__name__)}" for one in things)) or "nothing"
