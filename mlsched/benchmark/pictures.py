"""`plot`: one call for a picture of anything that has one."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
    from matplotlib.figure import Figure

WHAT = "a plan, a Result, a Front, a Run or several, or losses"


@validate_arguments
def plot(
    thing: Any,
    instance: Instance | None = None,
    *,
    ax: Any = None,
    width: Literal["column", "page"] | float = plots.PAGE,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw a plan, a result, a front, a run, several runs over one workload, or losses; return the axes.

    What is drawn has its size on paper: fonts are 7 points and more at any width. `axes.figure` is the figure.

    Args:
        thing: a plan, with the instance that it answers; a `Result`, which holds its instance, and whose solver,
            value and status head the picture; a `Front`; a `Run`, a list of them, or a dictionary by the names that the
            legend shall show; or losses, as `worst_cases` returns them, or one of them.
        instance: of a plan, what it answers.
        ax: matplotlib axes to draw on, of a plan or a result; by default new ones.
        width: of new axes: "column" (3.3 inches, a column of a paper), "page" (6.9 inches), or inches.
        path: also write the picture there (.png, .svg, .pdf).

    Returns:
        matplotlib axes; a list of them where the picture has several panels.

    Raises:
        InvalidInput: there is nothing to draw, the plan is not feasible, or matplotlib is missing.

    Examples:
        >>> axes = mlsched.plot(mlsched.solve(mlsched.generate("quality", "small"), "slaq"), width="column")
        >>> axes.get_xlabel()
        'job, by predicted loss'
    """
    inches = plots.inches(width)
    if path is not None:
        plots.check_target(path)
    if isinstance(thing, (Plan, Result)):
        axes = plan_pictures.plot(thing, instance, ax=ax, width=inches, notebook=True)
        made = axes.figure
    else:
        if ax is not None or instance is not None:
            raise InvalidInput("plot: ax and instance are for plans and results; leave them out")
        made = _several(thing, inches)
        axes = [axis for axis in made.axes if axis.get_visible()]
        axes = axes[0] if len(axes) == 1 else axes
    if path is not None:
        plots.save(made, path)
    return axes


def _several(thing: Any, inches: float) -> Figure:
    """The picture of what is no plan, in a figure that notebooks show."""
    if isinstance(thing, Front):
        return plots.front_of(thing, width=inches, notebook=True)
    if isinstance(thing, Run):
        return run_pictures.picture([thing], width=inches, notebook=True)
    if isinstance(thing, Loss):
        return worst.picture([thing], width=inches, notebook=True)
    given = list(thing.values()) if isinstance(thing, Mapping) else thing
    if not isinstance(given, (list, tuple)):
        raise InvalidInput(f"plot: {with_article(type(thing).__name__)} has no picture; give {WHAT}")
    if given and all(isinstance(one, Run) for one in given):
        return run_pictures.picture(thing, width=inches, notebook=True)
    if given and all(isinstance(one, Loss) for one in given):
        return worst.picture(given, width=inches, notebook=True)
    raise InvalidInput(f"plot: the list holds {_kinds(given)}; give {WHAT}")


def _kinds(things: Any) -> str:
    return " and ".join(dict.fromkeys(f"{with_article(type(one).__name__)}" for one in things)) or "nothing"
