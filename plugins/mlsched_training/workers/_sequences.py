"""Workload sequences to train and to validate on: synthetic ones of the Chic paper, by seed.

Seeds below 100,000 are left to tests and measurements; validation sequences have those from 100,000 on, training
sequences those from 1,000,000 on, with room for a thousand millions of them: no policy is tested on what it has seen.
"""

from __future__ import annotations

import functools
from typing import Any

from mlsched.instances.workers.models import MODELS
from mlsched.simulation.workers.synthetic import chic
from mlsched.simulation.workers.workload import Workload

VALIDATION, TRAINING = 100_000, 1_000_000
#: Names of the training models in every sequence.
NAMES = tuple(m.name for m in MODELS)


@functools.lru_cache(maxsize=4096)
def sequence(seed: int, jobs: int, rate: float, scale: float = 1.0) -> Workload:
    """The sequence of that seed."""
    return chic(jobs=jobs, seed=seed, rate=rate, scale=scale)


def validation(count: int, jobs: int, rate: float) -> list[Workload]:
    """The validation set: the same for every policy and seed."""
    return [sequence(VALIDATION + k, jobs, rate) for k in range(count)]


def describe(params: Any) -> dict[str, Any]:
    """For the model card."""
    return {
        "source": "synthetic:chic",
        "models": list(NAMES),
        "jobs": params.jobs,
        "rates": [getattr(params, "low", params.rate), params.rate],
        "training_seeds_from": TRAINING,
        "validation_seeds": [VALIDATION, VALIDATION + params.validation - 1],
    }
