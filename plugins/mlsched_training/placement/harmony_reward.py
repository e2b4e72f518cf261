"""The recipe of Harmony's reward model (`_harmony_rewards.py`): not a policy, but the basis of Harmony's training."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.placement._harmony_rewards import RewardLearner, RewardParams, describe_data

RECIPE = Recipe(
    policy="harmony-reward",
    problem="placement",
    params=RewardParams,
    learner=RewardLearner,
    data=describe_data,
    iterations=8,
    every=lambda params: 1,
)
