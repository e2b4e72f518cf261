"""Sources of workers workloads: the paper's synthetic one by name, and public traces joined with speed models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.params import Positive, Range
from mlsched.instances.traces import Trace
from mlsched.instances.workers.models import CLUSTER, MODELS, RESOURCES
from mlsched.simulation.workers.synthetic import chic, workload
from mlsched.simulation.workers.workload import MS, Workload, offered_load

#: Name -> maker of a synthetic workload.
SOURCES: Mapping[str, Callable[..., Workload]] = {"chic": chic}
#: A cluster made for a trace has at least this load on its scarcest resource.
AUTO_LOAD = 0.75


@validate_arguments
def from_trace(
    trace: Trace,
    nodes: IntArray | None,
    *,
    seed: int = 0,
    arrivals: Positive = 1.0,
    most_workers: Annotated[int, Range(1, 1000)] = 16,
    most_ps: Annotated[int, Range(1, 1000)] = 20,
) -> Workload:
    """Join a trace's arrivals, GPUs and run times with models drawn from the paper's three.

    Traces do not record how a job's speed depends on its workers. Each GPU job becomes a training job of a model drawn
    evenly. Its iterations fill its run time with one worker per GPU (within the table) and an equal number of PSs. Jobs
    without GPUs are left out.

    Args:
        trace: Jobs of the trace.
        nodes: Nodes whose sum is the cluster, shape (nodes, 3): cpu_milli, memory_mib, gpu_milli. Missing CPU or memory
            is set in the paper's proportion to GPUs. None: the paper's cluster, enlarged until its load is three
            quarters.
        seed: Seed of the drawn models.
        arrivals: Factor on the arrival rate.
        most_workers: Most workers of a job.
        most_ps: Most PSs of a job.
    """
    rng = np.random.default_rng([seed, len(trace.submit)])
    model = rng.integers(0, len(MODELS), len(trace.submit))
    keep = trace.gpus_milli > 0
    if not keep.any():
        raise InvalidInput(f"{trace.source}: jobs use 0 GPUs; give a trace of training jobs")
    model, gpus = model[keep], -(-trace.gpus_milli[keep] // 1000)
    submit = np.floor(trace.submit[keep] * (MS / arrivals)).astype(np.int64)
    paper = np.array(CLUSTER, dtype=np.int64)
    base = workload(
        MODELS,
        RESOURCES,
        paper if nodes is None else _cluster_capacity(nodes),
        submit=submit - submit[0],
        model=model,
        iterations=_iterations_of_jobs(model, gpus, trace.duration_ms[keep], most_workers, most_ps),
        most_workers=most_workers,
        most_ps=most_ps,
        source=f"{trace.source}; a join: models drawn from the Chic paper's three (seed {seed}), as many iterations as "
        f"fill the run time with a worker and a PS for each GPU; {int((~keep).sum())} jobs without GPUs left out; "
        f"arrival rate x {arrivals:g}",
    )
    if nodes is None:
        base = base.replace(capacity=paper * _cluster_factor(base))
    return base


def _iterations_of_jobs(
    model: IntArray, gpus: IntArray, duration_ms: IntArray, most_workers: int, most_ps: int
) -> IntArray:
    """Return each job's iterations: its duration over the time of an iteration with a worker and a PS per GPU."""
    time = np.array([m.speed.times(most_workers, most_ps).nanoseconds() for m in MODELS])
    g = time[model, np.minimum(gpus, most_workers) - 1, np.minimum(gpus, most_ps) - 1]
    return np.asarray(np.maximum(np.rint(duration_ms / g * 10**6), 1), dtype=np.int64)


def _cluster_capacity(nodes: IntArray) -> IntArray:
    """Return GPUs, cores and GB of all nodes together; missing ones in the paper's proportion to GPUs."""
    cpu, memory, gpu = (int(np.maximum(column, 0).sum()) for column in nodes.T)
    gpus = gpu // 1000
    if not gpus:
        raise InvalidInput("cluster: 0 GPUs; every worker of the models needs one")
    cores = cpu // 1000 or gpus * CLUSTER[1] // CLUSTER[0]
    gigabytes = memory // 1024 or gpus * CLUSTER[2] // CLUSTER[0]
    return np.array([gpus, cores, gigabytes], dtype=np.int64)


def _cluster_factor(base: Workload) -> int:
    """Return the multiple of the paper's cluster that is loaded to AUTO_LOAD."""
    loads = [load for load, _ in offered_load(base).values() if math.isfinite(load)]
    return max(1, math.ceil(max(loads, default=0.0) / AUTO_LOAD))
