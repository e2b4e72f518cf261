"""Instances that combine features of a problem (`Problem.features`): all pairs, and most triples."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mlsched.core.contract import Instance, Problem
from mlsched.core.errors import InvalidInput


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Recipe of a combined instance: a base, the features added to it in order, and a seed."""

    base: Instance
    names: tuple[str, ...]
    seed: int

    def make(self, problem: Problem) -> Instance:
        """Return the base with the features added; impossible features are skipped."""
        instance, rng = self.base, np.random.default_rng([self.seed, 1])
        for name in self.names:
            feature = problem.features[name]
            if feature.add is None or feature.has(instance):
                continue
            try:
                instance = feature.add(instance, rng)
            except (InvalidInput, ValueError, IndexError):  # for example a feature of jobs on an instance without jobs
                continue
        return instance


def recipes(problem: Problem, bases: Sequence[Instance], count: int) -> Iterator[Recipe]:
    """Yield recipes of half of the features each; pairs that no earlier instance had come first."""
    names = list(problem.features)
    missing = set(itertools.combinations(names, 2))
    for number in range(count):
        rng = np.random.default_rng([number, 0])
        selection = [names[k] for k in rng.permutation(len(names))[: (len(names) + 1) // 2]]
        if missing:
            pair = sorted(missing)[rng.integers(len(missing))]
            selection = [*pair, *(name for name in selection if name not in pair)][: len(selection)]
        recipe = Recipe(
            bases[int(rng.integers(len(bases)))], tuple(selection[k] for k in rng.permutation(len(selection))), number
        )
        missing -= set(itertools.combinations(features_of(problem, recipe.make(problem)), 2))
        yield recipe


def features_of(problem: Problem, instance: Instance) -> list[str]:
    """Return the names of an instance's features; empty for another form of the problem's instances."""
    if type(instance) is not problem.instance_type:
        return []
    return [name for name, feature in problem.features.items() if feature.has(instance)]


def minimal_recipe(problem: Problem, recipe: Recipe, fails: Callable[[Instance], bool]) -> Recipe:
    """Return a recipe whose instance still fails, but passes without any one of its features."""
    smaller = True
    while smaller:
        smaller = False
        for name in recipe.names:
            fewer = dataclasses.replace(
                recipe, names=tuple(kept_name for kept_name in recipe.names if kept_name != name)
            )
            if fails(fewer.make(problem)):
                recipe, smaller = fewer, True
                break
    return recipe
