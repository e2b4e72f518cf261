"""Chic-plus' recipe: a network of job weights, by imitation and evolution (`_plus.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.workers._plus import JobWeights, PlusParams
from mlsched_training.workers._plus_loads import describe_data

RECIPE = Recipe(
    policy="chic-plus",
    problem="workers",
    params=PlusParams,
    learner=JobWeights,
    data=describe_data,
    iterations=50,
    every=lambda params: params.every,
)
