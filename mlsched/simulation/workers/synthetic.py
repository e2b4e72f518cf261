"""The Chic paper's synthetic workload: Poisson arrivals of jobs of three models on its cluster (Section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.fields import IntArray
from mlsched.core.params import Count, Range, check_range
from mlsched.instances.workers.models import CLUSTER, ITERATIONS, MODELS, RESOURCES, TrainingModel
from mlsched.simulation.workers.workload import MS, Workload


@validate_arguments
def chic(
    *,
    jobs: Count = 30,
    seed: int = 0,
    rate: Annotated[float, Range(0, 10**6)] = 1.8,
    scale: Annotated[float, Range(0, 10**4, open_low=True)] = 1.0,
    least: Annotated[int, Range(1, 10**9)] = ITERATIONS[0],
    most: int = ITERATIONS[1],
    most_workers: Annotated[int, Range(1, 1000)] = 10,
    most_ps: Annotated[int, Range(1, 1000)] = 20,
) -> Workload:
    """Draw a sequence of jobs: models drawn evenly, iterations uniform in least..most, Poisson arrivals.

    One seed draws the same jobs at every rate; only their arrivals are stretched.

    Args:
        jobs: Number of jobs.
        seed: Seed of the draws.
        rate: Arrivals per hour (the paper: 0.9 to 2.7), from time 0 on; 0: all jobs at time 0.
        scale: Size of the cluster, 1 for the paper's.
        least, most: Range of iterations.
        most_workers, most_ps: Most of each per job. The paper's only limit is the cluster, which is 10 workers; more
            than 17 PSs never help its models.
    """
    check_range("most", most, least, 10**9)
    rng = np.random.default_rng([seed, jobs])
    gaps = rng.exponential(1.0, jobs) * (3600 * MS / rate if rate else 0.0)
    return workload(
        MODELS,
        RESOURCES,
        np.rint(np.array(CLUSTER) * scale).astype(np.int64),
        submit=np.floor(np.cumsum(gaps)).astype(np.int64),
        model=rng.integers(0, len(MODELS), jobs),
        iterations=rng.integers(least, most + 1, jobs),
        most_workers=most_workers,
        most_ps=most_ps,
        source=f"synthetic:chic jobs={jobs} seed={seed} rate={rate:g} scale={scale:g} least={least} most={most} "
        f"most_workers={most_workers} most_ps={most_ps}",
    )


def workload(
    models: Sequence[TrainingModel],
    resources: Sequence[str],
    capacity: IntArray,
    *,
    submit: IntArray,
    model: IntArray,
    iterations: IntArray,
    most_workers: int,
    most_ps: int,
    source: str,
) -> Workload:
    """Build a workload of jobs of known models; g is rounded up to integer nanoseconds here, once."""
    return Workload(
        resources=tuple(resources),
        models=tuple(m.name for m in models),
        capacity=capacity,
        worker_demand=np.array([m.worker for m in models], dtype=np.int64),
        ps_demand=np.array([m.ps for m in models], dtype=np.int64),
        iteration=np.array([m.speed.times(most_workers, most_ps).nanoseconds() for m in models], dtype=np.int64),
        submit=submit,
        model=model,
        iterations=iterations,
        source=source,
    )
