"""Columns of the moulded variant: a placement of a complete job that runs as a gang.

A column fixes a node for every task of a job and an offset for every run of an iteration; the next iteration follows
a cycle later. The job then takes first + cycle * (iterations - 1) ticks. From start to end it occupies, on each node,
the maximum use of its tasks at any time. Every column with a start is a task-level plan, so the optimum of the task
level is at least as good.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Collection, Sequence

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.core.fields import BoolArray, IntArray
from mlsched.formulations.taskgraph._gpus import refuse_apart
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance, Timetable

#: Most placements of one job that are tried, and most modes that are kept for all jobs.
MOST_PLACEMENTS, MOST_MODES = 20_000, 20_000
#: Number of placements that are compared with all others at once.
BLOCK = 128
#: Objectives that depend on the number of optional iterations.
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
        """Return the time from the start to the end of these iterations."""
        return self.first + self.cycle * (iterations - 1)

    def traffic(self, iterations: int) -> int:
        """Return the traffic of these iterations."""
        return self.traffic_first + self.traffic_cycle * (iterations - 1)


@dataclasses.dataclass(frozen=True)
class Mode:
    """A job with its column and number of iterations to run; without a column it runs no (further) iterations."""

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
    """Return the columns of job j that are not dominated.

    Columns are compared by release, reserved amounts, the ends of their iterations (`ends_at`) and their traffic
    (`sent_at`). Both grow linearly with the iterations, so a column that is smaller at two numbers is smaller at all
    between.
    """
    tasks = layout.tasks_of[j]
    if any(k in layout.fixed for k in tasks):
        raise TooLarge(f"moulded: job {j} has runs under way; a gang starts together: use cp-sat")
    count = int(np.prod([float(len(layout.allowed[k])) for k in tasks]))
    if count > MOST_PLACEMENTS:
        raise TooLarge(f"moulded: job {j} has {count} placements, more than {MOST_PLACEMENTS}: use cp-sat")
    nodes = np.array(list(itertools.product(*(layout.allowed[k] for k in tasks))), dtype=np.int64)
    shapes, shape_of = _shapes(layout, tasks, nodes)
    built_object = [_column(layout, j, dict(zip(tasks, row, strict=True))) for row in nodes[shapes].tolist()]
    # A shape's column reserves amounts on a task's node; another placement reserves them on its node of the task.
    hold = np.array([column.hold for column in built_object], dtype=np.int64)
    usage = np.zeros((len(nodes), *hold.shape[1:]), dtype=np.int64)
    for at in range(len(tasks)):
        usage[np.arange(len(nodes)), nodes[:, at]] = hold[shape_of, nodes[shapes[shape_of], at]]
    keys = [[c.release, *map(c.end, ends_at), *map(c.traffic, sent_at)] for c in built_object]
    smaller = np.array(keys, dtype=np.int64)[shape_of]
    return [
        dataclasses.replace(
            built_object[shape_of[row]],
            node=dict(zip(tasks, nodes[row].tolist(), strict=True)),
            hold=tuple(map(tuple, usage[row].tolist())),
        )
        for row in _undominated_rows(np.concatenate([smaller, usage.reshape(len(nodes), -1)], axis=1))
    ]


def _shapes(layout: Layout, tasks: list[int], nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Return a placement (row of `nodes`, one per task) of each shape, and the shape of every placement.

    Placements have the same shape if they put the same tasks together, on nodes of equal capacity, and if the same
    runs are away from their predecessors in the last finished iteration. Then their columns differ only in the names
    of nodes.
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
    offset = _iteration_offsets(layout, j, node)
    first = max(offset[k] + layout.duration[k] for k in node)
    cycle = max(1, max(layout.duration[k] for k in node))
    for k in node:
        for arc in layout.into[k]:
            if arc.lag:
                end = offset[arc.u] + layout.duration[arc.u] + (arc.delay if node[arc.u] != node[k] else 0)
                cycle = max(cycle, end - offset[k])
    several = layout.maximum[j] - layout.finished[j] > 1
    hold = _peak_use(layout, node, offset, cycle, several)
    while any(h > c for row, room in zip(hold, layout.capacity, strict=True) for h, c in zip(row, room, strict=True)):
        # Iterations that overlap too much are moved apart; without overlap they fit, because the offsets do.
        cycle += 1
        hold = _peak_use(layout, node, offset, cycle, several)
    volume = [(a, node[a.u] != node[a.v]) for k in node for a in layout.into[k]]
    traffic = sum(a.volume for a, full in volume if full)
    opening = sum(a.volume for a, full in volume if full and not a.lag)
    release = layout.ready[j]
    if layout.finished[j]:
        for k in node:
            for a in layout.into[k]:
                if a.lag:
                    away = layout.home[a.u] != node[k]
                    opening += a.volume if away else 0
                    release = max(release, layout.last_end[a.u] + (a.delay if away else 0) - offset[k])
    return Column(node, offset, first, cycle, hold, opening, traffic, release)


def _iteration_offsets(layout: Layout, j: int, node: dict[int, int]) -> dict[int, int]:
    """Return starts of one iteration's runs on an empty cluster: each as early as its sources and its node allow."""
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
        offset[k] = next(t for t in times if _fits_on_node(layout, k, node[k], t, here, offset))
    return offset


