"""Results that people use, of either engine: a table of jobs and the cluster over time, from what held which node when.

Times are in seconds where the workload says how long a tick is (`tick_ms`), else in ticks; the name of a column ends in
its unit.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.simulation.taskgraph.fragmentation import Course, Queue, course, waits

#: Of each job, its kind; of each kind, its tasks' demands (tasks x resources) and where they may go (tasks x nodes).
Kinds = tuple[IntArray, list[IntArray], list[npt.NDArray[np.bool_]]]

#: Names of resources in traces -> as people call them.
NAMES = {"gpu_milli": "gpu", "gpu_percent": "gpu", "cpu_milli": "cpu", "memory_mib": "memory"}


def ticks_per_second(tick_ms: int) -> Fraction:
    """How many ticks of such a length are a second; 1 where the workload does not say how long they are."""
    return Fraction(1000, tick_ms or 1000)


@dataclasses.dataclass(frozen=True)
class Holdings:
    """A row for each segment of time in which a task held a node: [start, end) in ticks, and what it held there.

    slowed: whether its job ran slower than its graph alone would, since more was used there than there is.
    """

    job: IntArray
    node: IntArray
    start: IntArray
    end: IntArray
    demand: IntArray
    slowed: npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Cluster:
    """What a workload says of its cluster: the resources of the nodes, and the units of GPUs and ticks."""

    resources: tuple[str, ...]
    capacity: IntArray
    tick_ms: int
    gpu_unit: int = 0

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of times in results, and how many of it a tick is."""
        return ("s", self.tick_ms / 1000) if self.tick_ms else ("ticks", 1)

    def gpus(self, amounts: IntArray) -> npt.NDArray[np.float64]:
        """Whole GPUs in rows of amounts, shares as fractions; zeros where no resource counts GPUs."""
        column = gpu_column(self.resources)
        if column < 0:
            return np.zeros(len(amounts))
        return np.asarray(amounts[:, column] / (self.gpu_unit or GPU_UNITS[self.resources[column]]))


def table(jobs: dict[str, Any], held: Holdings, cluster: Cluster, **names: Any) -> dict[str, Any]:
    """What came of every job: a column each.

    job: its name in the log, else its number; user; submit, start, end: since the first submit; waiting: time in which
    it held no node; jct: from submit to end; slowdown: jct over the time in which it held nodes (1 + waiting / running,
    FitGpp's Eq. 5); gpus: the most that it held at once; nodes: on how many it ran; pauses.

    jobs: the engine's columns. names: `job` and `user`, where the workload has them.
    """
    count = len(jobs["arrival"])
    name, factor = cluster.unit
    first = int(jobs["arrival"].min()) if count else 0
    running = jobs["jct"] - jobs["waiting"]
    most = np.zeros(count)
    levels = _levels(held.job, held.start, held.end, cluster.gpus(held.demand))
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


def shape_of(jobs: dict[str, Any], held: Holdings, cluster: Cluster, kinds: Kinds) -> Course:
    """What the shape of the jobs cost in a run. kinds: of each job, its kind; and the tasks of each kind."""
    job, start, end = waits(jobs["arrival"], jobs["completion"], held.job, held.start, held.end)
    queue = Queue(job, start, end, *kinds)
    return course(queue, held.node, held.start, held.end, held.demand, cluster.capacity, cluster.resources)


def over_time(jobs: dict[str, Any], held: Holdings, cluster: Cluster, kinds: Kinds | None) -> dict[str, Any]:
    """The cluster over time, a row for each time at which something changed; it holds until the next row's.

    running_jobs: that hold a node; slowed_jobs: those of them that run slower than alone, where usage is drawn and more
    is used than there is; waiting_jobs: that are there and hold no node; utilisation_*: the share of a resource that is
    held, of those the cluster has; fragmentation: the share of the free GPUs that the job at the head of the queue
    cannot use, since no task of it has room on their node, 0 where none waits or is free; waiting_for_shape: of the
    waiting jobs, those that what is free would do for if it were on other nodes. kinds: None leaves out the last two.
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
        """How many jobs hold a node in some of these rows."""
        ones = np.ones(int(rows.sum()))
        levels = _levels(held.job[rows], held.start[rows], held.end[rows], ones)
        return summed(*levels.turns(lambda level: level > 0))

    running = jobs_of(np.ones(len(held.job), dtype=np.bool_))
    ones = np.ones(len(jobs["arrival"]))
    there = summed(np.concatenate([jobs["arrival"], jobs["completion"]]), np.concatenate([ones, -ones]))
    columns: dict[str, Any] = {
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
        found = shape_of(jobs, held, cluster, kinds)
        at = np.searchsorted(found.times, times, side="right") - 1
        columns["fragmentation"] = np.where(at >= 0, found.fragmentation[at], 0.0)
        columns["waiting_for_shape"] = np.where(at >= 0, found.for_shape[at], 0)
    return columns


@dataclasses.dataclass(frozen=True)
class _Levels:
    """How much each key (job or node) holds after each change: rows sorted by key, then time, releases first."""

    key: IntArray
    time: IntArray
    level: npt.NDArray[np.float64]

    def turns(self, measure: Any) -> tuple[IntArray, npt.NDArray[np.float64]]:
        """Times, and by how much a measure of the level changes at them, from 0 at first."""
        now = np.asarray(measure(self.level), dtype=np.float64)
        before = np.concatenate([[0.0], now[:-1]])
        before[np.concatenate([[True], self.key[1:] != self.key[:-1]])[: len(before)]] = 0.0
        return self.time, now - before[: len(now)]


def _levels(key: IntArray, start: IntArray, end: IntArray, amount: npt.NDArray[np.float64]) -> _Levels:
    keys, times = np.concatenate([key, key]), np.concatenate([end, start])
    change = np.concatenate([-amount, amount])
    order = np.lexsort((change, times, keys))
    keys, times = keys[order], times[order]
    level = np.cumsum(change[order])  # every key ends at 0, so that the next begins there
    return _Levels(keys, times, level)
