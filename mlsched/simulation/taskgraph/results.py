"""Tables of results for users, of either engine: jobs, and the cluster over time, from the use of nodes.

Times are in seconds if the workload has the length of a tick (`tick_ms`), else in ticks; the name of a column ends in
its unit.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Columns
from mlsched.core.fields import FloatArray, IntArray
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.simulation.taskgraph.fragmentation import Course, Queue, course, waits

#: Kind of each job; demands (tasks, resources) and eligible nodes (tasks, nodes) of each kind's tasks.
Kinds = tuple[IntArray, list[IntArray], list[npt.NDArray[np.bool_]]]

#: Names of resources in traces -> common names.
NAMES = {"gpu_milli": "gpu", "gpu_percent": "gpu", "cpu_milli": "cpu", "memory_mib": "memory"}


def ticks_per_second(tick_ms: int) -> Fraction:
    """Return the ticks per second for this length of a tick; 1 if it is unknown."""
    return Fraction(1000, tick_ms or 1000)


@dataclasses.dataclass(frozen=True)
class Holdings:
    """Use of nodes: one row for each segment of time in which a task used a node.

    A row has [start, end) in ticks and the amounts. `slowed` marks rows in which the job ran slower than by its graph,
    since usage exceeded the node's capacity.
    """

    job: IntArray
    node: IntArray
    start: IntArray
    end: IntArray
    demand: IntArray
    slowed: npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Cluster of a workload: the resources of the nodes, and the units of GPUs and ticks."""

    resources: tuple[str, ...]
    capacity: IntArray
    tick_ms: int
    gpu_unit: int = 0

    @property
    def unit(self) -> tuple[str, float]:
        """Return the unit of times in results, and its number per tick."""
        return ("s", self.tick_ms / 1000) if self.tick_ms else ("ticks", 1)

    def gpus(self, amounts: IntArray) -> npt.NDArray[np.float64]:
        """Return GPUs in rows of amounts, shares as fractions; zeros without a GPU resource."""
        column = gpu_column(self.resources)
        if column < 0:
            return np.zeros(len(amounts))
        return np.asarray(amounts[:, column] / (self.gpu_unit or GPU_UNITS[self.resources[column]]))


def table(jobs: dict[str, IntArray], held: Holdings, cluster: Cluster, **names: Any) -> dict[str, Any]:
    """Return the results of every job, one column per property.

    - job: its name in the log, else its number; user.
    - submit, start, end: since the first submit.
    - waiting: time without a node.
    - jct: from submit to end.
    - slowdown: jct over the time with nodes (1 + waiting / running, FitGpp's Eq. 5).
    - gpus: most in use at once; nodes: number of different nodes; pauses.

    Args:
        jobs: The engine's columns.
        held: Use of nodes.
        cluster: Cluster of the workload.
        names: `job` and `user`, if the workload has them.
    """
    count = len(jobs["arrival"])
    name, factor = cluster.unit
    first = int(jobs["arrival"].min()) if count else 0
    running = jobs["jct"] - jobs["waiting"]
    most = np.zeros(count)
    levels = _resource_levels(held.job, held.start, held.end, cluster.gpus(held.demand))
    np.maximum.at(most, levels.key, levels.level)
    pairs = np.unique(np.column_stack([held.job, held.node]), axis=0)
    columns = {
        **names,
        f"submit_{name}": (jobs["arrival"] - first) * factor,
        f"start_{name}": np.where(jobs["start"] < 0, np.nan, (jobs["start"] - first) * factor),
        f"end_{name}": (jobs["completion"] - first) * factor,
        f"waiting_{name}": jobs["waiting"] * factor,
        f"jct_{name}": jobs["jct"] * factor,
        "slowdown": np.where(running > 0, jobs["jct"] / np.maximum(running, 1), 1.0),
        "gpus": most,
        "nodes": np.bincount(pairs[:, 0], minlength=count),
        "pauses": jobs["pauses"],
    }
    return {"job": np.arange(count), **columns}


def shape_of(jobs: dict[str, IntArray], held: Holdings, cluster: Cluster, kinds: Kinds) -> Course:
    """Return the fragmentation over a run: the course of free GPUs that no waiting job can use.

    Args:
        jobs: The engine's columns.
        held: Use of nodes.
        cluster: Cluster of the workload.
        kinds: Kind of each job, and the tasks of each kind.
    """
    job, start, end = waits(jobs["arrival"], jobs["completion"], held.job, held.start, held.end)
    queue = Queue(job, start, end, *kinds)
    return course(queue, held.node, held.start, held.end, held.demand, cluster.capacity, cluster.resources)


