"""The result of a core-by-core greedy, computed without its single steps.

A priority-queue greedy repeatedly gives one core to the job whose next core has the highest key (ties: the earliest
job). Job j's cores have keys key[j, 0], key[j, 1], ... in that order, and the keys may rise or fall.

Replace each key by the smallest key of its job up to there (a running minimum). The allocation after N cores stays
the same. Once the queue has taken a core of key x, all waiting entries are at most x (or equal, and later). Cores of
the same job with a higher key therefore follow at once, as if they had key x. Running minima never rise, so the
greedy takes cores in the order of (running minimum descending, job, position). The first N of that order are all
cores above some threshold, and the remaining number of cores at the threshold, job by job. A partial sort finds it.

Wide tables are read only as far as needed. The columns are cut, and jobs that use all of their columns are read
further. At most cores / width jobs can do that, so the second reading costs at most as much as the first.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.quality import Instance

#: Columns that are read first: at least the first number, and the second times the mean number of cores per job.
_AT_LEAST, _HEADROOM = 8, 4
_LOWEST = np.iinfo(np.int64).min


@dataclasses.dataclass(frozen=True)
class _Block:
    """Running minima of the keys of some jobs' first cores, one row per job; _LOWEST beyond a job's last core."""

    jobs: IntArray
    keys: IntArray


def select(instance: Instance, table: IntArray, *, differences: bool) -> IntArray:
    """Return the cores of each running job after the greedy has used all cores or brought all jobs to their caps.

    The key of the core after the a-th is weight * (table[j, a + 1] - table[j, a]) with `differences`, else weight *
    table[j, a]. It must not be negative.
    """
    running, minimum = instance.running, instance.least
    last = instance.most[running] - minimum
    count = min(instance.available - minimum * len(running), int(last.sum()))
    if count <= 0:
        return np.full(len(running), minimum, dtype=np.int64)
    width = min(int(last.max()), _AT_LEAST + _HEADROOM * -(-count // len(last)))
    blocks = [_read(instance, table, np.arange(len(running)), last, width, differences=differences)]
    counts = _first_in_order(blocks, len(running), count)
    while (exhausted := (counts >= width) & (last > width)).any():
        # A job that used all its columns may take more. The others can only take less: their columns are enough.
        complete_blocks = [_Block(b.jobs[~exhausted[b.jobs]], b.keys[~exhausted[b.jobs]]) for b in blocks]
        width = min(int(last.max()), 4 * width)
        blocks = [
            *complete_blocks,
            _read(instance, table, np.flatnonzero(exhausted), last, width, differences=differences),
        ]
        counts = _first_in_order(blocks, len(running), count)
    return counts + minimum


def _read(
    instance: Instance, table: IntArray, jobs: IntArray, last: IntArray, width: int, *, differences: bool
) -> _Block:
    """Read the first `width` cores of `jobs` (positions among the running jobs)."""
    rows, first, stop = instance.running[jobs], instance.least, instance.least + width
    # A view if all jobs are read: copying the table would take most of the time.
    view = table[:, first : stop + differences]
    if len(rows) != len(table):
        view = view[rows]
    keys = view[:, 1:] - view[:, :-1] if differences else view.copy()
    weight = instance.weight[rows]
    if (weight != 1).any():
        keys *= weight[:, None]
    np.minimum.accumulate(keys, axis=1, out=keys)
    if int(last[jobs].min()) < width:
        keys[np.arange(width) >= last[jobs, None]] = _LOWEST
    return _Block(jobs, keys)


def _first_in_order(blocks: list[_Block], jobs: int, count: int) -> IntArray:
    """Return the number of each job's keys among the first `count` by (key descending, job, position)."""
    flat = np.concatenate([b.keys.ravel() for b in blocks])
    place = max(0, flat.size - count)
    threshold = np.partition(flat, place)[place]
    counts, equal = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for b in blocks:
        counts[b.jobs] = np.count_nonzero(b.keys > threshold, axis=1)
        equal[b.jobs] = np.count_nonzero(b.keys == threshold, axis=1)
    if threshold == _LOWEST:
        # The columns hold fewer than `count` cores: take all of them; more columns follow.
        return counts
    before = np.cumsum(equal) - equal
    return np.asarray(counts + np.clip(count - int(counts.sum()) - before, 0, equal))
