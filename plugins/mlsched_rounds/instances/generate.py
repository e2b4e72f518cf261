"""Random rounds: jobs with rates on several GPU types, some of them running already.

Each type is about twice as fast as the one before for the typical job, as K80, P100 and V100 are for Gavel's 26 job
types. The factor differs for each job. Presets are frozen: measurements and tests quote them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Preset
from mlsched.core.params import Count, Range, Share, check_size
from mlsched_rounds.instances.goodput import Configurations
from mlsched_rounds.instances.instance import Instance
from mlsched_rounds.instances.tables import State, from_rates

#: Ratio of neighbouring types' rates: median, and sigma of each job's own lognormal factor on each type.
FASTER, OWN = 2.0, 0.35
#: GPU counts of gangs, and their probabilities.
GANGS, ODDS = np.array([2, 4, 8]), (0.5, 0.3, 0.2)

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s", {"jobs": 6, "types": 3, "gpus": 2}),
        Preset("gavel", "as in Gavel's traces: 100 jobs of fixed gangs on 3 x 12 GPUs", {"jobs": 100, "gpus": 12}),
        Preset("adaptive", "numbers of GPUs are chosen too (Sia)", {"jobs": 60, "gpus": 16, "adaptive": 1.0}),
        Preset("pausing", "a change costs 20 s of rounds of 120", {"jobs": 60, "gpus": 8, "pause": 20, "length": 120}),
        Preset("large", "900 jobs on 3 x 36 GPUs", {"jobs": 900, "gpus": 36}),
        Preset("sia", "900 adaptive jobs on 3 x 342 GPUs", {"jobs": 900, "gpus": 342, "adaptive": 1.0}),
    )
}


@validate_arguments
def generate(
    rng: np.random.Generator,
    *,
    jobs: Count = 6,
    types: Count = 3,
    gpus: Count = 2,
    gangs: Share = 0.3,
    adaptive: Share = 0.0,
    unable: Share = 0.15,
    running: Share = 0.6,
    important: Share = 0.1,
    length: Annotated[float, Range(1, 86400)] = 360.0,
    pause: Annotated[float, Range(0, 86400)] = 0.0,
) -> Instance:
    """Draw an instance.

    Args:
        rng: Source of random numbers.
        jobs, types: Number of jobs and of GPU types.
        gpus: GPUs of each type.
        gangs: Share of jobs of 2, 4 or 8 GPUs.
        adaptive: Share of jobs that run on any of 1, 2, 4 ... GPUs, at 60 to 95 % more rate for each doubling.
        unable: Share of (job, type) that cannot run.
        running: Share of the jobs that were in the last round, as far as they fit.
        important: Share of jobs of weight 2.
        length, pause: Seconds of the round and of a pause.
    """
    sizes = np.array([2**i for i in range(gpus.bit_length()) if 2**i <= gpus], dtype=np.int64)
    check_size("jobs x configurations", jobs * types * len(sizes))
    configurations = Configurations(
        np.repeat(np.arange(types), len(sizes)), np.tile(sizes, types), np.full(types, gpus, dtype=np.int64)
    )
    gang = np.where(rng.random(jobs) < gangs, rng.choice(GANGS, jobs, p=ODDS), 1)
    gang = np.minimum(gang, sizes[-1])
    base = rng.lognormal(1.5, 1.2, (jobs, 1)) * FASTER ** np.arange(types) * rng.lognormal(0, OWN, (jobs, types))
    base *= rng.random((jobs, types)) >= unable
    scaling = configurations.gpus ** np.log2(rng.uniform(1.6, 1.95, (jobs, 1)))
    limits = (rng.random(jobs) < adaptive)[:, None] | (configurations.gpus == gang[:, None])
    rate = np.where(limits, base[:, configurations.type] * scaling, 0.0)
    rate = np.where(rate >= 0.001, rate, 0.0)
    fastest = rate.max(axis=1, initial=0.0)
    duration = rng.lognormal(8, 1.5, jobs)
    total = np.maximum(np.rint(duration * np.maximum(fastest, 1.0)), 2)
    progress = np.minimum(np.floor(total * rng.random(jobs) ** 2), total - 1)
    age = duration * rng.exponential(1.0, jobs) + progress / np.maximum(fastest, 1.0)
    state = State(
        remaining=total - progress,
        done=progress,
        age=age,
        current=_running_configurations(rng, rate, configurations, running),
        restarts=rng.integers(0, 5, jobs),
        restart_seconds=rng.uniform(10, 120, jobs),
        weight=np.where(rng.random(jobs) < important, 2, 1),
    )
    return from_rates(rate, configurations, state, length=length, pause=pause)


def _running_configurations(
    rng: np.random.Generator, rate: np.ndarray, configurations: Configurations, share: float
) -> np.ndarray:
    """Return configurations of the last round: jobs in random order, each in one of its own that fits."""
    current = np.full(len(rate), -1, dtype=np.int64)
    free = configurations.capacity.copy()
    for j in rng.permutation(len(rate)).tolist():
        own = np.flatnonzero((rate[j] > 0) & (configurations.gpus <= free[configurations.type]))
        if own.size and rng.random() < share:
            current[j] = rng.choice(own)
            free[configurations.type[current[j]]] -= configurations.gpus[current[j]]
    return current
