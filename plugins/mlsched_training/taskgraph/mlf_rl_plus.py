"""MLF-RL-plus' recipe: a preemptive order, then an evolution strategy (`_mlf_rl_plus.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.taskgraph._mlf_rl_plus import Evolution, MlfRlPlusParams, describe, trained

RECIPE = Recipe(
    policy="mlf-rl-plus",
    problem="taskgraph",
    params=MlfRlPlusParams,
    learner=Evolution,
    data=describe,
    iterations=80,
    every=lambda params: params.every,
    trained=trained,
)
