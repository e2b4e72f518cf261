"""Random streams: jobs of the Chic paper, cut to a few iterations, that arrive by chance on a part of its cluster.

Presets are frozen: measurements and tests quote them by name; never change one, add another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Generator, Preset
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Count, Positive, Range
from mlsched.instances.workers.models import MODELS, RESOURCES
from mlsched.instances.workers.stream import MOST_JOBS, Stream

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("stream-2", "2 jobs of 100 to 200 iterations, as in the paper", {"jobs": 2, "short": 100, "long": 200}),
        Preset("stream-3", "3 jobs of 8 to 16 iterations", {"jobs": 3, "short": 8, "long": 16}),
    )
}


@validate_arguments
def generate_stream(
    rng: np.random.Generator,
    *,
    jobs: Annotated[int, Range(0, MOST_JOBS)] = 3,
    types: Count = 2,
    short: Count = 8,
    long: Count = 16,
    gpus: Count = 4,
    cores: Count = 24,
    load: Positive = 2.0,
    most_workers: Annotated[int, Range(1, 10)] = 3,
    most_ps: Annotated[int, Range(1, 20)] = 2,
) -> Stream:
    """Draw a stream.

    Args:
        rng: Source of randomness.
        types: Types of jobs, each of a model drawn evenly and of `short` to `long` iterations, equally likely.
        gpus, cores: GPUs and cores of the cluster; memory is unlimited.
        load: Mean time of a job by itself on the cluster over the mean gap between two arrivals; in a short stream, few
            jobs overlap unless it is high.
    """
    if long < short:
        raise InvalidInput(f"long: {long}, expected at least short, {short}")
    model = rng.integers(0, len(MODELS), types)
    iterations = rng.integers(short, long + 1, types)
    time = np.array([m.speed.times(most_workers, most_ps).nanoseconds() for m in MODELS], dtype=np.int64)
    draft = Stream(
        resources=RESOURCES[:2],
        models=tuple(m.name for m in MODELS),
        capacity=np.array([gpus, cores]),
        worker_demand=np.array([m.worker[:2] for m in MODELS]),
        ps_demand=np.array([m.ps[:2] for m in MODELS]),
        time=time,
        type_model=model,
        type_iterations=iterations,
        chance=np.ones(types, dtype=np.int64),
        jobs=jobs,
        gap=1,
    )
    alone = np.where(draft.allowed, time, np.iinfo(np.int64).max).min(axis=(1, 2))
    return draft.replace(gap=max(1, round(float((iterations * alone[model]).mean()) / 10**6 / load)))


STREAMS = Generator(generate_stream, PRESETS)
