"""Columns of the moulded variant: a placement of a whole job that runs as a gang.

A column fixes a node for every task of a job and an offset for every run of an iteration; the next iteration follows a
cycle later. The job then takes first + cycle * (iterations - 1) ticks and holds, from start to end, the most that its
tasks use of each node at any time. Every column with a start is a task-level plan, so the task level is never worse.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._gpus import refuse_apart
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable

#: Placements of one job that are looked at, and modes that are kept for all jobs.
MOST_PLACEMENTS, MOST_MODES = 20_000, 20_000
#: Placements that are held against all others at once.
BLOCK = 128
#: Objectives to which it matters how many iterations a job runs beyond those that must.
ACCURACIES = frozenset({"accuracy_met", "total_accuracy"})


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

    def end(self, iterations: int) -> int:
        """When so many iterations have ended, after the start."""
        return self.first + self.cycle * (iterations - 1)

    def traffic(self, iterations: int) -> int:
        """The traffic of so many iterations."""
        return self.traffic_first + self.traffic_cycle * (iterations - 1)


@dataclasses.dataclass(frozen=True)
class Mode:
    """A job with its column and number of iterations to run; no column: it runs nothing (more)."""

    job: int
    column: Column | None
    iterations: int

    @functools.cached_property
    def duration(self) -> int:
        return 0 if self.column is None else self.column.end(self.iterations)

    @property
    def traffic(self) -> int:
        return 0 if self.column is None else self.column.traffic(self.iterations)


def columns(layout: Layout, j: int, ends_at: Sequence[int], sent_at: Sequence[int]) -> list[Column]:
    """The columns of job j that no other dominates.

    What of a column matters, beside its release and what it holds: when so many iterations have ended (`ends_at`), and
    their traffic (`sent_at`). Both grow by the same with every iteration, so what is smaller at two numbers is smaller
    at all between.
    """
    tasks = layout.tasks_of[j]
    if any(k in layout.fixed for k in tasks):
        raise TooLarge(f"moulded: job {j} has runs under way; a gang starts as a whole: use cp-sat")
    count = int(np.prod([float(len(layout.allowed[k])) for k in tasks]))
    if count > MOST_PLACEMENTS:
        raise TooLarge(f"moulded: job {j} has {count} placements, more than {MOST_PLACEMENTS}: use cp-sat")
    nodes = np.array(list(itertools.product(*(layout.allowed[k] for k in tasks))), dtype=np.int64)
    shapes, shape_of = _shapes(layout, tasks, nodes)
    made = [_column(layout, j, dict(zip(tasks, row, strict=True))) for row in nodes[shapes].tolist()]
    # What a shape's column holds of a task's node is held of the node that the task has elsewhere.
    hold = np.array([column.hold for column in made], dtype=np.int64)
    held = np.zeros((len(nodes), *hold.shape[1:]), dtype=np.int64)
    for at in range(len(tasks)):
        held[np.arange(len(nodes)), nodes[:, at]] = hold[shape_of, nodes[shapes[shape_of], at]]
    keys = [[c.release, *map(c.end, ends_at), *map(c.traffic, sent_at)] for c in made]
    smaller = np.array(keys, dtype=np.int64)[shape_of]
    return [
        dataclasses.replace(
            made[shape_of[row]],
            node=dict(zip(tasks, nodes[row].tolist(), strict=True)),
            hold=tuple(map(tuple, held[row].tolist())),
        )
        for row in _undominated(np.concatenate([smaller, held.reshape(len(nodes), -1)], axis=1))
    ]


def _shapes(layout: Layout, tasks: list[int], nodes: IntArray) -> tuple[IntArray, IntArray]:
    """A placement (row of `nodes`, one a task) of each shape, and the shape of every placement.

    Placements have one shape if they put the same tasks together, on nodes of equal capacity, and if the same runs are
    away from what they wait for of the last finished iteration: then their columns differ only in which nodes they are.
    """
    alike = {tuple(room): number for number, room in enumerate(layout.capacity)}
    kind = np.array([alike[tuple(room)] for room in layout.capacity], dtype=np.int64)
    first_with = [(nodes[:, : at + 1] == nodes[:, at : at + 1]).argmax(axis=1) for at in range(len(tasks))]
    signs = [*first_with, *kind[nodes].T]
    if layout.finished[layout.job[tasks[0]]]:
        arcs = [(layout.home[arc.u], at) for at, k in enumerate(tasks) for arc in layout.into[k] if arc.lag]
        signs += [nodes[:, at] != home for home, at in arcs]
    _, shapes, shape_of = np.unique(np.stack(signs, axis=1), axis=0, return_index=True, return_inverse=True)
    return shapes, shape_of.reshape(-1)


def _column(layout: Layout, j: int, node: dict[int, int]) -> Column:
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


def _undominated(table: IntArray) -> list[int]:
    """Of rows that are nowhere smaller than another, none; of equal ones, the first."""
    # What dominates another has no larger sum: a row is dominated by one before it, or by none.
    left = np.lexsort((np.arange(len(table)), table.sum(axis=1)))
    columns, kept = np.ascontiguousarray(table[left].T), list[int]()
    while len(left):
        block = columns[:, :BLOCK]
        free = ~np.tril(_nowhere_smaller(block, block), -1).any(axis=1)
        kept += left[:BLOCK][free].tolist()
        open_still = ~_nowhere_smaller(columns[:, BLOCK:], block[:, free]).any(axis=1)
        columns, left = columns[:, BLOCK:][:, open_still], left[BLOCK:][open_still]
    return sorted(kept)


def _nowhere_smaller(some: IntArray, others: IntArray) -> Any:
    """Which of some rows are nowhere smaller than which of others; both come as columns."""
    found = np.ones((some.shape[1], others.shape[1]), dtype=bool)
    for one, other in zip(some, others, strict=True):
        found &= one[:, None] >= other
    return found


class Moulded:
    """The moulded variant of an instance: the modes of every job that matter to some objectives, and a horizon.

    reason: why it has no plan, if a job that must run has no column.
    """

    def __init__(self, instance: Instance, objectives: Collection[str]) -> None:
        self.layout = layout = Layout.of(instance)
        refuse_apart(layout, "moulded")
        self.reason = layout.reason
        self.modes = [self._modes(j, objectives) for j in range(layout.jobs)]
        if (j := next((j for j, modes in enumerate(self.modes) if not modes), None)) is not None:
            self.reason = self.reason or f"job {j} has no column"
        total = sum(map(len, self.modes))
        if total > MOST_MODES:
            raise TooLarge(f"moulded: {total} modes are more than {MOST_MODES}: use cp-sat")
        release = [self.release(m) for modes in self.modes for m in modes]
        # Starting a job earlier worsens no objective; after the last release, some job runs until all have ended.
        self.end = max(release, default=0) + sum(max((m.duration for m in modes), default=0) for modes in self.modes)

    def _modes(self, j: int, objectives: Collection[str]) -> list[Mode]:
        """A job's modes. To objectives that know no accuracy, more iterations than must run are only worse."""
        layout = self.layout
        done, mandatory, maximum = layout.finished[j], layout.mandatory[j], layout.maximum[j]
        accurate = not ACCURACIES.isdisjoint(objectives)
        idle = [Mode(j, None, 0)] if mandatory <= done else []
        if maximum == done or (idle and not accurate):
            return idle
        fewest = max(mandatory - done, 1)
        most = maximum - done if accurate else fewest
        every = accurate and layout.instance.accuracy_at == "deadline"
        sent_at = {fewest, most} if "traffic" in objectives else set[int]()
        found = columns(layout, j, sorted({1 if every else fewest, most}), sorted(sent_at))
        return idle + [Mode(j, column, number) for column in found for number in range(fewest, most + 1)]

    def release(self, mode: Mode) -> int:
        """The earliest start of a job in this mode; of one that runs nothing, its completion."""
        return self.layout.idle_completion(mode.job) if mode.column is None else mode.column.release

    def ends(self, mode: Mode) -> list[int]:
        """When the iterations that a mode runs end, after its start."""
        return [] if mode.column is None else [mode.column.end(i + 1) for i in range(mode.iterations)]

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
