"""What a policy's training must provide, and where recipes are found."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.params import parameters_of, resolve
from mlsched.core.registry import registry

Tensors = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Validation:
    """What a policy came to on the validation set. score: smaller is better. meets: whether it meets the recipe's
    criterion for a policy; one that does is better than any that does not. figures: more, for the learning curve.
    """

    score: float
    meets: bool = True
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)


class Learner(Protocol):
    """A policy in training. Everything random in iteration k follows from (seed, k) alone, so that a resumed training
    goes on to the bit as if it had never stopped. One that is a context manager is left when the training is over.
    """

    def improve(self, iteration: int) -> dict[str, float]:
        """Do one iteration (1, 2, ...); figures for the learning curve."""

    def validate(self) -> Validation:
        """The current policy on the validation set."""

    def weights(self) -> Tensors:
        """The current policy, float32 arrays by name."""

    def state(self) -> Tensors:
        """Everything that changes, as arrays by name."""

    def restore(self, state: Tensors) -> None:
        """Go back to a `state`."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a policy is trained. learner(params, seed, device) begins; data(params) describes what it is trained on;
    every(params): iterations between validations. trained(params, curve): whether a learning curve meets the recipe's
    criterion for a training that has ended; None where a recipe has none.
    """

    policy: str
    problem: str
    params: type[Any]
    learner: Callable[[Any, int, str], Learner]
    data: Callable[[Any], dict[str, Any]]
    iterations: int
    every: Callable[[Any], int]
    trained: Callable[[Any, Sequence[Mapping[str, float]]], bool] | None = None

    def resolve(self, given: Mapping[str, Any]) -> Any:
        """The params with `given` ones set; text is parsed by the field's type."""
        return self.params(**resolve(f"training {self.policy}", parameters_of(self.params), given))


def layers_of(hidden: str) -> list[int]:
    """Neurons of hidden layers that are written like 64-32-4."""
    try:
        sizes = [int(part) for part in hidden.split("-")]
    except ValueError:
        sizes = []
    if not sizes or not all(0 < n <= 4096 for n in sizes):
        raise InvalidInput(f"hidden: {hidden!r}, expected numbers of neurons like 64-32-4")
    return sizes


@functools.cache
def recipes() -> dict[str, Recipe]:
    """Policy -> recipe, found by scanning `training/<problem>/`."""
    recipes_by_name: dict[str, Recipe] = {}
    here = importlib.import_module("mlsched_training")
    for folder in pkgutil.iter_modules(here.__path__):
        if folder.name in registry().problems:
            package = importlib.import_module(f"{here.__name__}.{folder.name}")
            for module in pkgutil.iter_modules(package.__path__):
                loaded = None if module.name.startswith("_") else f"{package.__name__}.{module.name}"
                one = getattr(importlib.import_module(loaded), "RECIPE", None) if loaded else None
                if isinstance(one, Recipe):
                    recipes_by_name[one.policy] = one
    return recipes_by_name


def recipe(policy: str) -> Recipe:
    """The recipe of that name, or UnknownName."""
    if policy not in recipes():
        known = sorted(recipes())
        raise UnknownName(f"no policy '{policy}' to train{did_you_mean(policy, known)}; there are {', '.join(known)}")
    return recipes()[policy]
