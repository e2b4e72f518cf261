"""Bound proved by prices of a workload, as integers that anyone can check."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np

from mlsched.certificates.prices import intervals
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.simulation.bound.completion import Climb
from mlsched.simulation.bound.parts import earliest_end
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.taskgraph.iterations.bound import pieces
from mlsched.simulation.taskgraph.iterations.workload import Jobs

#: Weights of the jobs' completion times: name -> description.
WEIGHTS = {
    "jobs": "every job alike",
    "area": "a job by what it holds (its largest share of the cluster, in ten-thousandths) times its running time",
    "urgency": "a job by its urgency + 1",
    "class": "a job by the rank of its priority class, the lowest 1",
}
#: Bits of a price below a cost of 1; fewer if sums would exceed 64 bits.
BITS = 24


def weights(jobs: Jobs, name: str) -> IntArray:
    """Return the weight of each job's completion time, positive integers."""
    refuse_types(jobs)
    if name not in WEIGHTS:
        raise InvalidInput(f"weights: {name}, expected one of {', '.join(WEIGHTS)}")
    if name == "area":
        job_pieces = pieces(jobs)
        share = (job_pieces.demand / np.maximum(job_pieces.capacity, 1)).max(axis=1, initial=0)
        return np.asarray(np.maximum(np.rint(10_000 * share).astype(np.int64), 1) * np.maximum(job_pieces.length, 1))
    if name == "class" and not jobs.priority.any():
        raise InvalidInput("weights = class: all jobs are of one class; give --set classes=log, or QoS classes")
    weight_column = {"urgency": jobs.urgency, "class": jobs.priority}.get(name, np.zeros_like(jobs.arrival))
    return weight_column + 1


#: Inputs of a reference from a workload; the log's path and other columns do not count.
ASKED = (
    *("resources", "node_capacity", "eligible", "gang", "task_template", "duration", "demand", "task_class"),
    *("edge_from", "edge_to", "edge_lag", "edge_delay", "template", "arrival", "scale", "urgency", "min_iterations"),
    *("max_iterations", "movement", "tick_ms", "gpu_unit", "pause_cost", "priority"),
)


def refuse_types(jobs: Jobs) -> None:
    """Reject jobs that are faster on some nodes than on others."""
    if jobs.slowness.size:
        raise InvalidInput("reference: nodes are of several types; references are for nodes on which jobs run alike")


def identity(jobs: Jobs) -> str:
    """Return the SHA-256 of a reference's inputs: the same log on the same cluster, independent of its file's path."""
    refuse_types(jobs)
    digest_state = hashlib.sha256()
    stated = set(jobs.stated_fields(ASKED))
    for name in (name for name in ASKED if name in stated):
        value = getattr(jobs, name)
        shape = value.shape if isinstance(value, np.ndarray) else ()
        data = value.astype("<i8").tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        digest_state.update(f"{name} {shape} {len(data)}\n".encode() + data)
    return digest_state.hexdigest()


def said(source: str) -> str:
    """Return a workload's source without the folder of its file."""
    first, space, rest = source.partition(" ")
    return first.rpartition("/")[2] + space + rest


def weighted(jobs: Jobs, weight: IntArray) -> Pieces:
    """Return the jobs as pieces for bounds, with these weights."""
    job_pieces = pieces(jobs).with_gangs()
    divisor = np.maximum(np.gcd.reduce(np.vstack([job_pieces.demand, job_pieces.capacity]), axis=0), 1)
    return dataclasses.replace(
        job_pieces,
        demand=job_pieces.demand // divisor,
        capacity=job_pieces.capacity // divisor,
        weight=weight.astype(np.float64),
    )


def checked_jobs(asked: Pieces) -> intervals.Jobs:
    """Return the pieces in the form of the checker, with integer weights."""
    weight = asked.weight.astype(np.int64)
    return intervals.Jobs(asked.release, asked.length, weight, asked.demand, asked.capacity)


def rounded(asked: Pieces, climb: Climb | None, pausing: bool) -> tuple[intervals.Prices, int]:
    """Return prices as integers, with as many bits as the jobs leave room for, and the bound that they prove."""
    jobs = checked_jobs(asked)
    start = int(asked.release.min(initial=0))
    if climb is None:
        prices = intervals.Prices(start, max(1, int(earliest_end(asked)) - start), 0, asked.capacity[None] * 0)
        return prices, intervals.proven(jobs, prices, pausing=pausing)
    values = climb.prices.values
    for bits in range(BITS, -1, -2):
        whole = np.floor(values * 2.0**bits)
        if whole.max(initial=0) < 2**62:
            prices = intervals.Prices(start, int(climb.prices.step), bits, whole.astype(np.int64))
            try:
                return prices, intervals.proven(jobs, prices, pausing=pausing)
            except OverflowError:
                continue
    raise InvalidInput("reference: demands, weights and times are too large for one sum; use longer ticks")
