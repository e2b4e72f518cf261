"""Quality instances whose optima were worked out by hand.

`small()`: 6 cores, two of them reserved; three jobs run, with at least one core each:

    gain  job 0: 0 5 6 6     job 1: 0 1 2 9    job 2: 0 4 5 6
    loss  job 0: 9 4 3 3     job 1: 9 8 7 0    job 2: 6 2 1 0

With 4 cores to share out (6 less 2): one each, one more to anyone. With 5: job 1 may jump to 9.
"""

from __future__ import annotations

import numpy as np

from mlsched.instances.quality import PROBLEM, Instance

SMALL = {
    "cores": 6,
    "reserved": 2,
    "gain": [[0, 5, 6, 6], [0, 1, 2, 9], [0, 4, 5, 6]],
    "loss": [[9, 4, 3, 3], [9, 8, 7, 0], [6, 2, 1, 0]],
    "weight": [1, 1, 1],
    "most": [3, 3, 3],
    "waiting": [0, 0, 0],
}


def small(**changes) -> Instance:
    """The instance of this module's docstring, with some fields changed."""
    return Instance(**{**SMALL, **changes})


def generated(number: int) -> Instance:
    """The `number`-th instance of the agreement tests: sizes and knobs drawn, then the generator asked."""
    rng = np.random.default_rng([2017, number])
    jobs = int(rng.integers(3, 6))
    instance = PROBLEM.generate(
        rng,
        jobs=jobs,
        cores=int(rng.integers(2 * jobs, 5 * jobs + 1)),
        epoch=float(rng.choice([1.5, 3.0, 6.0])),
        rounding=str(rng.choice(["floor", "floor", "floor", "floor", "fluid"])),
        age=float(rng.choice([0.0, 0.5, 1.5])),
        cap=int(rng.choice([0, 8, 12])),
        reserved_share=float(rng.choice([0.0, 0.0, 0.15, 0.3])),
        least=int(rng.choice([0, 1, 1, 1, 2])),
        important=float(rng.choice([0.0, 0.4])),
        width=12,
    )
    # Now and then the last arrival waits although there would be room: the others share its cores.
    waiting = instance.waiting.copy()
    waiting[-1] |= rng.uniform() < 0.15
    return instance.replace(waiting=waiting)
