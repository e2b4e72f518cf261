"""The recipe of the device placement of Mirhoseini et al. (`_mirhoseini.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.taskgraph._mirhoseini import MirhoseiniParams, MovingAverage, describe

RECIPE = Recipe(
    policy="mirhoseini-rl",
    problem="taskgraph",
    params=MirhoseiniParams,
    learner=MovingAverage,
    data=describe,
    iterations=20,
    every=lambda params: params.every,
)
