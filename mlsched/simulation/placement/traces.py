"""Real arrivals joined with the paper's six model profiles: no trace says what its jobs train or how they disturb."""

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
    """A trace's arrivals as jobs of the paper's models, drawn evenly (a join, and the source says so).

    skip: so many first jobs are left out. rate: times between arrivals are scaled alike, so that so many jobs come an
    interval on average ("with downscaled arrival rates", Section VI-C); 0: they stay as they are. workers: "gpus" - as
    many as the job had GPUs, from 1 to most_tasks; "drawn" - from 1 to most_tasks at random, as PSs always are.
    lengths: "drawn" - as of the synthetic workloads; "trace" - proportional to the durations. Both are scaled to the
    offered `load`. nodes=None: the paper's six servers.
    """
    count = len(trace.submit) - skip
    if count < 2:
        raise InvalidInput(f"skip: {skip} leaves {max(0, count)} of {len(trace.submit)} jobs, expected at least 2")
    rng = np.random.default_rng([seed, count])
    kind, drawn, ps, relative = variants(rng, count, most_tasks=most_tasks)
    if workers == "gpus":
        drawn = np.clip(trace.gpu_count[skip:], 1, most_tasks)
    if lengths == "trace":
        relative = trace.duration_ms[skip:] / trace.duration_ms[skip:].mean()
    submit, jobs_an_interval = _submissions(trace.submit[skip:], rate)
    capacity = np.tile(np.array(SERVER, dtype=np.int64), (6, 1)) if nodes is None else _servers(nodes)
    demand = np.array([worker_demand(k)[0] for k in kind.tolist()]) * drawn + PS[0] * ps
    cores = float((demand * relative).mean())
    mean = mean_length(load, float(capacity[:, 0].sum()), jobs_an_interval, cores)
    return Workload(
        resources=RESOURCES,
        server_capacity=capacity,
        **interference(model, sigma_scale),
        submit=submit,
        **jobs_of(kind, drawn, ps, relative * mean),
        source=f"a join: arrivals of {trace.source}, jobs {skip} to {skip + count - 1}, at {jobs_an_interval:.3g} an "
        f"interval; models and PSs drawn (seed {seed}), workers: {workers}, lengths: {lengths}, mean isolated length "
        f"{mean:.3g} intervals, load={load:g}; model={model} sigma_scale={sigma_scale:g}",
    )


def _submissions(submit: IntArray, rate: float) -> tuple[IntArray, float]:
    """Submission times, s, the first 0, and how many jobs come an interval."""
    since = (submit - submit[0]).astype(float)
    span = float(since[-1])
    if not span:
        raise InvalidInput("rate: all jobs are submitted at one instant, so they have no arrival pattern to keep")
    factor = (len(submit) - 1) / (rate * span / INTERVAL) if rate else 1.0
    return np.floor(since * factor).astype(np.int64), (len(submit) - 1) / (span * factor / INTERVAL)


def _servers(nodes: IntArray) -> IntArray:
    """Cores, GPUs and GB of nodes x (1/1000 CPU, MiB, 1/1000 GPU), rounded down."""
    return np.stack([nodes[:, 0] // MILLI, nodes[:, 2] // MILLI, nodes[:, 1] // MEBI], axis=1)
