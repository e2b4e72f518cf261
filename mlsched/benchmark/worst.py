"""Worst cases of a rule: the instances with its largest gaps, its plan beside the optimal one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlsched import api
from mlsched.api.asked import default_solver
from mlsched.benchmark import plan_pictures, plots
from mlsched.core import html, tables
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of, short_repr
from mlsched.core.contract import Instance, format_value
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import Gap
from mlsched.core.params import Number, Positive, Seed
from mlsched.core.registry import registry
from mlsched.core.request import resolve_objective
from mlsched.core.result import Result

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Loss:
    """A heuristic's result on one instance, next to the optimum.

    `gap` is measured from the optimum, or from the best bound if the optimum was not proven. It is then an upper limit.

    Attributes:
        name: Name of the instance.
        instance: The instance.
        result: The heuristic's result.
        best: The exact solver's result.
        gap: Gap of the result.
    """

    name: str
    instance: Instance
    result: Result
    best: Result
    gap: Gap

    def __repr__(self) -> str:
        relation = "worse than the optimum" if self.best.status == "optimal" else "worse than the bound, at most"
        return short_repr(self, f"instance {self.name}", f"{self.result.solver} is {self.gap} {relation}")

    def _repr_html_(self) -> str:
        """Show both values and the gap in a notebook."""
        return Losses([self])._repr_html_()

    @property
    def order(self) -> tuple[float, ...]:
        """Sort key, larger is worse: primary count, share, difference."""
        behind = self.gap.difference if self.gap.primary is not None else 0
        share = self.gap.share
        return behind, float("inf") if share is None and self.gap.difference > 0 else share or 0.0, self.gap.difference

    @property
    def worded(self) -> tuple[str, str]:
        """The rule's value and the best value, formatted."""
        return format_value(self.result.sort_key, self.result.primary), format_value(
            self.best.sort_key, self.best.primary
        )

    def plot(self) -> list[Axes]:
        """Return two matplotlib axes side by side: the rule's plan, and the best plan."""
        axes: list[Axes] = draw_worst([self], notebook=True).axes[:2]
        return axes


class Losses(list[Loss]):
    """Losses, the worst first, with methods for notebooks."""

    def __repr__(self) -> str:
        worst = f"the worst {self[0].gap}" if self else None
        return short_repr(self, count_of(len(self), "instance"), worst)

    def table(self) -> dict[str, list[Any]]:
        """Return one row per instance: name, value of the rule, best value and its status, and the gap as a share."""
        return {
            "instance": [loss.name for loss in self],
            "solver": [loss.result.solver for loss in self],
            "value": [loss.result.value for loss in self],
            "best": [loss.best.value for loss in self],
            "bound": [loss.best.bound for loss in self],
            "status": [loss.best.status for loss in self],
            "gap": [loss.gap.share for loss in self],
            "difference": [loss.gap.difference for loss in self],
        }

    def dataframe(self) -> pandas.DataFrame:
        """Return `table` as a pandas DataFrame."""
        return tables.dataframe(self.table())

    def _repr_html_(self) -> str:
        header = ["instance", "value", "best", "gap"]
        rows = [[loss.name, *loss.worded, str(loss.gap)] for loss in self]
        return html.titled_block("worst instances", [], html.html_table(header, rows, most=html.MAX_ROWS))


class Interrupted(KeyboardInterrupt):
    """Raised if the search was interrupted; `losses` are the worst so far, of `done` instances."""

    def __init__(self, losses: Losses, done: int) -> None:
        super().__init__("interrupted")
        self.losses, self.done = losses, done


def _refuse_unproving(best: str, instance: Instance) -> None:
    """Raise InvalidInput, before any work, for a solver that proves no optimum."""
    if registry().solver(instance.problem, best)[0].kind != "exact":
        solvers = ", ".join(registered.name for registered in registry().available(instance.problem, "exact"))
        raise InvalidInput(f"best: '{best}', expected an exact solver: {solvers}")


