"""Synthetic workload sequences of the Chic paper for training and validation, by seed.

Seeds below 100,000 are reserved for tests and measurements. Validation sequences use seeds from 100,000, and training
sequences a thousand million seeds from 1,000,000, so policies are never tested on a sequence of their training.
"""

from __future__ import annotations

import functools
from typing import Any

from mlsched.core.aliases import Data
from mlsched.instances.workers.models import MODELS
from mlsched.simulation.workers.synthetic import chic
from mlsched.simulation.workers.workload import Workload

VALIDATION, TRAINING = 100_000, 1_000_000
#: Names of the training models in every sequence.
NAMES = tuple(m.name for m in MODELS)


@functools.lru_cache(maxsize=4096)
def sequence_of_seed(seed: int, jobs: int, rate: float, scale: float = 1.0) -> Workload:
    """Return the sequence of a seed."""
    return chic(jobs=jobs, seed=seed, rate=rate, scale=scale)


def validation(count: int, jobs: int, rate: float) -> list[Workload]:
    """Return the validation set, which is the same for every policy and seed."""
    return [sequence_of_seed(VALIDATION + k, jobs, rate) for k in range(count)]


def describe_data(params: Any) -> Data:
    """Describe the data for the model card."""
    return {
        "source": "synthetic:chic",
        "models": list(NAMES),
        "jobs": params.jobs,
        "rates": [getattr(params, "low", params.rate), params.rate],
        "training_seeds_from": TRAINING,
        "validation_seeds": [VALIDATION, VALIDATION + params.validation - 1],
    }
