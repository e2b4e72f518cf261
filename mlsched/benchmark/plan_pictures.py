"""Pictures of plans, for notebooks and files: of one plan, and of an answer beside the optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlsched.benchmark import plots
from mlsched.core.contract import Instance, Plan, format_value
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.registry import registry
from mlsched.core.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Height of a picture as a share of its width, largest height in inches, and height of each strip below a chart.
SHARE, MAX_HEIGHT, STRIP = 0.55, 4.5, 0.5


def draw_plan(
    plan: Plan | Result,
    instance: Instance | None = None,
    *,
    ax: Any = None,
    width: float = plots.PAGE,
    notebook: bool = False,
) -> Any:
    """Draw a plan, or a result's plan under its headline, on matplotlib axes; return the axes.

    Args:
        plan: A plan, or a result.
        instance: Instance of a plan.
        ax: Axes; by default new ones.
        width: Width of new axes in inches.
        notebook: Create a figure that notebooks display.

    Raises:
        InvalidInput: There is nothing to draw.
    """
    result = plan if isinstance(plan, Result) else None
    if result is not None:
        instance = instance or result.instance
        if result.plan is None:
            raise InvalidInput(f"plot: {result.solver} found no plan ({result.status}); draw a result with a plan")
        plan = result.plan
    if not isinstance(plan, Plan):
        raise InvalidInput(
            f"plot: {with_article(type(plan).__name__)} is not a plan or result; give one, see mlsched.solve"
        )
    if not isinstance(instance, Instance):
        raise InvalidInput("plot: which instance does the plan answer? give plot(plan, instance)")
    draw = registry().problem(instance.problem).draw
    if draw is None:
        raise InvalidInput(f"plot: pictures do not exist for a {instance.problem} plan")
    if faults := instance.violations(plan):
        raise InvalidInput(f"plot: the plan is infeasible: {faults[0]}")
    own = ax is None
    if own:
        height = min(MAX_HEIGHT, SHARE * width) if width >= 5 else 0.85 * width
        ax = plots.figure(width, height, notebook=notebook)[1][0]
        ax.set_axisbelow(True)
    units = draw(instance, plan, ax) or {}
    if own:
        strips = len({id(axes.get_subplotspec()) for axes in ax.figure.axes}) - 1
        ax.figure.set_figheight(ax.figure.get_figheight() + STRIP * strips)
    if result is not None:
        head = headline(result, units)
        ax.title.set_text(head if ax.get_title() in head else f"{head}\n{ax.get_title()}")
    if own:
        plots.one_legend(ax.figure)
        plots.finish(ax.figure)
    return ax


def headline(result: Result, units: Mapping[str, tuple[str, float]] | None = None) -> str:
    """Return the solver with the value and status of its answer.

    Args:
        result: The result.
        units: An objective's unit -> the unit of the picture's axis, and the factor between them.
    """
    value = format_value(result.sort_key, result.primary, result.unit)
    if result.value is not None and units and result.unit in units:
        name, each = units[result.unit]
        value = f"{result.value * each:.4g} {name}"
    return f"{result.solver}: {result.objective} {value} ({result.status})"


def draw_losses(pairs: Sequence[tuple[str, Result, Result]], width: float, notebook: bool) -> Figure:
    """Draw a row for each pair of results: its title, the rule's plan and the best plan, on equal time axes.

    Args:
        pairs: Title, rule's result and best result of each row.
        width: Width in inches.
        notebook: Create a figure that notebooks display.
    """
    columns = 2 if width >= 5 else 1
    rows = len(pairs) * 2 // columns
    losses_figure, axes = plots.figure(width, rows * min(3.2, 0.85 * width / columns), columns, rows, notebook=notebook)
    for number, (title, rule, best) in enumerate(pairs):
        two = axes[2 * number : 2 * number + 2]
        for result, ax in zip((rule, best), two, strict=True):
            ax.set_axisbelow(True)
            draw_plan(result, ax=ax)
        two[0].title.set_text(f"{title}\n{two[0].get_title()}")
        if two[0].get_xlabel() == two[1].get_xlabel():
            ends = [f(a, b) for f, a, b in zip((min, max), two[0].get_xlim(), two[1].get_xlim(), strict=True)]
            for ax in two:
                ax.set_xlim(ends)
    plots.one_legend(losses_figure)
    plots.finish(losses_figure)
    return losses_figure
