"""Real arrivals joined with the paper's six model profiles, as traces lack models and interference."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.params import NotNegative, Positive, Range
from mlsched.instances.placement.generate import worker_demand
from mlsched.instances.placement.models import KINDS, PS, RESOURCES, SERVER, interference
from mlsched.instances.traces import Trace
from mlsched.simulation.placement.synthetic import LOAD, jobs_of, mean_length, variants
from mlsched.simulation.placement.workload import INTERVAL, Workload

#: A trace's nodes are in 1/1000 CPU, MiB, 1/1000 GPU; servers here in cores, GPUs, GB.
MILLI, MEBI = 1000, 1024


@validate_arguments
def from_trace(
    trace: Trace,
    nodes: IntArray | None,
    *,
    seed: int = 0,
    skip: Annotated[int, Range(0)] = 0,
    rate: NotNegative = 2.0,
    load: Positive = LOAD,
    workers: Literal["gpus", "drawn"] = "gpus",
    lengths: Literal["drawn", "trace"] = "drawn",
    most_tasks: int = 3,
    model: Annotated[str, KINDS] = "pairwise",
    sigma_scale: Annotated[float, Range(0, 100)] = 1.0,
) -> Workload:
    """Convert a trace's arrivals to jobs of the paper's models, drawn evenly; the source records this join.

    Args:
        trace: Jobs of the trace.
        nodes: Servers, shape (nodes, 3): 1/1000 CPU, MiB, 1/1000 GPU. None: the paper's six servers.
        seed: Seed of the draws.
        skip: Number of first jobs that are left out.
        rate: Mean jobs per interval, by scaling the times between arrivals ("with downscaled arrival rates", Section
            VI-C); 0: unscaled.
        load: Offered load to which the lengths are scaled.
        workers: "gpus": one per GPU of the job, from 1 to `most_tasks`. "drawn": from 1 to `most_tasks` at random, as
            PSs always are.
        lengths: "drawn": as of the synthetic workloads. "trace": proportional to the durations.
        most_tasks: Most workers and most PSs of a job.
        model: Kind of interference.
        sigma_scale: Factor on the interference.
    """
    count = len(trace.submit) - skip
    if count < 2:
        raise InvalidInput(f"skip: {skip} leaves {max(0, count)} of {len(trace.submit)} jobs, expected at least 2")
    rng = np.random.default_rng([seed, count])
    kind, workers_drawn, ps, relative = variants(rng, count, most_tasks=most_tasks)
    if workers == "gpus":
        workers_drawn = np.clip(trace.gpu_count[skip:], 1, most_tasks)
    if lengths == "trace":
        relative = trace.duration_ms[skip:] / trace.duration_ms[skip:].mean()
    submit, jobs_an_interval = _submission_times(trace.submit[skip:], rate)
    capacity = np.tile(np.array(SERVER, dtype=np.int64), (6, 1)) if nodes is None else _servers_of_nodes(nodes)
    demand = np.array([worker_demand(k)[0] for k in kind.tolist()]) * workers_drawn + PS[0] * ps
    cores = float((demand * relative).mean())
    mean = mean_length(load, float(capacity[:, 0].sum()), jobs_an_interval, cores)
    return Workload(
        resources=RESOURCES,
        server_capacity=capacity,
        **interference(model, sigma_scale),
        submit=submit,
        **jobs_of(kind, workers_drawn, ps, relative * mean),
        source=f"a join: arrivals of {trace.source}, jobs {skip} to {skip + count - 1}, at {jobs_an_interval:.3g} an "
        f"interval; models and PSs drawn (seed {seed}), workers: {workers}, lengths: {lengths}, mean isolated length "
        f"{mean:.3g} intervals, load={load:g}; model={model} sigma_scale={sigma_scale:g}",
    )


def _submission_times(submit: IntArray, rate: float) -> tuple[IntArray, float]:
    """Return submission times, s, the first 0, and the number of jobs per interval."""
    since = (submit - submit[0]).astype(float)
    span = float(since[-1])
    if not span:
        raise InvalidInput("rate: all jobs are submitted at one instant, so arrivals cannot be scaled; leave it out")
    factor = (len(submit) - 1) / (rate * span / INTERVAL) if rate else 1.0
    return np.floor(since * factor).astype(np.int64), (len(submit) - 1) / (span * factor / INTERVAL)


def _servers_of_nodes(nodes: IntArray) -> IntArray:
    """Return cores, GPUs and GB of nodes, given as (nodes, 3) in 1/1000 CPU, MiB, 1/1000 GPU; rounded down."""
    return np.stack([nodes[:, 0] // MILLI, nodes[:, 2] // MILLI, nodes[:, 1] // MEBI], axis=1)
