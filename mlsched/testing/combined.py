"""Instances that combine features of a problem (`Problem.features`): every two of them, and most threes, together."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mlsched.core.contract import Instance, Problem
from mlsched.core.errors import InvalidInput


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a combined instance is made: a base, the features that are added to it in this order, and a seed."""

    base: Instance
    names: tuple[str, ...]
    seed: int

    def make(self, problem: Problem) -> Instance:
        """Return the base with the features added; one that an instance cannot have is left out."""
        made, rng = self.base, np.random.default_rng([self.seed, 1])
        for name in self.names:
            feature = problem.features[name]
            if feature.add is None or feature.has(made):
                continue
            try:
                made = feature.add(made, rng)
            except (InvalidInput, ValueError, IndexError):  # such as a job of an instance without jobs
                continue
        return made


def recipes(problem: Problem, bases: Sequence[Instance], count: int) -> Iterator[Recipe]:
    """Yield recipes of half of the features each; pairs that no instance before has had come first."""
    names = list(problem.features)
    missing = set(itertools.combinations(names, 2))
    for number in range(count):
        rng = np.random.default_rng([number, 0])
        chosen = [names[k] for k in rng.permutation(len(names))[: (len(names) + 1) // 2]]
        if missing:
            pair = sorted(missing)[rng.integers(len(missing))]
            chosen = [*pair, *(name for name in chosen if name not in pair)][: len(chosen)]
        recipe = Recipe(
            bases[int(rng.integers(len(bases)))], tuple(chosen[k] for k in rng.permutation(len(chosen))), number
        )
        missing -= set(itertools.combinations(features_of(problem, recipe.make(problem)), 2))
        yield recipe


def features_of(problem: Problem, instance: Any) -> list[str]:
    """Return the names of an instance's features; none for another form of the problem's instances."""
    if type(instance) is not problem.instance_type:
        return []
    return [name for name, feature in problem.features.items() if feature.has(instance)]


def minimal(problem: Problem, recipe: Recipe, fails: Callable[[Instance], bool]) -> Recipe:
    """Return a recipe whose instance still fails, and no longer if one more feature is left out."""
    smaller = True
    while smaller:
        smaller = False
        for name in recipe.names:
            fewer = dataclasses.replace(recipe, names=tuple(other for other in recipe.names if other != name))
            if fails(fewer.make(problem)):
                recipe, smaller = fewer, True
                break
    return recipe
