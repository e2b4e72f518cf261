"""Cost of job shapes: free GPUs that waiting jobs cannot use, and waits for nodes although the total amounts suffice.

It considers the free amounts of each node; shared GPUs of a node are ignored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.heuristics.taskgraph.packing import packing
from mlsched.instances.taskgraph.gpus import gpu_column

#: Points in time that are processed together.
BLOCK = 256


@dataclasses.dataclass(frozen=True)
class Queue:
    """Waiting intervals: one row for each interval [start, end) in which a job is present without a node.

    Attributes:
        job: Job of each row.
        kind: Kind of each job, an index into `tasks`.
        tasks: Demands of each kind, shape (tasks, resources).
        may: Eligible nodes of each kind, shape (tasks, nodes).
    """

    job: IntArray
    start: IntArray
    end: IntArray
    kind: IntArray
    tasks: Sequence[IntArray]
    may: Sequence[BoolArray]


@dataclasses.dataclass(frozen=True)
class Course:
    """Fragmentation over `times`, each value valid until the next time.

    Attributes:
        fragmentation: Share of the free GPUs on nodes without room for any task of the queue's head (the first
            arrival); 0 without waiting jobs or free GPUs.
        waiting: Number of jobs without a node.
        for_shape: Number of these that could start by the total free amounts, but fit no nodes.
    """

    times: IntArray
    fragmentation: FloatArray
    waiting: IntArray
    for_shape: IntArray

    def mean_fragmentation(self) -> float:
        """Return the mean over the time with waiting jobs."""
        ticks = np.diff(self.times, append=self.times[-1:]) * (self.waiting > 0)
        return float((self.fragmentation * ticks).sum() / max(1, ticks.sum()))

    def share_for_shape(self) -> float:
        """Return the share of the jobs' waiting time that is due to shape."""
        ticks = np.diff(self.times, append=self.times[-1:])
        return float((self.for_shape * ticks).sum() / max(1, (self.waiting * ticks).sum()))


def waits(arrival: IntArray, completion: IntArray, job: IntArray, start: IntArray, end: IntArray) -> list[IntArray]:
    """Return job, start and end of each interval of a job's stay without a row [start, end) in progress."""
    every = np.arange(len(arrival))
    jobs = np.concatenate([every, job, every])
    begins, ends = np.concatenate([arrival, start, completion]), np.concatenate([arrival, end, completion])
    order = np.lexsort((begins, jobs))
    jobs, begins, ends = jobs[order], begins[order], ends[order]
    stride = int(ends.max(initial=0)) + 1  # so that the latest end so far is that of the job itself
    until = np.maximum.accumulate(ends + jobs * stride) - jobs * stride
    gap = np.flatnonzero((jobs[1:] == jobs[:-1]) & (begins[1:] > until[:-1]))
    return [jobs[gap], until[gap], begins[gap + 1]]


def course(
    queue: Queue,
    node: IntArray,
    start: IntArray,
    end: IntArray,
    held: IntArray,
    capacity: IntArray,
    names: tuple[str, ...],
) -> Course:
    """Return the fragmentation of a run over time.

    Args:
        queue: Waiting intervals.
        node, start, end: Node and time of each use.
        held: Amounts of each use, shape (rows, resources).
        capacity: Capacities of the nodes, shape (nodes, resources).
        names: Names of the resources.
    """
    times = np.unique(np.concatenate([queue.start, queue.end, start, end]))
    kinds = len(queue.tasks)
    head = _queue_heads(queue, times)
    steps = np.zeros((len(times), kinds), dtype=np.int64)
    kind = queue.kind[queue.job]
    np.add.at(steps, (np.searchsorted(times, queue.start), kind), 1)
    np.add.at(steps, (np.searchsorted(times, queue.end), kind), -1)
    waiting = np.cumsum(steps, axis=0)
    place = np.concatenate([np.searchsorted(times, start), np.searchsorted(times, end)])
    order = np.argsort(place, kind="stable")
    change, nodes = np.concatenate([-held, held])[order], np.concatenate([node, node])[order]
    place, gpu = place[order], gpu_column(names)
    fragmentation, for_shape = np.zeros(len(times)), np.zeros(len(times), dtype=np.int64)
    free = capacity.astype(np.int64)
    for low in range(0, len(times), BLOCK):
        high = min(low + BLOCK, len(times))
        rows = slice(*np.searchsorted(place, (low, high)).tolist())
        block = np.zeros((high - low, *capacity.shape), dtype=np.int64)
        np.add.at(block, (place[rows] - low, nodes[rows]), change[rows])
        block = free + np.cumsum(block, axis=0)
        free = block[-1]
        for k in range(kinds):
            here = head[low:high] == k
            if here.any() and gpu >= 0:
                fragmentation[low:high][here] = _unusable_share(block[here], queue.tasks[k], queue.may[k], gpu)
            there = waiting[low:high, k] > 0
            there &= (block.sum(axis=1) >= queue.tasks[k].sum(axis=0)).all(axis=1)
            if there.any():
                misfits = ~_tasks_fit(block[there], queue.tasks[k], queue.may[k])
                for_shape[low:high][there] += waiting[low:high, k][there] * misfits
    return Course(times, fragmentation, waiting.sum(axis=1), for_shape)


