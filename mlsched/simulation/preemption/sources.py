"""Where preemption workloads come from: the paper's synthetic ones by name, and public traces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.preemption.generate import truncated_normal
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import RESOURCES
from mlsched.simulation.preemption.synthetic import GRACE_MINUTES, synthetic
from mlsched.simulation.preemption.workload import Workload, offered_load

#: Name -> maker of a synthetic workload: the two calibrations of the paper's Section 4.2.
SOURCES: Mapping[str, Callable[..., Workload]] = {
    "z": functools.partial(synthetic, calibration="z"),
    "a": functools.partial(synthetic, calibration="a"),
}
#: Kubernetes quality of service -> kind of job, where the trace says it (Alibaba).
KIND_OF_QOS = {"LS": "te", "BE": "be"}
#: A cluster made for a trace keeps the busiest resource's offered load at this.
AUTO_LOAD = 0.9
#: The paper's node: 1/1000 CPU, MiB, 1/1000 GPU.
PAPER_NODE = (32_000, 262_144, 8_000)


def from_trace(
    trace: Trace,
    nodes: IntArray | None,
    *,
    seed: int = 0,
    other_qos: str = "be",
    te_share: float = 0.3,
    oversize: str = "keep",
    arrivals: float = 1.0,
    grace_scale: float = 1.0,
) -> Workload:
    """A workload of a trace's jobs on `nodes` (nodes x cpu_milli, memory_mib, gpu_milli).

    Kinds: by quality of service where the trace has it (LS: TE, BE: BE; other_qos: what the others become, "te", "be"
    or "drop"), else a seeded random share te_share is TE. Grace periods are in no trace: they are drawn as in the
    paper's Section 4.1. Resources the trace does not give are left out. oversize: jobs that fit no node are kept (the
    run then refuses to start), or "drop"ped. arrivals: factor on the arrival rate. nodes=None: as many of the paper's
    nodes (enlarged to the largest job) as keep the offered load at 0.9.
    """
    for name, value, choices in (("other_qos", other_qos, ("te", "be", "drop")), ("oversize", oversize, ("keep", "drop"))):
        if value not in choices:
            raise InvalidInput(f"{name} = {value!r}: must be one of {', '.join(choices)}")
    if not (arrivals > 0 and grace_scale >= 0 and 0 <= te_share <= 1):
        raise InvalidInput(
            f"arrivals = {arrivals}, grace_scale = {grace_scale}, te_share = {te_share}: "
            "must be above 0, at least 0 and in [0, 1]"
        )
    rng = np.random.default_rng([seed, len(trace.submit)])
    kind, how = _kinds(trace, rng, other_qos, te_share)
    demand, known = _demands(trace)
    capacity = nodes[:, known] if nodes is not None else _auto_shape(demand, known)[None, :]
    keep = kind >= 0
    if oversize == "drop":
        shapes = np.unique(capacity, axis=0)
        keep &= (demand[:, None, :] <= shapes[None, :, :]).all(axis=2).any(axis=1)
    if not keep.any():
        raise InvalidInput(f"{trace.source}: no job is left; check other_qos, oversize and the cluster")
    mean, sd, low, high = (grace_scale * x for x in GRACE_MINUTES)
    grace = np.ceil(truncated_normal(rng, mean, sd, low, high, len(kind))) * 60
    dropped = len(keep) - int(keep.sum())
    submit = np.floor(trace.submit[keep] / arrivals).astype(np.int64)
    found = Workload(
        resources=tuple(RESOURCES[r] for r in known),
        node_capacity=capacity,
        submit=submit - submit[0],
        te=kind[keep],
        execution=np.maximum(np.rint(trace.duration_ms[keep] / 1000), 1).astype(np.int64),
        demand=demand[keep],
        grace=grace[keep].astype(np.int64),
        source=f"{trace.source}; TE jobs: {how}; grace periods drawn (seed {seed}); {dropped} jobs dropped; "
        f"arrival rate x {arrivals:g}",
    )
    return found if nodes is not None else found.replace(node_capacity=_auto_nodes(found))


def _kinds(trace: Trace, rng: np.random.Generator, other_qos: str, te_share: float) -> tuple[IntArray, str]:
    """1 TE, 0 BE, -1 dropped, for each job; and in words how."""
    code = {"te": 1, "be": 0, "drop": -1}
    if any(trace.qos):
        kinds = [code[KIND_OF_QOS.get(q, other_qos)] for q in trace.qos]
        return np.array(kinds, dtype=np.int64), f"QoS LS (BE: BE; others: {other_qos})"
    return (rng.uniform(size=len(trace.submit)) < te_share).astype(np.int64), f"a random share of {te_share:g}"


def _demands(trace: Trace) -> tuple[IntArray, list[int]]:
    """Jobs x known resources, and which of RESOURCES are known (a resource with an unknown entry is left out)."""
    columns: list[Any] = [trace.cpu_milli, trace.memory_mib, trace.gpus_milli]
    known = [r for r, column in enumerate(columns) if (column >= 0).all()]
    return np.stack([columns[r] for r in known], axis=1), known


def _auto_shape(demand: IntArray, known: list[int]) -> IntArray:
    return np.maximum(np.array(PAPER_NODE, dtype=np.int64)[known], demand.max(axis=0))


def _auto_nodes(workload: Workload) -> IntArray:
    """As many nodes of the workload's one shape as keep the busiest resource at AUTO_LOAD."""
    busiest = max(offered_load(workload).values())
    if busiest == float("inf"):
        raise InvalidInput("all jobs arrive at once, so no cluster follows from the load; give one with --cluster")
    return np.repeat(workload.node_capacity, max(1, int(np.ceil(busiest / AUTO_LOAD))), axis=0)

