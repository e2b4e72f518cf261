"""Sources of preemption workloads: the paper's synthetic ones by name, and public traces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray, ints
from mlsched.core.params import NotNegative, Positive, Share
from mlsched.instances.preemption.demand import GRACE_MINUTES, fits_somewhere, truncated_normal
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import RESOURCES
from mlsched.simulation.preemption.synthetic import synthetic
from mlsched.simulation.preemption.workload import Workload

#: Name -> maker of a synthetic workload: the two calibrations of the paper's Section 4.2.
SOURCES: Mapping[str, Callable[..., Workload]] = {
    "z": functools.partial(synthetic, calibration="z"),
    "a": functools.partial(synthetic, calibration="a"),
}
#: Kubernetes quality of service -> kind of job, if the trace has it (Alibaba).
KIND_OF_QOS = {"LS": "te", "BE": "be"}
#: A cluster made for a trace has room for this quantile of its load at arrivals without a queue.
AUTO_QUANTILE = 0.75
#: The paper's node: 1/1000 CPU, MiB, 1/1000 GPU.
PAPER_NODE = (32_000, 262_144, 8_000)


@validate_arguments
def from_trace(
    trace: Trace,
    nodes: IntArray | None,
    *,
    seed: int = 0,
    kinds: Literal["auto", "qos", "random", "short"] = "auto",
    other_qos: Literal["te", "be", "drop"] = "be",
    te_share: Share = 0.3,
    te_longest: int = 600,
    oversize: Literal["keep", "drop"] = "keep",
    arrivals: Positive = 1.0,
    grace_scale: NotNegative = 1.0,
) -> Workload:
    """Convert a trace's jobs on `nodes` to a workload.

    Traces lack grace periods, which are drawn as in the paper's Section 4.1. Resources that the trace lacks are left
    out.

    Args:
        trace: Jobs of the trace.
        nodes: Capacities, shape (nodes, 3): cpu_milli, memory_mib, gpu_milli. None: the paper's nodes (enlarged to the
            largest job), in the number that has room for three quarters of the arrivals without a queue. The other
            quarter then meets contention.
        seed: Seed of the draws.
        kinds: Choice of the TE jobs. "qos": by quality of service (LS: TE, BE: BE). "random": a seeded share
            `te_share`. "short": those that run at most `te_longest` s, as if declared by users. "auto": qos if the
            trace has it, else random.
        other_qos: Kind of jobs of other qualities of service: "te", "be", or "drop" to leave them out.
        te_share: Share of TE jobs for "random".
        te_longest: Longest TE job in seconds for "short".
        oversize: Jobs that fit no node: "keep" (the run then refuses to start) or "drop".
        arrivals: Factor on the arrival rate.
        grace_scale: Factor on the grace periods.
    """
    rng = np.random.default_rng([seed, len(trace.submit)])
    kind, how = _draw_kinds(trace, rng, kinds, other_qos, te_share, te_longest)
    demand, known_columns = _known_demands(trace)
    capacity = nodes[:, known_columns] if nodes is not None else _auto_shape(demand, known_columns)[None, :]
    keep = np.asarray(kind >= 0)
    if oversize == "drop":
        keep &= fits_somewhere(demand, capacity)
    if not keep.any():
        raise InvalidInput(f"{trace.source}: no job is left; check other_qos, oversize and the cluster")
    mean, sd, low, high = (grace_scale * x for x in GRACE_MINUTES)
    grace = np.ceil(truncated_normal(rng, mean, sd, low, high, len(kind))) * 60
    dropped = len(keep) - int(keep.sum())
    submit = np.floor(trace.submit[keep] / arrivals).astype(np.int64)
    workload = Workload(
        resources=tuple(RESOURCES[r] for r in known_columns),
        node_capacity=capacity,
        submit=submit - submit[0],
        te=kind[keep],
        execution=np.maximum(np.rint(trace.duration_ms[keep] / 1000), 1).astype(np.int64),
        demand=demand[keep],
        grace=grace[keep].astype(np.int64),
        source=f"{trace.source}; TE jobs: {how}; grace periods drawn (seed {seed}); {dropped} jobs dropped; "
        f"arrival rate x {arrivals:g}",
    )
    return workload if nodes is not None else workload.replace(node_capacity=_auto_nodes(workload))


def _draw_kinds(
    trace: Trace, rng: np.random.Generator, kinds: str, other_qos: str, te_share: float, te_longest: int
) -> tuple[IntArray, str]:
    """Return 1 (TE), 0 (BE) or -1 (dropped) for each job, and a description of the choice.

    Args:
        trace: Jobs.
        rng: Source of randomness.
        kinds: "short" (by `te_longest`), "qos" (by quality of service), "random", or "auto": by QoS if the log has it.
        other_qos: Kind of jobs with another quality of service ("te", "be" or "drop").
        te_share: Share of TE jobs if they are drawn.
        te_longest: Duration of the longest TE job, s.
    """
    if kinds == "short":
        return (trace.duration_ms <= 1000 * te_longest).astype(np.int64), f"those of at most {te_longest} s"
    if kinds == "qos" or (kinds == "auto" and any(trace.qos)):
        if not any(trace.qos):
            raise InvalidInput(f"{trace.source}: the quality of service is missing; use kinds=random or kinds=short")
        code = {"te": 1, "be": 0, "drop": -1}
        codes = [code[KIND_OF_QOS.get(q, other_qos)] for q in trace.qos]
        return np.array(codes, dtype=np.int64), f"QoS LS (BE: BE; others: {other_qos})"
    return (rng.uniform(size=len(trace.submit)) < te_share).astype(np.int64), f"a random share of {te_share:g}"


def _known_demands(trace: Trace) -> tuple[IntArray, list[int]]:
    """Return demands, shape (jobs, known resources), and the known ones of RESOURCES.

    An unknown entry excludes its resource.
    """
    columns: list[Any] = [trace.cpu_milli, trace.memory_mib, trace.gpus_milli]
    known_columns = [r for r, column in enumerate(columns) if (column >= 0).all()]
    return np.stack([columns[r] for r in known_columns], axis=1), known_columns


def _auto_shape(demand: IntArray, known_columns: list[int]) -> IntArray:
    return np.asarray(np.maximum(ints(PAPER_NODE)[known_columns], demand.max(axis=0)))


def _auto_nodes(workload: Workload) -> IntArray:
    """Return the nodes, all of the workload's one shape, that AUTO_QUANTILE requires for the scarcest resource."""
    count = len(workload.submit)
    times = np.concatenate([workload.submit, workload.submit + workload.execution])
    change = np.concatenate([workload.demand, -workload.demand])
    # Ends before starts at the same instant; among starts, in order of submission.
    order = np.lexsort((np.arange(2 * count) < count, times))
    running = np.cumsum(change[order], axis=0)[order < count]
    target = np.quantile(running, AUTO_QUANTILE, axis=0)
    shape = np.maximum(workload.node_capacity[0], 1)
    return np.repeat(workload.node_capacity, max(1, int(np.ceil((target / shape).max()))), axis=0)
