"""Preemption by priority: capacity first, then pauses, then places (`find_places`).

1. Capacity. In order of the jobs, units (gangs, or single tasks of other jobs) are chosen as long as the cluster's
total capacity has room for them, on any node. For units that are bound to nodes, these nodes must also have room. A
unit that is too large for the rest is skipped.
2. Pauses. A chosen running unit keeps its place. A running unit that is not chosen may be preempted.
3. Places. A chosen waiting unit starts without preemption, if there is such a place. If the free room is too
scattered for it, the units after it in the order release their nodes. Each of them, in its own turn, takes these
again, or others (if tasks may move at any time), or pauses. A unit pauses only if another took its place: if a chosen
unit does not find a place, other units continue, or start, in their order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import BoolArray, IntArray
from mlsched.heuristics.taskgraph.find_places import find_places
from mlsched.heuristics.taskgraph.measures import by_class, by_job, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: How often a job queues, where its paper leaves that open: once, without interruption; or again in every iteration,
#: with competition between running and waiting jobs in each round.
QUEUEING = ("held", "iteration")


def settled(placer: Placer) -> bool:
    """Return if all startable tasks run, and all nodes are within capacity: then every order has the same result."""
    return not placer.open.any() and bool((placer.free >= 0).all())


def preempt_by_priority(placer: Placer, tasks: IntArray, jobs: IntArray) -> list[int]:
    """Serve the `jobs` in their order; return the running tasks that pause. The placer notes the starts and moves.

    `tasks`: the tasks that could start, in the same order of their jobs.
    """
    rank = np.empty(len(jobs), dtype=np.int64)
    rank[jobs] = np.arange(len(jobs))
    units = _Units(placer, tasks, rank)
    capacity = placer.free.sum(axis=0) + units.amounts[units.runs].sum(axis=0)
    if placer.snapshot.movement == "anytime":
        selection = within_capacity(units.amounts, capacity)
    else:
        selection = _within_nodes(placer, units, capacity)
    overloaded = bool((placer.free < 0).any())
    if not overloaded and (selection == units.runs).all():
        return []
    room = _Placing(placer, units, selection)
    waiting, leaving = (np.flatnonzero(flags).tolist() for flags in (selection & ~units.runs, units.runs & ~selection))
    find_places(room, waiting, leaving, overloaded)
    return room.pauses


def within_capacity(amounts: IntArray, capacity: IntArray) -> BoolArray:
    """Return which units, in their order (units x resources), are within the capacity together.

    A unit that is too large for the rest at its turn is skipped.
    """
    selection, remaining = np.zeros(len(amounts), dtype=np.bool_), capacity.copy()
    rest = np.flatnonzero((amounts <= remaining).all(axis=1))
    while rest.size:
        total = np.cumsum(amounts[rest], axis=0)
        fits = (total <= remaining).all(axis=1)
        count = len(rest) if fits.all() else int(fits.argmin())
        selection[rest[:count]] = True
        remaining -= total[count - 1]
        rest = rest[count:]
        rest = rest[(amounts[rest] <= remaining).all(axis=1)]
    return selection


def serve(placer: Placer, *keys: Any) -> list[int]:
    """Serve jobs in order of the keys, the first key first; ties go to running jobs, then to the earlier arrival.

    If runs may pause and continue later, earlier jobs preempt later jobs. Returns the tasks that pause.
    """
    snapshot = placer.snapshot
    if settled(placer):
        return []
    idle = per_job(snapshot, snapshot.state == RUNNING) == 0
    tasks = by_job(snapshot, *keys, idle)
    if snapshot.pausing != "keep":
        placer.start_in_order(tasks)
        return []
    return preempt_by_priority(
        placer, tasks, np.lexsort((snapshot.job_id, snapshot.arrival, idle, *reversed(keys), *by_class(snapshot)))
    )


def epochs(snapshot: Snapshot, memory: dict[str, Any] | None, ticks: int) -> tuple[dict[str, Any], bool]:
    """Return the memory of a rule that predicts every `ticks` ticks, and if a prediction is due.

    `next`: the time of the next prediction; `of`: the predictions of present jobs, by name.
    """
    if memory is None or snapshot.now >= memory["next"]:
        return {"next": snapshot.now + ticks, "of": {}}, True
    here = set(snapshot.job_id.astype(str).tolist())
    return {"next": memory["next"], "of": {job: value for job, value in memory["of"].items() if job in here}}, False


def holding(placer: Placer, pauses: list[int]) -> BoolArray:
    """Return for each task if it occupies its node after the round with these pauses and the placer's starts."""
    holds: BoolArray = placer.snapshot.state == RUNNING
    holds[pauses] = False
    holds[[task for task, _ in placer.starts]] = True
    return holds