@validate_arguments
def worst_cases(
    solver: api.AnySolver,
    instances: Iterable[Instance] | Mapping[str, Instance],
    *,
    most: Number = 3,
    best: str | None = None,
    objective: str | None = None,
    time_limit: Positive | None = None,
    seed: Seed = 0,
    progress: Callable[[int, int], None] | None = None,
    report: Callable[[Losses], None] | None = None,
    **params: Any,
) -> Losses:
    """Return the instances with the largest gaps of a solver to the optimum, the worst first.

    Instances without a feasible plan are skipped.

    Args:
        solver: As for `solve`.
        instances: Instances by name, or a sequence of instances.
        most: Number of instances to return.
        best: Exact solver to compare with, by default the problem's.
        objective: Name of one of the instances' objectives; by default the first.
        time_limit: Wall seconds of the exact solver on each instance.
        seed: Random seed of the solver, an integer >= 0.
        progress: Called with (done, total) after each instance.
        report: Called with the worst so far after each instance.
        params: Further keywords are the solver's parameters.

    Returns:
        The losses, the worst first.

    Raises:
        SolverError: The rule finds no plan although a plan exists.
        InvalidInput: An argument is invalid, or there are zero instances.
        Interrupted: Ctrl-C was pressed; it has the worst so far.

    Examples:
        >>> instances = [mlsched.generate("preemption", "small", seed=seed) for seed in range(5)]
        >>> losses = mlsched.worst_cases("fifo", instances, most=2)
        >>> losses[0].gap
        <Gap: 2 more deferred TE jobs>
    """
    instances_by_name = (
        dict(instances) if isinstance(instances, Mapping) else {str(i): one for i, one in enumerate(instances)}
    )
    if not instances_by_name:
        raise InvalidInput("instances: expected at least one")
    if best is not None:
        _refuse_unproving(best, next(iter(instances_by_name.values())))
    losses, finished = Losses(), 0
    try:
        for number, (name, instance) in enumerate(instances_by_name.items(), start=1):
            goal = resolve_objective(instance, objective).name
            exact = best or default_solver(instance, goal)
            optimum = api.solve(instance, exact, objective=objective, time_limit=time_limit)
            if optimum.status != "infeasible":
                answer = api.solve(instance, solver, objective=objective, seed=seed, **params)
                candidates = [*losses, Loss(name, instance, answer, optimum, answer.gap_to(optimum))]
                losses = Losses(sorted(candidates, key=lambda loss: loss.order, reverse=True)[:most])
            finished = number
            if progress is not None:
                progress(number, len(instances_by_name))
            if report is not None:
                report(losses)
    except KeyboardInterrupt:
        raise Interrupted(losses, finished) from None
    return losses


@validate_arguments
def plot_losses(losses: Iterable[Loss], path: str | os.PathLike[str]) -> None:
    """Draw losses to a file (.png, .svg, .pdf), one row per instance: the rule's plan beside the best plan.

    Args:
        losses: Losses from `worst_cases`.
        path: The file.

    Examples:
        >>> instances = [mlsched.generate("preemption", "small", seed=seed) for seed in range(3)]
        >>> mlsched.plot_losses(mlsched.worst_cases("fifo", instances, most=1), "losses.svg")
    """
    plots.check_target(path)
    plots.save(draw_worst(losses), path)


def draw_worst(losses: Iterable[Loss], *, width: float = plots.PAGE, notebook: bool = False) -> Figure:
    """Return the figure of `plot_losses`: one row per loss, the rule's plan beside the best plan."""
    rows = list(losses)
    if not rows:
        raise InvalidInput("losses: expected at least one to draw")
    pairs = [(f"instance {loss.name}: {loss.gap} worse", loss.result, loss.best) for loss in rows]
    return plan_pictures.draw_losses(pairs, width, notebook)
