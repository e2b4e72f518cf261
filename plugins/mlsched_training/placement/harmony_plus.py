"""Harmony-plus' recipe: history, imitation of exact answers, expert iteration (`_plus.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.placement._plus import Learner, PlusParams, describe_data, has_settled

RECIPE = Recipe(
    policy="harmony-plus",
    problem="placement",
    params=PlusParams,
    learner=Learner,
    data=describe_data,
    iterations=60,
    every=lambda params: params.every,
    trained=has_settled,
)
