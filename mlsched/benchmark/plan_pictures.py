"""Pictures of plans, for notebooks and files: of one plan, and of an answer beside the optimum."""

from __future__ import annotations

from typing import Any

from mlsched.benchmark import plots
from mlsched.core.arguments import explained
from mlsched.core.contract import Instance, Plan, worded
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.core.result import Result

#: Inches: size of a picture, and what each strip below a chart adds to its height.
WIDTH, HEIGHT, STRIP = 9.0, 4.5, 0.7


@explained
def plot(plan: Plan | Result, instance: Instance | None = None, *, ax: Any = None) -> Any:
    """Draw a plan on matplotlib axes, those given or new ones, and return them.

    `axes.figure.savefig("plan.png")` writes the picture; a notebook shows it.

    Args:
        plan: a plan; or a Result, which holds its instance, and whose answerer, value and status head the picture.
        instance: what a plan answers.
        ax: matplotlib axes to draw on; by default new ones.

    Raises:
        InvalidInput: the plan is not feasible, there is no picture of such plans, or matplotlib is missing.

    Examples:
        >>> axes = mlsched.plot(mlsched.solve(mlsched.generate("quality", "small"), "slaq"))
        >>> axes.get_ylabel()
        'cores'
    """
    head = ""
    if isinstance(plan, Result):
        head, result = headline(plan), plan
        instance = instance or result.instance
        if result.plan is None:
            raise InvalidInput(f"plot: {result.answerer} found no plan ({result.status}); there is nothing to draw")
        plan = result.plan
    if not isinstance(plan, Plan):
        raise InvalidInput(f"plot: a {type(plan).__name__} is no plan and no result; give one, see mlsched.solve")
    if not isinstance(instance, Instance):
        raise InvalidInput("plot: which instance does the plan answer? give plot(plan, instance)")
    draw = registry().problem(instance.problem).draw
    if draw is None:
        raise InvalidInput(f"plot: there is no picture of a {instance.problem} plan")
    if wrong := instance.violations(plan):
        raise InvalidInput(f"plot: the plan is infeasible: {wrong[0]}")
    if ax is None:
        ax = new_axes()[0]
    alone = len(ax.figure.axes) == 1
    draw(instance, plan, ax)
    strips = len({id(axes.get_subplotspec()) for axes in ax.figure.axes}) - 1
    if alone and strips:
        ax.figure.set_figheight(HEIGHT + STRIP * strips)
    if head:
        ax.set_title(head if ax.get_title() in head else f"{head}\n{ax.get_title()}")
    return ax


def headline(result: Result) -> str:
    """Who answered, and how good the answer is."""
    value = worded(result.value, result.rank, result.unit)
    return f"{result.answerer}: {result.objective} {value} ({result.status})"


def new_axes(count: int = 1, height: float = HEIGHT) -> list[Any]:
    """Axes side by side in a figure that notebooks show and that belongs to nobody else."""
    plots.figure()  # says so where matplotlib is missing
    import matplotlib.pyplot as plt

    size = (WIDTH * count**0.5, height)
    axes = plt.subplots(1, count, figsize=size, layout="constrained", squeeze=False)[1]
    for ax in axes.ravel():
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    return list(axes.ravel())
