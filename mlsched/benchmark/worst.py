"""Where a rule loses: the instances on which it is furthest from the optimum, its plan beside the optimal one."""

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
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Loss:
    """One instance, by its name: what the rule answered, what an exact solver did, and how much the rule is worse.

    `gap` is to what `best` proved: its value where it is optimal, else its bound, so that the rule is at most so bad.
    """

    name: str
    instance: Instance
    result: Result
    best: Result
    gap: Gap

    def __repr__(self) -> str:
        said = "worse than the optimum" if self.best.status == "optimal" else "worse than the bound, at most"
        return short_repr(self, f"instance {self.name}", f"{self.result.solver} is {self.gap} {said}")

    def _repr_html_(self) -> str:
        """For notebooks: both values, and the gap."""
        return Losses([self])._repr_html_()

    @property
    def order(self) -> tuple[float, ...]:
        """Larger is worse: first by what the objective counts before its value, then by share, then by difference."""
        behind = self.gap.difference if self.gap.primary is not None else 0
        share = self.gap.share
        return behind, float("inf") if share is None and self.gap.difference > 0 else share or 0.0, self.gap.difference

    @property
    def worded(self) -> tuple[str, str]:
        """The rule's value and the best one, as people read them."""
        return format_value(self.result.sort_key, self.result.primary), format_value(
            self.best.sort_key, self.best.primary
        )

    def plot(self) -> list[Any]:
        """Two matplotlib axes side by side: the rule's plan, and the best one."""
        return picture([self], notebook=True).axes[:2]


class Losses(list[Loss]):
    """Losses, the worst first, with what a notebook wants of them."""

    def __repr__(self) -> str:
        worst = f"the worst {self[0].gap}" if self else None
        return short_repr(self, count_of(len(self), "instance"), worst)

    def table(self) -> dict[str, list[Any]]:
        """A row an instance: its name, the rule's value, the best one, how that is backed, and the gap as a share."""
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

    def dataframe(self) -> Any:
        """`table` as a pandas DataFrame."""
        return tables.dataframe(self.table())

    def _repr_html_(self) -> str:
        header = ["instance", "value", "best", "gap"]
        rows = [[loss.name, *loss.worded, str(loss.gap)] for loss in self]
        return html.titled_block("worst instances", [], html.html_table(header, rows, most=html.MAX_ROWS))


class Interrupted(KeyboardInterrupt):
    """The search was interrupted; `losses` are the worst so far, of `done` instances."""

    def __init__(self, losses: Losses, done: int) -> None:
        super().__init__("interrupted")
        self.losses, self.done = losses, done


def _refuse_unproving(best: str, instance: Instance) -> None:
    """Raise InvalidInput for a solver from which no gap can be measured, before any work."""
    if registry().solver(instance.problem, best)[0].kind != "exact":
        known = ", ".join(found.name for found in registry().available(instance.problem, "exact"))
        raise InvalidInput(f"best = '{best}': proves no optimum to compare with; give an exact solver: {known}")


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
    """The instances on which a solver is furthest from the optimum, the worst first.

    An instance without a feasible plan is left out.

    Args:
        solver: as for `solve`.
        instances: by the names that shall be shown, or one after another.
        most: how many to return.
        best: the exact solver to compare with, the problem's by default.
        objective: one of the instances', by name; the first by default.
        time_limit: wall seconds of the exact solver on each instance.
        seed: of the solver, an integer >= 0.
        progress: called with (done, total) after each instance.
        report: called with the worst so far after each instance.
        params: further keywords are the solver's parameters.

    Raises:
        SolverError: the rule finds no plan although there is one.
        InvalidInput: there is no instance, or the call is wrong.
        Interrupted: Ctrl-C was pressed; it has the worst so far.

    Examples:
        >>> instances = [mlsched.generate("preemption", "small", seed=seed) for seed in range(5)]
        >>> losses = mlsched.worst_cases("fifo", instances, most=2)
        >>> losses[0].gap
        <Gap: 2 more deferred TE jobs>
    """
    named = dict(instances) if isinstance(instances, Mapping) else {str(i): one for i, one in enumerate(instances)}
    if not named:
        raise InvalidInput("instances: there is none")
    if best is not None:
        _refuse_unproving(best, next(iter(named.values())))
    losses, done = Losses(), 0
    try:
        for number, (name, instance) in enumerate(named.items(), start=1):
            goal = resolve_objective(instance, objective).name
            exact = best or default_solver(instance, goal)
            optimum = api.solve(instance, exact, objective=objective, time_limit=time_limit)
            if optimum.status != "infeasible":
                answer = api.solve(instance, solver, objective=objective, seed=seed, **params)
                found = [*losses, Loss(name, instance, answer, optimum, answer.gap_to(optimum))]
                losses = Losses(sorted(found, key=lambda loss: loss.order, reverse=True)[:most])
            done = number
            if progress is not None:
                progress(number, len(named))
            if report is not None:
                report(losses)
    except KeyboardInterrupt:
        raise Interrupted(losses, done) from None
    return losses


@validate_arguments
def plot_losses(losses: Iterable[Loss], path: str | os.PathLike[str]) -> None:
    """Draw losses into a picture (.png, .svg, .pdf), a row an instance: the rule's plan beside the best one.

    Args:
        losses: as `worst_cases` returns them.
        path: the file.

    Examples:
        >>> instances = [mlsched.generate("preemption", "small", seed=seed) for seed in range(3)]
        >>> mlsched.plot_losses(mlsched.worst_cases("fifo", instances, most=1), "losses.svg")
    """
    plots.check_target(path)
    plots.save(picture(losses), path)


def picture(losses: Iterable[Loss], *, width: float = plots.PAGE, notebook: bool = False) -> Figure:
    """The same as a figure."""
    rows = list(losses)
    if not rows:
        raise InvalidInput("losses: there is none to draw")
    pairs = [(f"instance {loss.name}: {loss.gap} worse", loss.result, loss.best) for loss in rows]
    return plan_pictures.losses(pairs, width, notebook)