def over_time(
    jobs: dict[str, IntArray], held: Holdings, cluster: Cluster, kinds: Kinds | None
) -> dict[str, FloatArray | IntArray]:
    """Return the cluster over time: one row for each change, valid until the next row's time.

    - running_jobs: jobs with a node.
    - slowed_jobs: running jobs slower than by their graph, if usage is drawn and exceeds capacity.
    - waiting_jobs: jobs present without a node.
    - utilisation_*: used share of each resource of the cluster.
    - fragmentation: share of the free GPUs on nodes without room for any task of the queue's head; 0 without waiting
      jobs or free GPUs.
    - waiting_for_shape: waiting jobs for which the free amounts would suffice on other nodes.

    Args:
        jobs: The engine's columns.
        held: Use of nodes.
        cluster: Cluster of the workload.
        kinds: Kind of each job, and the tasks of each kind; None leaves out the last two columns.
    """
    name, factor = cluster.unit
    first = int(jobs["arrival"].min()) if len(jobs["arrival"]) else 0
    times = np.unique(np.concatenate([jobs["arrival"], jobs["completion"], held.start, held.end]))

    def summed(when: IntArray, change: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        steps = np.zeros(len(times))
        np.add.at(steps, np.searchsorted(times, when), change)
        return np.cumsum(steps)

    def held_of(amount: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return summed(np.concatenate([held.start, held.end]), np.concatenate([amount, -amount]))

    def jobs_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the number of jobs with a node in some of these rows."""
        ones = np.ones(int(rows.sum()))
        levels = _resource_levels(held.job[rows], held.start[rows], held.end[rows], ones)
        return summed(*levels.turns(lambda level: level > 0))

    running = jobs_of(np.ones(len(held.job), dtype=np.bool_))
    ones = np.ones(len(jobs["arrival"]))
    there = summed(np.concatenate([jobs["arrival"], jobs["completion"]]), np.concatenate([ones, -ones]))
    columns: Columns = {
        f"time_{name}": (times - first) * factor,
        "running_jobs": np.rint(running).astype(np.int64),
        "slowed_jobs": np.rint(jobs_of(held.slowed)).astype(np.int64),
        "waiting_jobs": np.rint(there - running).astype(np.int64),
    }
    total = cluster.capacity.sum(axis=0)
    for r in np.flatnonzero(total).tolist():
        resource = NAMES.get(cluster.resources[r], cluster.resources[r])
        columns[f"utilisation_{resource}"] = held_of(held.demand[:, r]) / total[r]
    here = cluster.gpus(cluster.capacity)
    if here.any() and kinds is not None:
        shape = shape_of(jobs, held, cluster, kinds)
        at = np.searchsorted(shape.times, times, side="right") - 1
        columns["fragmentation"] = np.where(at >= 0, shape.fragmentation[at], 0.0)
        columns["waiting_for_shape"] = np.where(at >= 0, shape.for_shape[at], 0)
    return columns


@dataclasses.dataclass(frozen=True)
class _Levels:
    """Use by each key (job or node) after each change: rows sorted by key, then time, releases first."""

    key: IntArray
    time: IntArray
    level: npt.NDArray[np.float64]

    def turns(self, measure: Any) -> tuple[IntArray, npt.NDArray[np.float64]]:
        """Return the times, and at each the change of a measure of the level, which begins at 0."""
        now = np.asarray(measure(self.level), dtype=np.float64)
        before = np.concatenate([[0.0], now[:-1]])
        before[np.concatenate([[True], self.key[1:] != self.key[:-1]])[: len(before)]] = 0.0
        return self.time, now - before[: len(now)]


def _resource_levels(key: IntArray, start: IntArray, end: IntArray, amount: npt.NDArray[np.float64]) -> _Levels:
    """Return the use of each key after each of its changes; at one time, ends come before starts."""
    keys, times = np.concatenate([key, key]), np.concatenate([end, start])
    change = np.concatenate([-amount, amount])
    order = np.lexsort((change, times, keys))
    keys, times = keys[order], times[order]
    level = np.cumsum(change[order])  # every key ends at 0, so that the next begins there
    return _Levels(keys, times, level)