def _fits_on_node(layout: Layout, k: int, n: int, t: int, here: list[int], offset: dict[int, int]) -> bool:
    end = t + layout.duration[k]
    if end == t:
        return True
    for at in {t, *(offset[u] for u in here if t < offset[u] < end)}:
        on = [u for u in here if offset[u] <= at < offset[u] + layout.duration[u]]
        for r, room in enumerate(layout.capacity[n]):
            if layout.demand[k][r] + sum(layout.demand[u][r] for u in on) > room:
                return False
    return True


def _peak_use(
    layout: Layout, node: dict[int, int], offset: dict[int, int], cycle: int, several: bool
) -> tuple[tuple[int, ...], ...]:
    """Return the maximum use of each node if iterations follow each other every `cycle` ticks."""
    length = max(offset[k] + layout.duration[k] for k in node)
    span = cycle if several else max(cycle, length)
    use = np.zeros((layout.nodes, len(layout.instance.resources), max(1, span)), dtype=np.int64)
    for k, n in node.items():
        at = (offset[k] + np.arange(layout.duration[k])) % max(1, span)
        np.add.at(use[n].T, at, np.array(layout.demand[k], dtype=np.int64))
    return tuple(tuple(int(h) for h in row) for row in use.max(axis=2))


def _undominated_rows(table: IntArray) -> list[int]:
    """Return the rows that are not dominated (nowhere smaller than another row); of equal rows, the first."""
    # A dominating row has an equal or smaller sum, so only earlier rows can dominate a row.
    remaining = np.lexsort((np.arange(len(table)), table.sum(axis=1)))
    columns, survivors = np.ascontiguousarray(table[remaining].T), list[int]()
    while len(remaining):
        block = columns[:, :BLOCK]
        free = ~np.tril(_nowhere_smaller(block, block), -1).any(axis=1)
        survivors += remaining[:BLOCK][free].tolist()
        open_still = ~_nowhere_smaller(columns[:, BLOCK:], block[:, free]).any(axis=1)
        columns, remaining = columns[:, BLOCK:][:, open_still], remaining[BLOCK:][open_still]
    return sorted(survivors)


def _nowhere_smaller(some: IntArray, others: IntArray) -> BoolArray:
    """Return for each pair of rows of `some` and `others` whether the first is at least the second in every column.

    Both tables are transposed: shape (columns, rows).
    """
    result = np.ones((some.shape[1], others.shape[1]), dtype=bool)
    for one, other in zip(some, others, strict=True):
        result &= one[:, None] >= other
    return result


class Moulded:
    """The moulded variant of an instance: the modes of every job that matter to some objectives, and a horizon.

    reason: the cause of infeasibility, if a job that must run has no column.
    """

    def __init__(self, instance: Instance, objectives: Collection[str]) -> None:
        self.layout = layout = Layout.of(instance)
        refuse_apart(layout, "moulded")
        self.reason = layout.reason
        self.modes = [self._modes_of_job(j, objectives) for j in range(layout.jobs)]
        if (j := next((j for j, modes in enumerate(self.modes) if not modes), None)) is not None:
            self.reason = self.reason or f"job {j} has no column"
        total = sum(map(len, self.modes))
        if total > MOST_MODES:
            raise TooLarge(f"moulded: {total} modes are more than {MOST_MODES}: use cp-sat")
        release = [self.release(m) for modes in self.modes for m in modes]
        # Starting a job earlier worsens no objective; after the last release, some job runs until all have ended.
        self.end = max(release, default=0) + sum(max((m.duration for m in modes), default=0) for modes in self.modes)

    def _modes_of_job(self, j: int, objectives: Collection[str]) -> list[Mode]:
        """Return a job's modes. For objectives without accuracy, optional iterations are never better."""
        layout = self.layout
        finish, mandatory, maximum = layout.finished[j], layout.mandatory[j], layout.maximum[j]
        accurate = not ACCURACIES.isdisjoint(objectives)
        idle = [Mode(j, None, 0)] if mandatory <= finish else []
        if maximum == finish or (idle and not accurate):
            return idle
        fewest = max(mandatory - finish, 1)
        most = maximum - finish if accurate else fewest
        every = accurate and layout.instance.accuracy_at == "deadline"
        sent_at = {fewest, most} if "traffic" in objectives else set[int]()
        result = columns(layout, j, sorted({1 if every else fewest, most}), sorted(sent_at))
        return idle + [Mode(j, column, number) for column in result for number in range(fewest, most + 1)]

    def release(self, mode: Mode) -> int:
        """Return the earliest start of a job in this mode; without iterations to run, its completion."""
        return self.layout.idle_completion(mode.job) if mode.column is None else mode.column.release

    def ends(self, mode: Mode) -> list[int]:
        """Return the ends of a mode's iterations, after its start."""
        return [] if mode.column is None else [mode.column.end(i + 1) for i in range(mode.iterations)]

    def timetable(self, chosen: list[tuple[Mode, int]]) -> Timetable:
        """Return the task-level plan of a mode and a start for each job."""
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
