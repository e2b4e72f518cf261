"""Harmony's recipe: actor-critic on the reward model's predictions (`_harmony.py`)."""

from __future__ import annotations

from mlsched.learned.training.placement._harmony import ActorCritic, HarmonyParams, describe, trained
from mlsched.learned.training.recipe import Recipe

RECIPE = Recipe(
    policy="harmony",
    problem="placement",
    params=HarmonyParams,
    learner=ActorCritic,
    data=describe,
    iterations=8000,
    every=lambda params: params.every,
    trained=trained,
)