def world_of_queueing(params: dict[str, Any]) -> dict[str, Any]:
    """Return the option that lets jobs pause and continue, for queueing in every iteration, unless the user sets it."""
    return {"pausing": "keep"} if params.get("queueing", "held") != "held" else {}


def world_of_preempting(params: dict[str, Any]) -> dict[str, Any]:
    """Return the option that lets jobs pause and continue, for `preempt`, unless the user sets it."""
    return {"pausing": "keep"} if params["preempt"] else {}


def prices_of_pauses(snapshot: Snapshot) -> IntArray:
    """Return the ticks to add to each job's sort key: minus its pause cost if it runs, plus it if it is paused."""
    runs = per_job(snapshot, snapshot.state == RUNNING) > 0
    return np.asarray(snapshot.pause_cost * np.where(runs, -1, snapshot.first_start >= 0))


class HasPausing(Protocol):
    """A snapshot, or the options of a world."""

    @property
    def pausing(self) -> str: ...


def refuse_unless_pausing(snapshot: HasPausing, rule: str, instead: str = "leave preempt out") -> None:
    """Refuse a snapshot of a world in which jobs cannot pause and continue; `instead`: the other remedy."""
    if snapshot.pausing != "keep":
        raise InvalidInput(
            f"{rule}: runs may not pause and resume later here (pausing = '{snapshot.pausing}'): simulate with the "
            f"world's option pausing=keep, or {instead}"
        )


def _within_nodes(placer: Placer, units: _Units, capacity: IntArray) -> BoolArray:
    """Return units as `within_capacity` does; units that have begun also need room on their nodes."""
    snapshot, usage = placer.snapshot, placer.held
    running = np.flatnonzero(snapshot.state == RUNNING)
    room = placer.free.copy()
    np.add.at(room, snapshot.node[running], usage[running])
    fixed = np.where(snapshot.state == RUNNING, snapshot.node, snapshot.bound)
    spaces, nodes, ends = room.tolist(), fixed.tolist(), units.ends.tolist()
    amounts, remaining = np.ascontiguousarray(units.amounts.T), capacity.copy()
    selection = np.zeros(len(units.head), dtype=np.bool_)
    rest = np.flatnonzero((amounts <= remaining[:, None]).all(axis=0))
    while rest.size and remaining.any():
        unit, rest = int(rest[0]), rest[1:]
        first, end = ends[unit]
        if min(nodes[first:end]) >= 0 and not _take_rooms(nodes[first:end], spaces, usage[first:end].tolist()):
            continue
        selection[unit] = True
        remaining -= amounts[:, unit]
        rest = rest[(amounts[:, rest] <= remaining[:, None]).all(axis=0)]
    selection[~units.amounts.any(axis=1)] = True
    return selection


def _fits_in_room(amount: list[int], room: list[int]) -> bool:
    return all(map(operator.le, amount, room))


def _take_rooms(nodes: list[int], spaces: list[list[int]], holds: list[list[int]]) -> bool:
    """Take each task's use from the room of its node, and return True; if one does not fit, take none."""
    for at, (node, usage) in enumerate(zip(nodes, holds, strict=True)):
        room = spaces[node]
        if not _fits_in_room(usage, room):
            for before in range(at):
                space = spaces[nodes[before]]
                space[:] = map(operator.add, space, holds[before])
            return False
        room[:] = map(operator.sub, room, usage)
    return True


