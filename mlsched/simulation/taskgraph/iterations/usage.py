"""Usage of running tasks, in contrast to their demand: drawn periodically; usage above capacity slows tasks down.

In period p (ticks p * every to (p + 1) * every - 1), a placed task uses of resource r

    base = demand * mean / 10^6,   usage = base * f / 10^6,   f = 10^6 + spread * sqrt(3) * 10^6 * d,

all rounded down, with d uniform in (-1, 1): `noise(seed, job, task, resource, w)` of `GRAIN` values. The word w is p.
In the period in which the task took its place (by a start, a move or the end of a pause; `usage_at_start`), it is
`START` plus the tick of that event. So a task's usage depends on its name, on the time and on its start, but not on the
rule and the node.

If the total usage of a resource on a node exceeds its capacity, all tasks that use the resource there slow down by
(usage / capacity)^p, rounded up to ppm, where p is `overload_power`. With individual GPUs, each GPU does so separately
(a task of several GPUs uses each of them equally), and the node's sum of that resource does not count. A task slows
down by the largest of these.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import gpu_column
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

Words = npt.NDArray[np.uint64]

#: Number of values of the noise.
GRAIN = 2**20
#: Words of draws at a start begin here, above all numbers of periods.
START = 2**40
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(key: Words, word: npt.ArrayLike) -> Words:
    """Mix a key and a further number: the step and the finaliser of SplitMix64 (Steele et al., 2014)."""
    z = key + (np.atleast_1d(word).astype(np.uint64) + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)))


class Used(NamedTuple):
    """Placed tasks, each named by its job and its place in it, and their usage of each resource."""

    job: IntArray
    task: IntArray
    amount: IntArray

    def copy(self) -> Used:
        """Return an immutable copy."""
        return Used(self.job.copy(), self.task.copy(), self.amount.copy())


class Usage:
    """Placed tasks, one unordered entry (`slot`) each, their usage, and their slowdown."""

    def __init__(self, jobs: Jobs, options: Options, held: IntArray) -> None:
        """Create the books; `held` has the use of each task of the templates per resource."""
        self._jobs, self._every, resources = jobs, options.usage_every, len(jobs.resources)
        self._at_start, self._power = options.usage_at_start, options.overload_power
        self._half = round(options.usage_spread * math.sqrt(3) * WHOLE)
        self._seed = mixed(np.zeros(1, dtype=np.uint64), options.usage_seed)
        self._base = held * jobs.usage // WHOLE
        self._capacity, self._unit = jobs.node_capacity, jobs.gpu_unit
        self._column = gpu_column(jobs.resources) if self._unit else -1
        self._gpus = int(jobs.node_capacity[:, self._column].max(initial=0)) // self._unit if self._unit else 0
        self._pooled = [r for r in range(resources) if r != self._column]
        self._size, self._period = 0, -1
        self._slot: dict[tuple[int, int], int] = {}
        self._names = np.zeros((6, 64), dtype=np.int64)  # job, task, node, its GPU, number of GPUs, slowdown in ppm
        self._amounts = np.zeros((2, 64, resources), dtype=np.int64)  # base, and usage in the current period
        self._keys = np.zeros((64, resources), dtype=np.uint64)
        self._came = np.zeros(64, dtype=np.int64)  # placement time of each
        self.above = [0] * resources  # node-ticks (GPU-ticks for individual GPUs) with more usage than capacity
        self._exceeding, self._since = np.zeros(resources, dtype=np.int64), 0

    # -- placed tasks -------------------------------------------------------------------------------------------------

    def come(self, job: int, task: int, node: int, gpus: tuple[int, ...], now: int) -> None:
        """Place a task of a job on a node, and on individual GPUs of it."""
        self.look(now)
        if self._size == self._names.shape[1]:
            self._names = np.concatenate([self._names, np.zeros_like(self._names)], axis=1)
            self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)], axis=1)
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
            self._came = np.concatenate([self._came, np.zeros_like(self._came)])
        slot, base = self._size, self._base[self._jobs.span(job)[0] + task]
        self._slot[job, task], self._size = slot, slot + 1
        self._names[:, slot] = job, task, node, gpus[0] if len(gpus) == 1 else -1, len(gpus), 0
        self._keys[slot] = mixed(mixed(mixed(self._seed, job), task), np.arange(base.size))
        self._amounts[0, slot], self._came[slot] = base, now
        self._amounts[1, slot] = self._drawn_usage(slice(slot, slot + 1))[0]

    def go(self, job: int, task: int) -> None:
        """Remove a task from its node; the last slot takes its place."""
        slot, last = self._slot.pop((job, task)), self._size - 1
        self._size = last
        if slot < last:
            self._names[:, slot], self._keys[slot] = self._names[:, last], self._keys[last]
            self._amounts[:, slot], self._came[slot] = self._amounts[:, last], self._came[last]
            self._slot[int(self._names[0, slot]), int(self._names[1, slot])] = slot

    # -- usage --------------------------------------------------------------------------------------------------------

    def _drawn_usage(self, among: slice) -> IntArray:
        """Return the usage of these slots in the current period.

        It is the base usage times a factor that depends only on the slot's key and the period. With `usage_at_start`, a
        task in the period of its start has a separate factor.
        """
        word = np.full((among.stop - among.start, 1), self._period)
        if self._at_start:
            came = self._came[among, None]
            word = np.where(came // self._every == self._period, START + came, word)
        noise = (mixed(self._keys[among], word) >> np.uint64(44)).astype(np.int64)
        factor = WHOLE + self._half * (2 * noise + 1 - GRAIN) // GRAIN
        return np.asarray(self._amounts[0, among] * factor // WHOLE)

    def look(self, now: int) -> None:
        """Draw the current usage after the beginning of a new period."""
        if now // self._every != self._period:
            self._period = now // self._every
            self._amounts[1, : self._size] = self._drawn_usage(slice(0, self._size))

    def seen(self, now: int) -> Used:
        """Return the current usage; the result changes with the books."""
        self.look(now)
        job, task = self._names[:2, : self._size]
        return Used(job, task, self._amounts[1, : self._size])

    def beyond(self, limit: float, now: int) -> bool:
        """Check whether a node, or a shared GPU, is used beyond a share of its capacity now.

        Pooled GPUs of a node may be used up to their capacity.
        """
        self.look(now)
        node, gpu, _ = self._names[2:5, : self._size]
        usage, pool = self._amounts[1, : self._size], gpu_column(self._jobs.resources)
        most = np.floor(self._capacity * limit + 1e-9)
        if pool >= 0:
            most[:, pool] = self._capacity[:, pool]
        if any((_sum_by_place(node, usage[:, r], len(most)) > most[:, r]).any() for r in self._pooled):
            return True
        if not self._gpus:
            return False
        place = (node * self._gpus + gpu)[gpu >= 0]
        sums = _sum_by_place(place, usage[gpu >= 0, self._column], len(most) * self._gpus)
        is_shared = np.bincount(place, minlength=len(sums)) > 1
        return bool((sums[is_shared] > int(self._unit * limit + 1e-9)).any())

    # -- slowdowns ----------------------------------------------------------------------------------------------------

    def settle(self, now: int) -> dict[int, list[int]]:
        """Return the jobs with a changed slowdown from now on, with the factors of all their tasks, ppm.

        A task that was placed since the last call counts as changed; an unplaced one has 0.
        """
        self.look(now)
        self.above = [a + int(n) * (now - self._since) for a, n in zip(self.above, self._exceeding, strict=True)]
        self._since = now
        was = self._names[5, : self._size]
        slow, self._exceeding = self._slowdown_factors()
        jobs = np.unique(self._names[0, : self._size][slow != was]).tolist()
        self._names[5, : self._size] = slow
        return {job: self._usage_of(job) for job in jobs}

    def _usage_of(self, job: int) -> list[int]:
        first, end = self._jobs.span(job)
        slots = [self._slot.get((job, task), -1) for task in range(end - first)]
        return [int(self._names[5, slot]) if slot >= 0 else 0 for slot in slots]

    def _slowdown_factors(self) -> tuple[IntArray, IntArray]:
        """Return the slowdown of each slot, ppm, and the number of overloaded nodes (GPUs) of each resource."""
        node, gpu, many = self._names[2:5, : self._size]
        usage = self._amounts[1, : self._size]
        slow, exceeding = np.full(self._size, WHOLE), np.zeros(usage.shape[1], dtype=np.int64)
        power = self._power
        for r in self._pooled:
            total = _sum_by_place(node, usage[:, r], len(self._capacity))
            factor = _slowdown_factor(total, self._capacity[:, r], power)
            exceeding[r] = (factor > WHOLE).sum()
            if exceeding[r]:
                slow = np.where(usage[:, r] > 0, np.maximum(slow, factor[node]), slow)
        if self._gpus:
            place = node * self._gpus + gpu
            shares = _sum_by_place(place[gpu >= 0], usage[gpu >= 0, self._column], len(self._capacity) * self._gpus)
            alone = usage[:, self._column] // np.maximum(many, 1)  # per GPU, for a task with several GPUs
            factor, own = _slowdown_factor(shares, self._unit, power), _slowdown_factor(alone, self._unit, power)
            own = np.where(gpu >= 0, factor[place], np.where(many > 1, own, WHOLE))
            exceeding[self._column] = (factor > WHOLE).sum() + many[(many > 1) & (own > WHOLE)].sum()
            slow = np.where(usage[:, self._column] > 0, np.maximum(slow, own), slow)
        return slow, exceeding

    def next_draw(self, now: int) -> int | None:
        """Return the time of the next draw, or None if draws cannot change any slowdown."""
        node, gpu, many = self._names[2:5, : self._size]
        most = self._amounts[0, : self._size] * (WHOLE + self._half) // WHOLE
        may = any(
            (_sum_by_place(node, most[:, r], len(self._capacity)) > self._capacity[:, r]).any() for r in self._pooled
        )
        if self._gpus and not may:
            place, amounts = (node * self._gpus + gpu)[gpu >= 0], most[:, self._column]
            may = bool((_sum_by_place(place, amounts[gpu >= 0], len(self._capacity) * self._gpus) > self._unit).any())
            may = may or bool((amounts // np.maximum(many, 1) > self._unit)[many > 1].any())
        return (now // self._every + 1) * self._every if may else None


def _sum_by_place(place: IntArray, amounts: IntArray, places: int) -> IntArray:
    """Return the sum of the amounts at each place; exact, since usage stays far below 2^53."""
    return np.asarray(np.bincount(place, amounts, minlength=places).astype(np.int64))


def _slowdown_factor(usage: IntArray, capacity: IntArray | int, power: int) -> IntArray:
    """Return the slowdown of tasks by usage, ppm, rounded up; powers are exact, in integers of Python."""
    factor = np.where(usage > capacity, -(-usage * WHOLE // np.maximum(capacity, 1)), WHOLE)
    if power > 1:
        most = np.broadcast_to(np.maximum(capacity, 1), usage.shape)
        for at in np.flatnonzero(usage > capacity).tolist():
            factor[at] = -(-(int(usage[at]) ** power) * WHOLE // int(most[at]) ** power)
    return factor