def _queue_heads(queue: Queue, times: IntArray) -> IntArray:
    """Return the kind of the first-arrived waiting job at each time, shape (times,); -1 if all jobs run.

    Jobs are numbered by arrival. For the least job over many ranges, each range is covered by two whose length is the
    largest fitting power of 2; these are halved until their length is 1.
    """
    none = len(queue.kind)
    first, beyond = np.searchsorted(times, queue.start), np.searchsorted(times, queue.end)
    power = np.frexp(np.maximum(beyond - first, 1))[1] - 1
    least = np.full(len(times), none)
    for k in range(int(power.max(initial=0)), -1, -1):
        here, half = (power == k) & (beyond > first), 1 << k
        np.minimum.at(least, first[here], queue.job[here])
        np.minimum.at(least, beyond[here] - half, queue.job[here])
        if k:
            step = half // 2
            least[step:] = np.minimum(least[step:], least[:-step])
    return np.asarray(np.append(queue.kind, -1)[least])


def _unusable_share(free: IntArray, tasks: IntArray, may: BoolArray, gpu: int) -> FloatArray:
    """Return the share of the free GPUs on nodes without room for any of the tasks, shape (times,).

    `free` has shape (times, nodes, resources).
    """
    useful = np.zeros(free.shape[:2], dtype=np.bool_)
    for demand, able in {
        (row.tobytes(), where.tobytes()): (row, where) for row, where in zip(tasks, may, strict=True)
    }.values():
        useful |= (free >= demand).all(axis=2) & able
    amount = free[:, :, gpu]
    total = amount.sum(axis=1)
    return np.asarray(np.where(total > 0, (amount * ~useful).sum(axis=1) / np.maximum(total, 1), 0.0))


def _tasks_fit(free: IntArray, tasks: IntArray, may: BoolArray) -> BoolArray:
    """Return whether all the tasks fit the nodes together, shape (times,)."""
    alike = (tasks == tasks[0]).all(axis=1)
    first, others = int(alike.sum()), len(tasks) - int(alike.sum())
    if not (may == may[0]).all() or others > 1:
        return np.array([packing(tasks, may, room) is not None for room in free], dtype=np.bool_)
    room = _count_fitting(free, tasks[0]) * may[0]
    total = room.sum(axis=1)
    if not others:
        return np.asarray(total >= first)
    # The single different task goes to a node such that the others still have enough room.
    odd = tasks[~alike][0]
    beside = _count_fitting(free - odd, tasks[0])
    good = (free >= odd).all(axis=2) & may[0] & (total[:, None] - room + beside >= first)
    return np.asarray(good.any(axis=1))


def _count_fitting(free: IntArray, demand: IntArray) -> IntArray:
    """Return the number of tasks of a demand that fit each node, shape (times, nodes)."""
    needs = np.flatnonzero(demand)
    if not needs.size:
        return np.full(free.shape[:2], np.iinfo(np.int32).max)
    return np.asarray(np.maximum(free[:, :, needs] // demand[needs], 0).min(axis=2))
