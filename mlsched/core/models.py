"""Models that users export: the type of `MODELS` in a problem's package of formulations.

A complete model has a solution for every plan that the judge accepts, so users may add constraints. A pruned model
omits plans that no optimum needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mlsched.core.errors import TooLarge

if TYPE_CHECKING:
    from mlsched.core.contract import Instance
    from mlsched.core.formulation import Formulation

T = TypeVar("T")

#: Default limit of variables in `mlsched.model`: 20,000 take a minute if rows are long.
MAX_VARIABLES = 20_000


@dataclasses.dataclass(frozen=True)
class Group:
    """Named group of variables, expressions or constraints of a model.

    Attributes:
        name: Name of the group.
        index: Meaning of each entry of its index, in order; empty for a single component.
        doc: Meaning of the group.
    """

    name: str
    index: tuple[str, ...]
    doc: str

    def __str__(self) -> str:
        entries = f"[{', '.join(self.index)}]" if self.index else ""
        return f"{self.name}{entries}: {self.doc}"


@dataclasses.dataclass(frozen=True)
class Size:
    """Form of a model, and its largest number of variables."""

    complete: bool = False
    most: int | None = None

    def check(self, count: int) -> None:
        """Raise TooLarge if a model has more variables than allowed."""
        if self.most is not None and count > self.most:
            form, other = ("complete", ", or take the pruned=True (--pruned) form") if self.complete else ("pruned", "")
            raise TooLarge(f"most_variables: {self.most}, expected {count} for the {form} model; raise it{other}")


#: Form of the models that the library's own solvers use.
FAST = Size()


@dataclasses.dataclass(frozen=True)
class NamedModel:
    """CP-SAT formulation with its variables (or literals, or numbers) by name."""

    formulation: Formulation
    variables: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class NativeModels:
    """Models of a problem written for CP-SAT itself, with their groups."""

    build: Callable[[Any, tuple[str, ...], Size], NamedModel]
    variables: Sequence[Group]
    constraints: Sequence[Group]


@dataclasses.dataclass(frozen=True)
class Models:
    """Models of a problem that users export.

    Attributes:
        build: `build(instance, objectives, size)` returns a Pyomo formulation with variables and constraints in named
            groups.
        objectives: Objectives that the models have.
        variables: Groups of variables.
        constraints: Groups of constraints.
        left_out: Plans that pruned models omit.
        cp_sat: Models for CP-SAT; None: the Pyomo model is translated.
        limits: Plans that complete models omit, if any.
    """

    build: Callable[[Any, tuple[str, ...], Size], Formulation]
    objectives: tuple[str, ...]
    variables: Sequence[Group]
    constraints: Sequence[Group]
    left_out: str
    cp_sat: NativeModels | None = None
    limits: str = ""


def with_objective(formulation: Formulation, instance: Instance, objective: str) -> Any:
    """Return a formulation's Pyomo model with one of its objectives set, constants included."""
    import pyomo.environ as pyo

    sense = pyo.minimize if instance.objective(objective).sense == "min" else pyo.maximize
    formulation.model.objective = pyo.Objective(expr=sort_key(formulation, objective), sense=sense)
    return formulation.model


def index_of(key: tuple[T, ...]) -> T | tuple[T, ...]:
    """Return the index of a Pyomo component: the entry itself for an index of one entry."""
    return key[0] if len(key) == 1 else key


def sort_key(formulation: Formulation, objective: str) -> Any:
    """Return the judge's sort key of an objective as an expression of the model."""
    return sum(t.weight * t.expression for t in formulation.objectives[objective]) + formulation.constant.get(
        objective, 0
    )
