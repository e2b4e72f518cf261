"""Models that users take away: what a problem's package of formulations exports as `MODELS`.

A complete model has a solution for every plan that the judge accepts, so constraints may be added to it. A pruned one
leaves out plans that no optimum needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlsched.core.errors import TooLarge

if TYPE_CHECKING:
    from mlsched.core.contract import Instance
    from mlsched.core.formulation import Formulation

#: Default of the largest number of variables that `mlsched.model` writes: 20,000 take a minute where rows are long.
MOST_VARIABLES = 20_000


@dataclasses.dataclass(frozen=True)
class Group:
    """A named group of variables, expressions or constraints of a model.

    index: the meaning of each entry of its index, in order; empty for a single one.
    """

    name: str
    index: tuple[str, ...]
    doc: str

    def __str__(self) -> str:
        entries = f"[{', '.join(self.index)}]" if self.index else ""
        return f"{self.name}{entries}: {self.doc}"


@dataclasses.dataclass(frozen=True)
class Size:
    """The form of a model, and the largest number of its variables."""

    complete: bool = False
    most: int | None = None

    def check(self, count: int) -> None:
        """Raise TooLarge if a model has more variables than allowed."""
        if self.most is not None and count > self.most:
            form, other = ("complete", ", or take the pruned=True (--pruned) form") if self.complete else ("pruned", "")
            raise TooLarge(f"most_variables = {self.most}: the {form} model has {count} variables; raise it{other}")


#: The form of the models that the solvers of this library solve.
FAST = Size()


@dataclasses.dataclass(frozen=True)
class NamedModel:
    """A CP-SAT formulation with its variables (or literals, or numbers) by name."""

    formulation: Formulation
    variables: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class NativeModels:
    """The models of a problem that are written for CP-SAT itself, with their groups."""

    build: Callable[[Any, tuple[str, ...], Size], NamedModel]
    variables: Sequence[Group]
    constraints: Sequence[Group]


@dataclasses.dataclass(frozen=True)
class Models:
    """The models of a problem that users take away.

    build(instance, objectives, size): a Pyomo formulation whose variables and constraints are in named groups.
    cp_sat: None: the Pyomo model is translated. left_out: the plans that pruned models leave out. limits: the plans
    that complete models leave out, if any.
    """

    build: Callable[[Any, tuple[str, ...], Size], Formulation]
    objectives: tuple[str, ...]
    variables: Sequence[Group]
    constraints: Sequence[Group]
    left_out: str
    cp_sat: NativeModels | None = None
    limits: str = ""


def with_objective(made: Formulation, instance: Instance, objective: str) -> Any:
    """A formulation's Pyomo model with one of its objectives set, constants included."""
    import pyomo.environ as pyo

    sense = pyo.minimize if instance.objective(objective).sense == "min" else pyo.maximize
    made.model.objective = pyo.Objective(expr=sort_key(made, objective), sense=sense)
    return made.model


def index_of(key: tuple[Any, ...]) -> Any:
    """The index of a component in Pyomo: an index of one entry is that entry."""
    return key[0] if len(key) == 1 else key


def sort_key(made: Formulation, objective: str) -> Any:
    """The judge's sort key of an objective as an expression of the model."""
    return sum(t.weight * t.expression for t in made.objectives[objective]) + made.constant.get(objective, 0)
