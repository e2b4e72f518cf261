"""Workloads of rounds: logs with a table of throughputs, and synthetic ones."""

from __future__ import annotations

import os
from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import ints
from mlsched.core.params import Range
from mlsched_rounds.simulation.files import parse_types, read_jobs
from mlsched_rounds.simulation.workload import MICRO, PICO, PPM, Workload

#: Steps per second on the types of a synthetic cluster, as shares of the first's.
SLOWER = (1.0, 0.6, 0.2, 0.1)


def from_file(
    path: str | os.PathLike[str],
    cluster: str | None,
    limit: int | None,
    *,
    throughputs: str = "",
    gpus: Annotated[int, Range(0, 10**6)] = 0,
    measured_on: str = "",
    adapt: bool = True,
    packing: bool = False,
) -> Workload:
    """Read the jobs of a log on GPUs of several types (`files.read_jobs`)."""
    if not throughputs:
        raise InvalidInput(
            f"{path}: give throughputs=TABLE, a JSON file of Gavel or a CSV file with the columns model, gpus and one "
            "for each GPU type"
        )
    if cluster is None:
        raise InvalidInput(f"{path}: give the cluster, GPUs of each type, such as v100=8,p100=16,k80=24")
    return read_jobs(
        path,
        throughputs=throughputs,
        cluster=cluster,
        limit=limit,
        gpus=gpus,
        measured_on=measured_on,
        adapt=adapt,
        packing=packing,
    )


def from_trace(trace: Any, nodes: Any, *, seed: int = 0) -> Workload:
    """Raise InvalidInput: logs of jobs lack rates."""
    raise InvalidInput("rounds: runs logs with a table of throughputs; give the path of the log, and throughputs=TABLE")


@validate_arguments
def mixed(
    *,
    seed: int = 0,
    jobs: Annotated[int, Range(1, 10**5)] = 60,
    cluster: str = "fast=8,medium=16,slow=24",
    load: Annotated[float, Range(0.01, 100)] = 0.9,
    hours: Annotated[float, Range(0.001, 1000)] = 0.5,
) -> Workload:
    """Draw jobs of four models at random times: models gain differently from fast types; half of the jobs use one GPU.

    Args:
        seed: Seed of the draws.
        jobs: Number of jobs.
        cluster: GPUs of each type.
        load: Requested GPU time, on the fastest type, over that of all GPUs while jobs arrive.
        hours: Median duration.
    """
    rng = np.random.default_rng(seed)
    capacity = parse_types(cluster)
    types = len(capacity)
    slower = np.array([SLOWER[min(m, len(SLOWER) - 1)] for m in range(types)])
    gains = slower ** np.array([0.3, 0.7, 1.0, 1.6])[:, None]
    model = rng.integers(0, 4, jobs)
    gpus = rng.choice([1, 2, 4], jobs, p=[0.5, 0.3, 0.2])
    gpus = np.minimum(gpus, max(capacity.values()))
    rate = np.maximum(1, np.rint(gains[model] * rng.choice([5, 20, 60], jobs)[:, None] * PICO / 10).astype(np.int64))
    seconds = 3600 * hours * rng.lognormal(0, 1, jobs)
    steps = np.maximum(1, (seconds * rate[:, 0] / PICO)).astype(np.int64)
    span = float((seconds * gpus).sum()) / (load * sum(capacity.values()))
    submit = np.sort(rng.uniform(0, span, jobs))
    return Workload(
        types=tuple(capacity),
        capacity=ints(capacity.values()),
        submit=np.rint((submit - submit[0]) * MICRO).astype(np.int64),
        steps=steps,
        gpus=gpus.astype(np.int64),
        rate=rate,
        weight=np.full(jobs, PPM),
        models=tuple(f"model {k}" for k in model.tolist()),
        source=f"synthetic mixed: {jobs} jobs, load {load:g}, median {hours:g} h, seed {seed}",
    )


SOURCES = {"mixed": mixed}
