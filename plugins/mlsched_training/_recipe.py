"""Recipes of trained policies: their interface, and how they are found."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.params import parameters_of, resolve
from mlsched.core.registry import registry

#: Arrays by name, of a state or of weights.
Tensors = dict[str, Array]


@dataclasses.dataclass(frozen=True)
class Validation:
    """Result of a policy on the validation set.

    Attributes:
        score: Score; smaller is better.
        meets: Whether the policy meets the recipe's criterion; such a policy is better than any other.
        figures: Further figures for the learning curve.
    """

    score: float
    meets: bool = True
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)


class Learner(Protocol):
    """Policy in training.

    All random draws in iteration k follow from (seed, k) only, so a resumed training gives the same bits as an
    uninterrupted one. A learner may be a context manager, which is closed after the training.
    """

    def improve(self, iteration: int) -> dict[str, float]:
        """Run one iteration (1, 2, ...) and return figures for the learning curve."""

    def validate(self, weights: Tensors) -> Validation:
        """Return the result of the policy with these weights on the validation set."""

    def weights(self) -> Tensors:
        """Return the current policy as float32 arrays by name."""

    def state(self) -> Tensors:
        """Return the complete state as arrays by name."""

    def restore(self, state: Tensors) -> None:
        """Restore a `state`."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Recipe by which a policy is trained.

    Attributes:
        policy: Name of the policy.
        problem: Problem that the policy answers.
        params: Dataclass of the parameters.
        learner: `learner(params, seed, device)` returns a new learner.
        data: `data(params)` describes the training data.
        iterations: Default number of iterations.
        every: `every(params)` returns the number of iterations between validations.
        trained: `trained(params, curve)` returns whether a learning curve meets the recipe's criterion; None for a
            recipe without a criterion.
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
        """Return the parameters with the `given` values; text is parsed as the field's type."""
        return self.params(**resolve(f"training {self.policy}", parameters_of(self.params), given))


def layers_of(hidden: str) -> list[int]:
    """Return the numbers of neurons per hidden layer in a text such as 64-32-4."""
    try:
        sizes = [int(part) for part in hidden.split("-")]
    except ValueError:
        sizes = []
    if not sizes or not all(0 < n <= 4096 for n in sizes):
        raise InvalidInput(f"hidden: {hidden!r}, expected numbers of neurons like 64-32-4")
    return sizes


@functools.cache
def recipes() -> dict[str, Recipe]:
    """Return the recipes by policy from the folders `mlsched_training/<problem>/`."""
    recipes_by_name: dict[str, Recipe] = {}
    here = importlib.import_module("mlsched_training")
    for folder in pkgutil.iter_modules(here.__path__):
        if folder.name in registry().problems:
            package = importlib.import_module(f"{here.__name__}.{folder.name}")
            for module in pkgutil.iter_modules(package.__path__):
                module_name = None if module.name.startswith("_") else f"{package.__name__}.{module.name}"
                one = getattr(importlib.import_module(module_name), "RECIPE", None) if module_name else None
                if isinstance(one, Recipe):
                    recipes_by_name[one.policy] = one
    return recipes_by_name


def recipe(policy: str) -> Recipe:
    """Return the recipe of a policy, or raise UnknownName."""
    if policy not in recipes():
        policies = sorted(recipes())
        raise UnknownName(
            f"unknown policy '{policy}' to train{did_you_mean(policy, policies)}; there are {', '.join(policies)}"
        )
    return recipes()[policy]