class _Units:
    """Units that start, stay and pause together, in order of rank: gangs, or single tasks of other jobs.

    `head`: the first task of each; `runs`: it runs, otherwise it may start; `amounts`: units x resources, its use
    while it runs. Running units of a job come first.
    """

    def __init__(self, placer: Placer, tasks: IntArray, rank: IntArray) -> None:
        snapshot = placer.snapshot
        running, tasks = np.flatnonzero(snapshot.state == RUNNING), tasks[placer.open[tasks]]
        head = np.concatenate([running, tasks])
        runs = np.arange(len(head)) < len(running)
        job = snapshot.task_job[head]
        gang = snapshot.gang[job] == 1
        if gang.any():
            first = ~gang | (head == np.searchsorted(snapshot.task_job, job))
            head, runs, job, gang = head[first], runs[first], job[first], gang[first]
        order = np.argsort(2 * rank[job] + ~runs, kind="stable")
        self.head, self.runs, self._gang = head[order], runs[order], gang[order]
        self.amounts = placer.held[self.head]
        self.ends = np.column_stack([self.head, self.head + 1])  # units: first task, and the task after the last
        if gang.any():
            self.amounts[self._gang] = placer.whole[job[order][self._gang]]
            self.ends[self._gang, 1] = np.searchsorted(snapshot.task_job, job[order][self._gang], side="right")
        self._single = bool((self.ends[:, 1] - self.ends[:, 0] == 1).all())

    def tasks(self, unit: int) -> IntArray:
        """Return the tasks of a unit."""
        return np.arange(*self.ends[unit])

    def all_tasks(self, numbers: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Return the tasks of several units, in their order, and the unit of each."""
        units = np.array(numbers, dtype=np.int64)
        first = self.ends[units, 0]
        if self._single:
            return first, units
        count = self.ends[units, 1] - first
        before = np.cumsum(count) - count
        return np.arange(count.sum()) + np.repeat(first - before, count), np.repeat(units, count)


class _Placing:
    """The room of a placer, for units that are numbered in their order; `pauses`: the tasks that pause."""

    def __init__(self, placer: Placer, units: _Units, chosen: BoolArray) -> None:
        self._placer, self._units, self._chosen = placer, units, chosen
        self._holds = units.runs.copy()  # units: whether it runs on its node of the start of the round
        self._moves = placer.snapshot.movement == "anytime" and not placer.gpus
        self.pauses: list[int] = []
        placer.spare = placer.free.copy()
        if placer.gpus:
            placer.gpus.spare = placer.gpus.free.copy()

    @property
    def moves(self) -> int:
        return len(self._placer.moves)

    def runs(self, unit: int) -> bool:
        return bool(self._units.runs[unit])

    def place(self, unit: int) -> bool:
        placer, units = self._placer, self._units
        if not units.runs[unit]:
            return placer.start(int(units.head[unit]))
        if self.hold(unit):
            return True
        if not self._moves:
            return False
        tasks = units.tasks(unit)
        placer.open[tasks] = True
        if not placer.start(int(units.head[unit])):
            placer.open[tasks] = False
            return False
        np.add.at(placer.spare, placer.snapshot.node[tasks], placer.held[tasks])
        return True

    def behind(self, unit: int | None) -> list[int]:
        holds = self._holds.copy()
        holds[: 0 if unit is None else unit + 1] = False
        result: list[int] = np.flatnonzero(holds).tolist()
        return result

    def release(self, units: Sequence[int]) -> None:
        placer, tasks = self._placer, self._units.all_tasks(units)[0]
        np.add.at(placer.free, placer.snapshot.node[tasks], placer.held[tasks])
        if placer.gpus:
            placer.gpus.release(tasks)
        self._holds[list(units)] = False

    def keep(self, units: Sequence[int]) -> None:
        if not units:
            return
        placer, tasks = self._placer, self._units.all_tasks(units)[0]
        np.subtract.at(placer.free, placer.snapshot.node[tasks], placer.held[tasks])
        if placer.gpus:
            placer.gpus.keep(tasks)
        self._holds[list(units)] = True

    def hold(self, unit: int) -> bool:
        back = self._placer.resume(self._units.tasks(unit))
        self._holds[unit] |= back
        return back

    def leave(self, unit: int) -> None:
        placer, tasks = self._placer, self._units.tasks(unit)
        np.add.at(placer.spare, placer.snapshot.node[tasks], placer.held[tasks])
        if placer.gpus:
            placer.gpus.leave(tasks)
        self.pauses += tasks.tolist()

    def disturbed(self, units: Sequence[int]) -> list[bool]:
        placer = self._placer
        changed: BoolArray = np.asarray((placer.spare < 0).any(axis=1))
        changed[[node for _, node in placer.starts + placer.moves]] = True
        tasks, owner = self._units.all_tasks(units)
        unsure = np.zeros(len(self._holds), dtype=np.bool_)
        unsure[owner[changed[placer.snapshot.node[tasks]]]] = True
        result: list[bool] = unsure[list(units)].tolist()
        return result

    def hopeful(self, units: list[int], failed: int) -> list[int]:
        """Return the units that run, or that may fit although the first task of `failed` did not."""
        others, runs, head = np.array(units, dtype=np.int64), self._units.runs, self._units.head
        hopeless = ~runs[others] & self._placer.as_hopeless(int(head[failed]), head[others])
        result: list[int] = others[~hopeless].tolist()
        return result

    def start_others(self, before: Callable[[Any], None]) -> None:
        units = self._units
        waiting = np.flatnonzero(~self._chosen & ~units.runs)
        place = dict(zip(units.head[waiting].tolist(), waiting.tolist(), strict=True))
        self._placer.start_in_order(units.head[waiting], before=lambda task: before(place.get(task)))
