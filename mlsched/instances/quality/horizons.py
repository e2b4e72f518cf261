"""Random horizons: a few jobs of SLAQ's Table 1 that arrive as a Poisson process on a few cores.

Curves are shorter copies of the simulated workload's (`histories.synthetic_mix`), with the smallest loss so far in
place of the loss: the best model is kept. Presets are frozen: measurements and tests quote them by name; never change
one, add another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Generator, Preset
from mlsched.core.fields import UNLIMITED
from mlsched.core.losses.curves import FAMILIES
from mlsched.core.params import Count, CountOrNone, NotNegative, Positive, Range, check_size
from mlsched.instances.quality.histories import synthetic_mix
from mlsched.instances.quality.horizon import Horizon
from mlsched.instances.quality.instance import PPM
from mlsched.instances.quality.table1 import TABLE_1

#: Core-seconds of an iteration, mean over Table 1.
MEAN_CORE_SECONDS = float(np.mean([row.core_seconds for row in TABLE_1]))
#: Share of the loss reduction at a job's goal (SLAQ's Figure 7: 90 %).
GOAL = 0.9

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("epochs-small", "2 jobs, 3 cores: enumeration takes seconds", {"jobs": 2, "cores": 3, "length": 7.0}),
        Preset("epochs", "4 jobs of the simulated workload on 6 cores", {"jobs": 4, "cores": 6}),
        Preset("epochs-smooth", "the same, losses without noise", {"jobs": 4, "cores": 6, "noise": 0.0}),
        Preset("epochs-noisy", "the same, losses with five times the noise", {"jobs": 4, "cores": 6, "noise": 0.05}),
    )
}


@validate_arguments
def generate_horizon(
    rng: np.random.Generator,
    *,
    jobs: CountOrNone = 4,
    cores: Count = 6,
    epoch: Annotated[int, Range(1, 86400)] = 3,
    iterations: Count = 12,
    length: Positive = 24.0,
    gap: NotNegative = 4.0,
    noise: NotNegative = 0.01,
    cap: CountOrNone = 0,
    information: Literal["oracle", "observed"] = "oracle",
    normalise: Literal["change", "range"] = "change",
) -> Horizon:
    """Draw a horizon.

    Sizes:
        iterations: Iterations of each job.
        length: Mean core-epochs of a job's iterations.
        gap: Mean epochs between two arrivals, the first at 0; with the defaults the offered load is about 1.
        noise: Fluctuation of a loss relative to the remaining excess loss.
        cap: Most cores of a job; 0 removes the cap.
        information, normalise: View of the losses that rules have.
    """
    check_size("jobs x iterations", jobs * iterations)
    histories = synthetic_mix(jobs, rng, iterations=iterations, noise=noise)
    gaps = rng.exponential(1.0, max(0, jobs - 1)) * gap * epoch
    submit = np.concatenate([[0.0], np.cumsum(gaps)])[:jobs]
    factor = length * epoch / (iterations * MEAN_CORE_SECONDS)
    raw = np.array([h.losses for h in histories]).reshape(jobs, iterations + 1)
    best = np.minimum.accumulate(raw, axis=1)
    span = best[:, :1] - best[:, -1:]
    loss = np.rint(PPM * (best - best[:, -1:]) / np.where(span > 0, span, 1)).astype(np.int64)
    return Horizon(
        cores=cores,
        epoch=epoch,
        submit=np.floor(submit).astype(np.int64),
        work=np.array([max(1, round(1000 * factor * h.core_seconds)) for h in histories], dtype=np.int64),
        iterations=np.full(jobs, iterations, dtype=np.int64),
        goal=np.maximum((loss <= (1 - GOAL) * PPM).argmax(axis=1), 1),
        loss=loss,
        family=np.array([FAMILIES.index(h.family) for h in histories], dtype=np.int64),
        weight=np.ones(jobs, dtype=np.int64),
        most=np.full(jobs, cap or UNLIMITED, dtype=np.int64),
        information=information,
        normalise=normalise,
    )


HORIZONS = (Generator(generate_horizon, PRESETS),)
