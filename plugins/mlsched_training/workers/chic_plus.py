"""Chic-plus' recipe: imitation, then policy gradient (`_plus.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.workers._plus import PlusParams, PolicyGradient
from mlsched_training.workers._sequences import describe

RECIPE = Recipe(
    policy="chic-plus",
    problem="workers",
    params=PlusParams,
    learner=PolicyGradient,
    data=describe,
    iterations=100,
    every=lambda params: params.every,
)
