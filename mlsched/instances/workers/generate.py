"""Random workers instances: jobs of the Chic paper on its cluster, or of random models, at any scale.

A job's iterations are uniform in 100..200 (Section 6.1); a running job has done a uniform share of them and has a small
allocation, which rules may read.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.params import Count, CountOrNone, Range, Share, check_size, flatten_groups
from mlsched.instances.workers.instance import Instance
from mlsched.instances.workers.models import CLUSTER, ITERATIONS, MODELS, RESOURCES, TrainingModel
from mlsched.instances.workers.speed import Asynchronous, SpeedModel, Synchronous, Table
from mlsched.instances.workers.tables import WAITING, from_models

SPEEDS = ("paper", "synchronous", "asynchronous", "table")
#: Largest change of a measured time against the model behind it (speed = "table").
NOISE = 0.3


@dataclasses.dataclass(frozen=True)
class Sizes(ValidatedFields):
    """Parameters of `generate`, whose docstring has their meaning."""

    jobs: CountOrNone = 3
    scale: Annotated[float, Range(0, 10**4)] = 0.6
    cpu_factor: Annotated[float, Range(0, 10**4)] = 1.0
    memory_factor: Annotated[float, Range(0, 10**4)] = 1.0
    speed: Annotated[str, SPEEDS] = "paper"
    kinds: Count = 3
    gaps: Share = 0.0
    running: Share = 0.5
    most_workers: Annotated[int, Range(1, 1000)] = 4
    most_ps: Annotated[int, Range(1, 1000)] = 5
    waiting: Annotated[str, WAITING] = "slowest"
    delay: Annotated[float, Range(0, 10**6)] = 600.0


@flatten_groups
@validate_arguments
def generate(rng: np.random.Generator, *, sizes: Sizes) -> Instance:
    """Draw an instance.

    Sizes:
        jobs: Number of jobs.
        scale: Size of the cluster, 1 for the paper's 10 GPUs, 120 cores, 600 GB.
        cpu_factor, memory_factor: Additional factors on these two resources.
        speed: "paper" (its three models), or `kinds` random models: "synchronous", "asynchronous", or a "table" of
            times that scatter by 30 %.
        gaps: Share of the entries of a "table" that is not allowed.
        running: Share of jobs that have run already.
        most_workers, most_ps: Size of the tables.
        waiting: Charge of a waiting job, "slowest" or "pair".
        delay: Seconds until the next decision.
    """
    check_size(
        "jobs x workers x parameter servers",
        (sizes.jobs + sizes.kinds) * (sizes.most_workers + 1) * (sizes.most_ps + 1),
    )
    models = (
        MODELS
        if sizes.speed == "paper"
        else draw_models(rng, sizes.kinds, sizes.speed, sizes.gaps, sizes.most_workers, sizes.most_ps)
    )
    factors = (1.0, sizes.cpu_factor, sizes.memory_factor)
    model = rng.integers(0, len(models), sizes.jobs)
    has_run = rng.uniform(size=sizes.jobs) < sizes.running
    total = rng.integers(ITERATIONS[0], ITERATIONS[1] + 1, sizes.jobs)
    allocation = rng.integers(1, 5, (2, sizes.jobs)) * has_run
    return from_models(
        models,
        RESOURCES,
        [round(amount * sizes.scale * factor) for amount, factor in zip(CLUSTER, factors, strict=True)],
        model=model,
        remaining=np.where(has_run, rng.integers(1, total + 1), total),
        most_workers=sizes.most_workers,
        most_ps=sizes.most_ps,
        waiting=sizes.waiting,
        delay=round(1000 * sizes.delay),
        current_workers=np.minimum(allocation[0], sizes.most_workers),
        current_ps=np.minimum(allocation[1], sizes.most_ps),
        waited=-np.sort(-rng.integers(0, 3_600_000, sizes.jobs)),
    )


def draw_models(
    rng: np.random.Generator, kinds: int, speed: str, gaps: float, workers: int, ps: int
) -> list[TrainingModel]:
    """Draw kinds of job: parameters within a factor of about two of the paper's, demands within its range."""
    return [
        TrainingModel(
            f"model-{k}",
            (1, int(rng.integers(1, 5)), int(rng.integers(6, 13))),
            (0, int(rng.integers(1, 7)), int(rng.integers(6, 13))),
            _draw_speed(rng, speed, gaps, workers, ps),
        )
        for k in range(kinds)
    ]


def _draw_speed(rng: np.random.Generator, speed: str, gaps: float, workers: int, ps: int) -> SpeedModel:
    def about(low: float, high: float) -> float:
        return round(float(rng.uniform(low, high)), 3)

    if speed == "asynchronous":
        return Asynchronous(about(10, 60), about(0.5, 8), about(0, 0.5), about(0, 0.5))
    model = Synchronous(about(15, 60), about(0.5, 3), about(0.5, 8), about(0, 0.5), about(0, 0.3))
    if speed == "synchronous":
        return model
    noise = rng.uniform(1 - NOISE, 1 + NOISE, (workers, ps))
    is_allowed = rng.uniform(size=(workers, ps)) >= gaps

    def time(w: int, p: int) -> float | None:
        if not is_allowed[w, p]:
            return None
        return round(float(model.seconds(w + 1, p + 1)) * float(noise[w, p]), 3)

    return Table(tuple(tuple(time(w, p) for p in range(ps)) for w in range(workers)))
