"""MLF-RL's recipe: imitation of MLF-H, then REINFORCE (`_mlf_rl.py`)."""

from __future__ import annotations

from mlsched_training._recipe import Recipe
from mlsched_training.taskgraph._mlf_rl import MlfRlParams, Reinforce, describe, trained

RECIPE = Recipe(
    policy="mlf-rl",
    problem="taskgraph",
    params=MlfRlParams,
    learner=Reinforce,
    data=describe,
    iterations=120,
    every=lambda params: params.every,
    trained=trained,
)
