"""Small generated rounds of many shapes, for the tests of several folders."""

from __future__ import annotations

import numpy as np

from mlsched_rounds.instances import PROBLEM, Instance


def generated(number: int) -> Instance:
    """Instance `number`: up to 8 jobs on up to 3 types, with gangs, chosen numbers of GPUs and prices of changes."""
    rng = np.random.default_rng([49, number])
    return PROBLEM.generate(
        rng,
        jobs=int(rng.integers(6, 9)),
        types=int(rng.integers(1, 4)),
        gpus=int(rng.choice([4, 6])),
        gangs=0.8,
        adaptive=0.15,
        unable=0.1,
        pause=float(rng.choice([0.0, 60.0])),
        length=float(rng.choice([120.0, 3600.0])),
    )
