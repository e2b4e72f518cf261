"""What a core-by-core greedy ends with, without going core by core.

A priority-queue greedy repeatedly gives one core to the job whose next core has the highest key (ties: the earliest
job). Job j's cores have keys key[j, 0], key[j, 1], ... in that order, whatever their sizes.

Replacing each key by the smallest key of its job so far (a running minimum) does not change what has been given out
after N cores: once the queue has taken a core of key x, everything waiting in it is at most x (or equal, and later), so
cores of the same job with a higher key follow at once, as if they had key x. Running minima never rise, hence the
greedy takes cores in the order of (running minimum descending, job, position): the first N of that order are all cores
above some threshold, and of those at the threshold as many as are left, job by job. A partial sort finds it.

Wide tables are read only as far as needed: the columns are cut, and jobs that use all of theirs are read further.
Not more than cores / width jobs can do that, so reading further costs no more than the first look.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.quality import Instance

#: Columns read at first: this, and this many times the cores that there are for a job on average.
_AT_LEAST, _HEADROOM = 8, 4
_LOWEST = np.iinfo(np.int64).min


@dataclasses.dataclass(frozen=True)
class _Block:
    """Running minima of the keys of some jobs' first cores, one row per job; _LOWEST beyond a job's last core."""

    jobs: IntArray
    keys: IntArray


def select(instance: Instance, table: IntArray, *, differences: bool) -> IntArray:
    """Cores of each running job once the greedy has given out all cores, or brought all jobs to their caps.

    The key of the core after the a-th is weight * (table[j, a + 1] - table[j, a]) with `differences`, else
    weight * table[j, a]; it must not be negative.
    """
    running, minimum = instance.running, instance.least
    last = instance.most[running] - minimum
    count = min(instance.available - minimum * len(running), int(last.sum()))
    if count <= 0:
        return np.full(len(running), minimum, dtype=np.int64)
    width = min(int(last.max()), _AT_LEAST + _HEADROOM * -(-count // len(last)))
    blocks = [_read(instance, table, np.arange(len(running)), last, width, differences=differences)]
    taken = _first_in_order(blocks, len(running), count)
    while (cut := (taken >= width) & (last > width)).any():
        # A job that used all its columns may take more. The others can only take less: their columns are enough.
        kept = [_Block(b.jobs[~cut[b.jobs]], b.keys[~cut[b.jobs]]) for b in blocks]
        width = min(int(last.max()), 4 * width)
        blocks = [*kept, _read(instance, table, np.flatnonzero(cut), last, width, differences=differences)]
        taken = _first_in_order(blocks, len(running), count)
    return taken + minimum


def _read(
    instance: Instance, table: IntArray, jobs: IntArray, last: IntArray, width: int, *, differences: bool
) -> _Block:
    """The first `width` cores of `jobs` (positions among those that run)."""
    rows, first, stop = instance.running[jobs], instance.least, instance.least + width
    # A view where all jobs are read: copying the table would be most of the time.
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
    """How many of each job's keys are among the first `count` by (key descending, job, position)."""
    flat = np.concatenate([b.keys.ravel() for b in blocks])
    place = max(0, flat.size - count)
    threshold = np.partition(flat, place)[place]
    taken, equal = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for b in blocks:
        taken[b.jobs] = np.count_nonzero(b.keys > threshold, axis=1)
        equal[b.jobs] = np.count_nonzero(b.keys == threshold, axis=1)
    if threshold == _LOWEST:
        # The columns read hold fewer than `count` cores: all of them, and more will be read.
        return taken
    before = np.cumsum(equal) - equal
    return np.asarray(taken + np.clip(count - int(taken.sum()) - before, 0, equal))
