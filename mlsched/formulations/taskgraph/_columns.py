"""Columns of the moulded variant: a placement of a whole job that runs as a gang.

A column fixes a node for every task of a job and an offset for every run of an iteration; the next iteration follows a
cycle later. The job then takes first + cycle * (iterations - 1) ticks and holds, from start to end, the most that its
tasks use of each node at any time. Every column with a start is a task-level plan, so the task level is never worse.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.formulations.taskgraph._gpus import refuse_apart
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable

#: Placements of one job that are looked at, and modes that are kept for all jobs.
MOST_PLACEMENTS, MOST_MODES = 20_000, 20_000


@dataclasses.dataclass(frozen=True)
class Column:
    """A placement of one job. hold[n][r] is reserved throughout; traffic of the first and of every later iteration.

    `release` is the earliest start; all runs of iteration i (counted from the first to run) are shifted by i * cycle.
    """

    node: dict[int, int]
    offset: dict[int, int]
    first: int
    cycle: int
    hold: tuple[tuple[int, ...], ...]
    traffic_first: int
    traffic_cycle: int
    release: int

    def key(self) -> list[int]:
        """All that is better when smaller."""
        held = [h for row in self.hold for h in row]
        return [self.first, self.cycle, self.traffic_first, self.traffic_cycle, self.release, *held]


@dataclasses.dataclass(frozen=True)
class Mode:
    """A job with its column and number of iterations to run; no column: it runs nothing (more)."""

    job: int
    column: Column | None
    iterations: int

    @property
    def duration(self) -> int:
        return 0 if self.column is None else self.column.first + self.column.cycle * (self.iterations - 1)

    @property
    def traffic(self) -> int:
        if self.column is None:
            return 0
        return self.column.traffic_first + self.column.traffic_cycle * (self.iterations - 1)


def columns(layout: Layout, j: int) -> tuple[list[Column], int]:
    """The columns of job j that no other dominates, and how many there were."""
    tasks = layout.tasks_of[j]
    if any(k in layout.fixed for k in tasks):
        raise TooLarge(f"moulded: job {j} has runs under way; a gang starts as a whole: use cp-sat")
    count = int(np.prod([float(len(layout.allowed[k])) for k in tasks]))
    if count > MOST_PLACEMENTS:
        raise TooLarge(f"moulded: job {j} has {count} placements, more than {MOST_PLACEMENTS}: use cp-sat")
    made = [
        column
        for nodes in itertools.product(*(layout.allowed[k] for k in tasks))
        if (column := _column(layout, j, dict(zip(tasks, nodes, strict=True)))) is not None
    ]
    return _undominated(made), len(made)


def _column(layout: Layout, j: int, node: dict[int, int]) -> Column | None:
    offset = _offsets(layout, j, node)
    first = max(offset[k] + layout.duration[k] for k in node)
    cycle = max(1, max(layout.duration[k] for k in node))
    for k in node:
        for arc in layout.into[k]:
            if arc.lag:
                end = offset[arc.u] + layout.duration[arc.u] + (arc.delay if node[arc.u] != node[k] else 0)
                cycle = max(cycle, end - offset[k])
    several = layout.maximum[j] - layout.finished[j] > 1
    hold = _held(layout, node, offset, cycle, several)
    while any(h > c for row, room in zip(hold, layout.capacity, strict=True) for h, c in zip(row, room, strict=True)):
        # Iterations that overlap too much drift apart; apart altogether they fit, because the offsets do.
        cycle += 1
        hold = _held(layout, node, offset, cycle, several)
    sent = [(a, node[a.u] != node[a.v]) for k in node for a in layout.into[k]]
    traffic = sum(a.volume for a, cut in sent if cut)
    opening = sum(a.volume for a, cut in sent if cut and not a.lag)
    release = layout.ready[j]
    if layout.finished[j]:
        for k in node:
            for a in layout.into[k]:
                if a.lag:
                    away = layout.home[a.u] != node[k]
                    opening += a.volume if away else 0
                    release = max(release, layout.last_end[a.u] + (a.delay if away else 0) - offset[k])
    return Column(node, offset, first, cycle, hold, opening, traffic, release)


def _offsets(layout: Layout, j: int, node: dict[int, int]) -> dict[int, int]:
    """Starts of one iteration's runs on an empty cluster: each as early as its sources and its node allow."""
    offset: dict[int, int] = {}
    for k in layout.order[j]:
        ready = 0
        for arc in layout.into[k]:
            if not arc.lag:
                end = offset[arc.u] + layout.duration[arc.u]
                ready = max(ready, end + (arc.delay if node[arc.u] != node[k] else 0))
        here = [u for u in offset if node[u] == node[k] and layout.duration[u]]
        ends = [offset[u] + layout.duration[u] for u in here]
        times = sorted({ready, *(end for end in ends if end > ready)})
        offset[k] = next(t for t in times if _fits(layout, k, node[k], t, here, offset))
    return offset


