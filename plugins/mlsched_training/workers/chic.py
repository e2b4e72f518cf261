"""Chic's recipe: the modified cross-entropy method with the paper's hyper-parameters (Sections 4.3 and 5)."""

from __future__ import annotations

import functools

from mlsched_training._recipe import Recipe
from mlsched_training.workers._chic import ChicParams, CrossEntropy
from mlsched_training.workers._rewards import has_ended
from mlsched_training.workers._sequences import describe_data

RECIPE = Recipe(
    policy="chic",
    problem="workers",
    params=ChicParams,
    learner=functools.partial(CrossEntropy, pair=False),
    data=describe_data,
    iterations=1000,
    every=lambda params: params.every,
    trained=has_ended,
)
