"""Part of the replay check on usage: the usage of tasks at every time, and their slowdown.

It is recomputed from the placements in the log and the options only, node by node. A node's tasks and their usage only
change if a task starts or leaves, and at the beginning of a period (see `usage.py` for the draws, at a start and by
period). The module shares no code with the engine and uses plain Python.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.workload import Jobs

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.replay import Segment

WHOLE = 10**6
WORD = 2**64
#: Names of resources that count GPUs.
NAMES = ("gpu", "gpu_percent", "gpu_milli")


def splitmix(key: int, word: int) -> int:
    """Compute SplitMix64 of a key and a further number."""
    z = (key + (word + 1) * 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


class _Task:
    """Task of a job in its place, which it took at `start`, and its usage."""

    def __init__(
        self, jobs: Jobs, options: Options, job: int, task: int, node: int, gpus: tuple[int, ...], start: int
    ) -> None:
        self.job, self.task, self.node, self.gpus = job, task, node, gpus
        row = jobs.span(job)[0] + task
        takes_time = int(jobs.duration[row]) > 0
        self.base = [
            int(d) * takes_time * int(u) // WHOLE for d, u in zip(jobs.demand[row], jobs.usage[row], strict=True)
        ]
        key = splitmix(splitmix(splitmix(0, options.usage_seed), job), task)
        self._keys = [splitmix(key, r) for r in range(len(self.base))]
        self._half, self._period = round(options.usage_spread * math.sqrt(3) * WHOLE), -1
        self._usage: list[int] = []
        self._first = start // options.usage_every if options.usage_at_start else -1
        self._start = start
        self.changes: list[tuple[int, int]] = []  # (time, its slowdown from then on, ppm)

    def usage(self, period: int) -> list[int]:
        """Return its usage of each resource."""
        if period != self._period:
            self._period, self._usage = period, []
            word = 2**40 + self._start if period == self._first else period
            for base, key in zip(self.base, self._keys, strict=True):
                noise = splitmix(key, word) >> 44
                factor = WHOLE + self._half * (2 * noise + 1 - 2**20) // 2**20
                self._usage.append(base * factor // WHOLE)
        return self._usage

    def most(self) -> list[int]:
        """Return its largest usage in any period."""
        return [base * (WHOLE + self._half) // WHOLE for base in self.base]


class Slowdowns:
    """Slowdown of each task over time, in a complete run; and `above`, as in `Segments`."""

    def __init__(self, jobs: Jobs, options: Options, by_job: dict[int, list[Segment]]) -> None:
        self._jobs, self._every, self._power = jobs, options.usage_every, options.overload_power
        unit = jobs.gpu_unit
        self._column = next(r for r, name in enumerate(jobs.resources) if name in NAMES) if unit else -1
        self.above = [0] * len(jobs.resources)
        self._changes: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)  # of each (job, task)
        comes: dict[int, list[tuple[int, int, _Task]]] = defaultdict(list)
        stays = [stay for job, segments in by_job.items() for stay in _task_stays(jobs, options, job, segments)]
        self._instants = {time for start, end, _ in stays for time in (start, end)}
        for start, end, task in stays:
            if start < end:
                comes[task.node] += [(start, 1, task), (end, 0, task)]
        for node, events in comes.items():
            self._sweep_node(node, sorted(events, key=lambda event: event[:2]))
        for _, _, task in sorted(stays, key=lambda stay: stay[0]):
            self._changes[task.job, task.task] += task.changes

    def at(self, job: int, task: int, time: int) -> int:
        """Return the slowdown of a task from this time on, ppm."""
        changes = self._changes.get((job, task), [])
        place = bisect_right(changes, (time, WORD))
        return changes[place - 1][1] if place else WHOLE

    def may_change(self, time: int) -> bool:
        """Check whether a slowdown could change at that time: a new period, or a task that starts or leaves."""
        return time % self._every == 0 or time in self._instants

    def within(self, job: int, count: int, start: int, end: int) -> list[int]:
        """Return the times in a span at which the slowdown of any of a job's tasks changes."""
        times: set[int] = set()
        for task in range(count):
            changes = self._changes.get((job, task), [])
            first = bisect_right(changes, (start, WORD))
            while first < len(changes) and changes[first][0] < end:
                times.add(changes[first][0])
                first += 1
        return sorted(times)

    def _sweep_node(self, node: int, events: list[tuple[int, int, _Task]]) -> None:
        """Process a node's time."""
        there: dict[tuple[int, int], _Task] = {}
        now, at = 0, 0
        while at < len(events):
            now = events[at][0]
            while at < len(events) and events[at][0] == now:
                _, comes, task = events[at]
                if comes:
                    there[task.job, task.task] = task
                else:
                    there.pop((task.job, task.task), None)
                at += 1
            end = events[at][0] if at < len(events) else now
            matters = any(usage > capacity for _, usage, capacity, _ in self._usage_sums(node, there, None))
            while now < end:
                period = now // self._every
                until = min(end, (period + 1) * self._every) if matters else end
                self._slow_tasks(node, there, period, until - now, now)
                now = until

    def _usage_sums(
        self, node: int, there: dict[tuple[int, int], _Task], period: int | None
    ) -> Iterator[tuple[int, int, int, list[_Task]]]:
        """Yield (resource, usage, capacity, tasks that use it) of the node, or of each of its GPUs.

        With the period None, usage is the largest possible.
        """
        task_usage = [(task, task.most() if period is None else task.usage(period)) for task in there.values()]
        for r, capacity in enumerate(self._jobs.node_capacity[node].tolist()):
            if r != self._column:
                yield (
                    r,
                    sum(usage[r] for _, usage in task_usage),
                    capacity,
                    [task for task, usage in task_usage if usage[r]],
                )
                continue
            of_gpu: dict[int, list[tuple[_Task, int]]] = defaultdict(list)
            for task, usage in task_usage:
                for gpu in task.gpus:
                    of_gpu[gpu].append((task, usage[r] // len(task.gpus)))
            for shares in of_gpu.values():
                yield r, sum(u for _, u in shares), self._jobs.gpu_unit, [task for task, u in shares if u]

    def _slow_tasks(self, node: int, there: dict[tuple[int, int], _Task], period: int, ticks: int, now: int) -> None:
        """Compute slowdowns on a node for `ticks` ticks from now on.

        Args:
            node: Number of the node.
            there: Tasks on the node.
            period: Number of the period.
            ticks: Length of the time.
            now: Start of the time.
        """
        slow = dict.fromkeys(there, WHOLE)
        for r, usage, capacity, users in self._usage_sums(node, there, period):
            if usage > capacity:
                self.above[r] += ticks
                factor = -(-(usage**self._power) * WHOLE // capacity**self._power)
                for task in users:
                    name = (task.job, task.task)
                    slow[name] = max(slow[name], factor)
        for name, factor in slow.items():
            changes = there[name].changes
            if not changes or changes[-1][1] != factor:
                changes.append((now, factor))


def _task_stays(jobs: Jobs, options: Options, job: int, segments: list[Segment]) -> Iterator[tuple[int, int, _Task]]:
    """Yield (start, end, task) for each stay of a job's task in one place."""
    open_: dict[int, tuple[int, int, _Task]] = {}
    for s in segments:
        for task, (node, gpus) in enumerate(s.places):
            last = open_.get(task)
            if last and (last[1] != s.start or (last[2].node, last[2].gpus) != (node, gpus)):
                yield open_.pop(task)
                last = None
            if node >= 0:
                at = last[2] if last else _Task(jobs, options, job, task, node, gpus, s.start)
                open_[task] = (last[0] if last else s.start, s.end, at)
    yield from open_.values()
