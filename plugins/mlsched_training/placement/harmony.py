"""Harmony's recipe: actor-critic on the reward model's predictions (`_harmony.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.placement._harmony import ActorCritic, HarmonyParams, describe_data, has_settled


def learner(params: HarmonyParams, seed: int, device: str) -> ActorCritic:
    """Return a learner in this process, or in several."""
    if params.processes == 1:
        return ActorCritic(params, seed, device)
    from mlsched_training.placement._harmony_together import Together

    return Together(params, seed, device)


RECIPE = Recipe(
    policy="harmony",
    problem="placement",
    params=HarmonyParams,
    learner=learner,
    data=describe_data,
    iterations=8000,
    every=lambda params: params.every,
    trained=has_settled,
)
