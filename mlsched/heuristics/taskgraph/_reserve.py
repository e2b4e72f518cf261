"""Reservations for backfilling: estimated lengths of units, and the free capacity of each node over time.

A unit starts as one: a gang, or a single task of a job without gangs. If the simulator is of iterations, it occupies
its nodes until its job ends: by the user's own estimate (`time_limit`) if given, otherwise by the estimated
durations; transfers are not counted. By tasks, it occupies its node for one run, by its estimated duration. A run
beyond its estimate is assumed to end at the next tick. If GPUs are individual, the GPUs of a node are counted as one
pool, so a task with a fraction of a GPU may start later than promised.

By count (`by_count`), room is counted as textbooks count processors, on any node. This is exact if all tasks have the
same demand and may use any node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, BoolArray, IntArray
from mlsched.heuristics.taskgraph.measures import remaining_time, run_left, tasks_of
from mlsched.heuristics.taskgraph.packing import packing
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING

NOT_BY_COUNT = (
    "reserve = count: tasks ask for different amounts here, or may not go to every node, so that enough room "
    "in all is not room for a job; choose nodes, or auto"
)


class Unit(NamedTuple):
    """Tasks from `first` to before `end` that start as one and then occupy their nodes for `ticks`.

    `name`: the same in every round until it starts.
    """

    name: str
    first: int
    end: int
    ticks: int


class Slot(NamedTuple):
    """Planned start of a unit, and the node of each of its tasks."""

    start: int
    nodes: list[int]


def hold_ticks(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """Return how long each task occupies its node from its start on, or from now on if it runs; at least 1 tick."""
    if snapshot.simulator == "tasks":
        return np.asarray(np.maximum(run_left(snapshot), 1))
    stated = snapshot.time_limit > 0
    estimate = np.where(stated, snapshot.time_limit - snapshot.executed, remaining_time(snapshot, stop_after))
    return np.asarray(np.maximum(estimate, 1)[snapshot.task_job])


def unit_of(snapshot: Snapshot, task: int, ticks: IntArray) -> Unit:
    """Return the unit of a waiting task."""
    job = int(snapshot.task_job[task])
    first, end = tasks_of(snapshot, job)
    name = f"{snapshot.job_id[job]}"
    if snapshot.gang[job]:
        return Unit(name, first, end, int(ticks[first:end].max()))
    return Unit(f"{name}.{task - first}.{snapshot.finished[job]}", task, task + 1, int(ticks[task]))


def waiting(placer: Placer, queue: IntArray) -> IntArray:
    """Return the tasks that may start now with all of their gang, in the given order."""
    snapshot = placer.snapshot
    torn = np.zeros(len(snapshot.arrival), dtype=np.bool_)
    torn[snapshot.task_job[~placer.open]] = True
    return np.asarray(queue[placer.open[queue] & ~(torn & (snapshot.gang == 1))[snapshot.task_job[queue]]])


def start(placer: Placer, unit: Unit, slot: Slot, profile: Profile) -> list[int]:
    """Start a unit whose slot is due, on the nodes that list rules would choose, else on the nodes of its slot.

    It must fit the free capacity as long as it occupies its nodes. Returns the nodes; empty while some of its data is
    still being transferred.
    """
    if profile.counts:
        return slot.nodes if placer.start(unit.first) else []
    room = np.minimum(placer.free, profile.room(0, unit.ticks))
    before = len(placer.starts)
    if placer.start_within(unit.first, room):
        return [node for _, node in sorted(placer.starts[before:])]
    places = list(zip(range(unit.first, unit.end), slot.nodes, strict=True))
    if not all(placer.snapshot.may_start_on(task)[node] for task, node in places):
        return []
    if placer.gpus:  # the profile knows nodes, and not the free parts of their GPUs
        return []
    for task, node in places:
        placer.put(task, node)
    return slot.nodes


def by_count(placer: Placer, reserve: str) -> bool:
    """Return if reservations are of an amount of room on any node ("count"), or of nodes ("nodes").

    "auto": by count if that is exact: all tasks have the same demand, and may use every node.
    """
    snapshot, demand = placer.snapshot, placer.held[placer.held.any(axis=1)]
    same = len(demand) > 0 and bool((demand == demand[0]).all()) and bool(snapshot.eligible.all()) and not placer.gpus
    same = same and placer.types is None
    same = same and bool((snapshot.bound[placer.open] < 0).all()) and not snapshot.fetching
    if reserve == "count" and not same:
        raise InvalidInput(NOT_BY_COUNT)
    return reserve != "nodes" and same


def first_units(snapshot: Snapshot, queue: IntArray, ticks: IntArray, depth: int) -> list[Unit]:
    """Return the first `depth` units of the waiting tasks, in their order."""
    result: dict[str, Unit] = {}
    for task in queue.tolist():
        if len(result) == depth:
            break
        unit = unit_of(snapshot, task, ticks)
        result.setdefault(unit.name, unit)
    return list(result.values())


class Profile:
    """The free capacity of every node from now on.

    `free[k]` (nodes x resources) is free from `times[k]` to the next time, the last entry forever. At first, running
    tasks (and the placer's starts) end at their estimates, and other units do not start. `times`: further times of
    planned changes. counts: the cluster is one node, and its resource the number of equal tasks that it has room for
    (`by_count`).
    """

    def __init__(self, placer: Placer, ticks: IntArray, times: Iterable[int] = (), counts: bool = False) -> None:
        snapshot = self.snapshot = placer.snapshot
        self.counts, self.held, free = counts, placer.held, placer.free
        self._types: list[BoolArray] | list[bool] = [True] if placer.types is None else placer.types.masks
        if counts:
            self.held = np.minimum(placer.held.max(axis=1, initial=0), 1).reshape(-1, 1)
            each: IntArray = placer.held[int(self.held.argmax())]
            demands = np.flatnonzero(each)
            many: IntArray = (np.maximum(free[:, demands], 0) // each[demands]).min(axis=1)
            free = np.array([[many.sum()]])
        running = np.flatnonzero(snapshot.state == RUNNING)
        tasks = np.concatenate([running, np.array([task for task, _ in placer.starts], dtype=np.int64)])
        nodes = np.concatenate([snapshot.node[running], np.array([n for _, n in placer.starts], dtype=np.int64)])
        others = [snapshot.now, *(time for time in times if time > snapshot.now)]
        self.times, at = np.unique(np.append(snapshot.now + ticks[tasks], others), return_inverse=True)
        change = np.zeros((len(self.times), *free.shape), dtype=np.int64)
        change[0] = free
        np.add.at(change, (at[: len(tasks)], 0 * nodes if counts else nodes), self.held[tasks])
        self.free = np.cumsum(change, axis=0)
        self._fitting: dict[bytes, tuple[IntArray, IntArray]] = {}  # `_count_fitting`, until the profile changes

    def noted(self, slot: Slot) -> list[int]:
        """Return a slot as rules remember it: its start and its nodes; -1 for each node that is open."""
        return [slot.start, *([-1] * len(slot.nodes) if self.counts else slot.nodes)]

    def recalled(self, unit: Unit, memory: Data) -> Slot | None:
        """Return the slot of a unit that a rule remembers, if any; the nodes of a counted slot are open."""
        start, *nodes = memory.get(unit.name, [0])
        if not nodes or (not self.counts and -1 in nodes):
            return None
        return Slot(start, [0] * len(nodes) if self.counts else nodes)

    def earliest(self, unit: Unit, kind: int = -1) -> Slot | None:
        """Return the first time and place at which the unit fits as long as it occupies its nodes, or None.

        kind: the required type of nodes, if there are several; -1: any type.
        """
        need, may = self.held[unit.first : unit.end], self._allowed_nodes(unit)
        among = self._types[kind : kind + 1] if kind >= 0 else self._types if len(need) > 1 else [True]
        lacks = np.where(self._may_fit_at(unit), UNLIMITED, self.times)
        next_lack = np.minimum.accumulate(lacks[::-1])[::-1]
        for k in np.flatnonzero(next_lack >= np.minimum(self.times + unit.ticks, UNLIMITED)).tolist():
            for one_type in among:
                nodes = _fit_together(self.room(k, unit.ticks), need, may & one_type)
                if nodes is not None:
                    return Slot(int(self.times[k]), nodes)
        return None

    def may_come_forward(self, unit: Unit, slot: Slot) -> bool:
        """Return if the unit could have an earlier slot than its current slot."""
        before = int(np.searchsorted(self.times, slot.start))
        return before > 0 and bool(self._count_fitting(unit)[1][before - 1] >= unit.end - unit.first)

    def _may_fit_at(self, unit: Unit) -> BoolArray:
        """Return for each time if as many copies of the unit's least demand fit, a necessary condition."""
        return np.asarray(self._count_fitting(unit)[0] >= unit.end - unit.first)

    def _count_fitting(self, unit: Unit) -> tuple[IntArray, IntArray]:
        """Count the fitting copies of the unit's least demand at each time; also return the maximum up to each time."""
        tasks = slice(unit.first, unit.end)
        least, classes = self.held[tasks].min(axis=0), self.snapshot.task_class[tasks]
        key = least.tobytes() + classes.tobytes()
        result = self._fitting.get(key)
        if result is None:
            demands = np.flatnonzero(least)
            open_to = (self.snapshot.eligible[classes] == 1).any(axis=0)
            every = self.counts or open_to.all()
            free = self.free[:, :, demands] if every else self.free[:, open_to][:, :, demands]
            if demands.size:
                many = np.maximum((free // least[demands]).min(axis=2), 0).sum(axis=1)
            else:
                many = np.full(len(self.times), len(self.held))
            result = self._fitting[key] = many, np.maximum.accumulate(many)
        return result

    def room(self, k: int, ticks: int) -> IntArray:
        """Return the free capacity (nodes x resources) throughout `ticks` from `times[k]` on."""
        end = int(np.searchsorted(self.times, self.times[k] + ticks))
        return np.asarray(self.free[k:end].min(axis=0))

    def fits(self, unit: Unit, slot: Slot) -> bool:
        """Return if the unit fits its slot."""
        need = np.zeros_like(self.free[0])
        np.add.at(need, slot.nodes, self.held[unit.first : unit.end])
        k = int(np.searchsorted(self.times, slot.start, side="right")) - 1
        end = int(np.searchsorted(self.times, slot.start + unit.ticks))
        return k >= 0 and bool((self.free[k:end] >= need)[:, slot.nodes].all())

    def take(self, unit: Unit, slot: Slot, sign: int = 1) -> None:
        """Take the unit's use of its slot; with sign -1, release it."""
        self._fitting.clear()
        first, end = (self._cut(time) for time in (slot.start, slot.start + unit.ticks))
        for task, node in enumerate(slot.nodes, unit.first):
            self.free[first:end, node] -= sign * self.held[task]

    def take_all(self, taken: Sequence[tuple[Unit, Slot]]) -> bool:
        """Take the use of these units, whose starts and ends are among the times; return False if one does not fit.

        In that case the profile does not change.
        """
        if any(slot.start < self.times[0] for _, slot in taken):
            return False
        spans = [(slot.start, slot.start + unit.ticks) for unit, slot in taken]
        tasks = np.concatenate([np.arange(unit.first, unit.end) for unit, _ in taken])
        nodes = np.concatenate([slot.nodes for _, slot in taken])
        ends = np.repeat(np.searchsorted(self.times, spans), [unit.end - unit.first for unit, _ in taken], axis=0)
        change = np.zeros((len(self.times) + 1, *self.free.shape[1:]), dtype=np.int64)
        np.add.at(change, (ends[:, 0], nodes), self.held[tasks])
        np.subtract.at(change, (ends[:, 1], nodes), self.held[tasks])
        use = np.cumsum(change, axis=0)[:-1]
        remaining = self.free - use
        if ((remaining < 0) & (use > 0)).any():
            return False
        self.free = remaining
        self._fitting.clear()
        return True

    def _cut(self, time: int) -> int:
        """Return the index of a time among the times, after inserting it if missing."""
        k = int(np.searchsorted(self.times, time))
        if k == len(self.times) or self.times[k] != time:
            self.times = np.insert(self.times, k, time)
            self.free = np.insert(self.free, k, self.free[k - 1], axis=0)
        return k

    def _allowed_nodes(self, unit: Unit) -> BoolArray:
        """Return the nodes that each task may ever use (tasks x nodes), even if data is still on its way."""
        snapshot, tasks = self.snapshot, slice(unit.first, unit.end)
        if self.counts:
            return np.ones((unit.end - unit.first, 1), dtype=np.bool_)
        bound = snapshot.bound[tasks, None]
        here = (bound < 0) | (bound == np.arange(len(snapshot.node_capacity)))
        return np.asarray(here & (snapshot.eligible[snapshot.task_class[tasks]] == 1))


def _fit_together(room: IntArray, need: IntArray, may: BoolArray) -> list[int] | None:
    """Return a node for each task, the first of least room among nodes that fit; None without a solution.

    The tasks are tried in their order, then the largest first, then by an exact search with a limit of work.
    """
    nodes = _fit_in_turn(room, need, may, range(len(need)))
    if nodes is not None or (need == need[0]).all():
        return nodes
    by_size = np.argsort(-(need / np.maximum(room.max(axis=0), 1)).max(axis=1, initial=0.0), kind="stable").tolist()
    nodes = _fit_in_turn(room, need, may, by_size)
    if nodes is None and (places := packing(need, may, room)) is not None:
        return [node for node, _ in places]
    return nodes


def _fit_in_turn(room: IntArray, need: IntArray, may: BoolArray, order: Iterable[int]) -> list[int] | None:
    """Return the nodes of the tasks, which choose in this order; None if one fails."""
    remaining, nodes = room.copy(), [-1] * len(need)
    if len(room) == 1:
        return [0] * len(need) if may.all() and (need.sum(axis=0) <= room[0]).all() else None
    for task in order:
        amounts = need[task]
        able = np.flatnonzero(may[task] & ((remaining >= amounts).all(axis=1) | (not amounts.any())))
        if not able.size:
            return None
        nodes[task] = int(able[remaining[able].sum(axis=1).argmin()])
        remaining[nodes[task]] -= amounts
    return nodes