def _fits(layout: Layout, k: int, n: int, t: int, here: list[int], offset: dict[int, int]) -> bool:
    end = t + layout.duration[k]
    if end == t:
        return True
    for at in {t, *(offset[u] for u in here if t < offset[u] < end)}:
        on = [u for u in here if offset[u] <= at < offset[u] + layout.duration[u]]
        for r, room in enumerate(layout.capacity[n]):
            if layout.demand[k][r] + sum(layout.demand[u][r] for u in on) > room:
                return False
    return True


def _held(
    layout: Layout, node: dict[int, int], offset: dict[int, int], cycle: int, several: bool
) -> tuple[tuple[int, ...], ...]:
    """The most in use on each node when iterations follow each other every `cycle` ticks, for ever."""
    length = max(offset[k] + layout.duration[k] for k in node)
    span = cycle if several else max(cycle, length)
    use = np.zeros((layout.nodes, len(layout.instance.resources), max(1, span)), dtype=np.int64)
    for k, n in node.items():
        at = (offset[k] + np.arange(layout.duration[k])) % max(1, span)
        np.add.at(use[n].T, at, np.array(layout.demand[k], dtype=np.int64))
    return tuple(tuple(int(h) for h in row) for row in use.max(axis=2))


def _undominated(made: list[Column]) -> list[Column]:
    """Of columns that are nowhere better than another, none; of equal ones, the first."""
    if not made:
        return []
    table = np.array([c.key() for c in made], dtype=np.int64)
    # What dominates another has no larger sum, so that the first that is left is dominated by nobody.
    left = np.lexsort((np.arange(len(made)), table.sum(axis=1)))
    kept: list[int] = []
    while len(left):
        first, left = int(left[0]), left[1:]
        kept.append(first)
        left = left[(table[left] < table[first]).any(axis=1)]
    return [made[index] for index in sorted(kept)]


class Moulded:
    """The moulded variant of an instance: the modes of every job, and a horizon.

    reason: why it has no plan, if a job that must run has no column.
    """

    def __init__(self, instance: Instance) -> None:
        self.layout = layout = Layout.of(instance)
        refuse_apart(layout, "moulded")
        self.reason = layout.reason
        self.modes: list[list[Mode]] = []
        self.listed = self.kept = 0
        for j in range(layout.jobs):
            modes = [Mode(j, None, 0)] if layout.mandatory[j] <= layout.finished[j] else []
            if layout.maximum[j] > layout.finished[j]:
                reduced, listed = columns(layout, j)
                self.listed, self.kept = self.listed + listed, self.kept + len(reduced)
                fewest = max(layout.mandatory[j], layout.finished[j] + 1)
                modes += [
                    Mode(j, c, n - layout.finished[j]) for c in reduced for n in range(fewest, layout.maximum[j] + 1)
                ]
            if not modes:
                self.reason = self.reason or f"job {j} has no column"
            self.modes.append(modes)
        total = sum(map(len, self.modes))
        if total > MOST_MODES:
            raise TooLarge(f"moulded: {total} modes are more than {MOST_MODES}: use cp-sat")
        release = [self.release(m) for modes in self.modes for m in modes]
        # Starting a job earlier worsens no objective; after the last release, some job runs until all have ended.
        self.end = max(release, default=0) + sum(max((m.duration for m in modes), default=0) for modes in self.modes)

    def release(self, mode: Mode) -> int:
        """The earliest start of a job in this mode; of one that runs nothing, its completion."""
        return self.layout.idle_completion(mode.job) if mode.column is None else mode.column.release

    def ends(self, mode: Mode) -> list[int]:
        """When the iterations that a mode runs end, after its start."""
        c = mode.column
        return [] if c is None else [c.first + c.cycle * i for i in range(mode.iterations)]

    def timetable(self, chosen: list[tuple[Mode, int]]) -> Timetable:
        """The task-level plan of a mode and a start for each job."""
        node: dict[tuple[int, int], int] = {}
        start: dict[tuple[int, int], int] = {}
        for mode, begin in chosen:
            if mode.column is not None:
                for i in range(mode.iterations):
                    for k, n in mode.column.node.items():
                        run = k, i + self.layout.finished[mode.job]
                        node[run] = n
                        start[run] = begin + mode.column.offset[k] + i * mode.column.cycle
        return self.layout.timetable(node, start)
