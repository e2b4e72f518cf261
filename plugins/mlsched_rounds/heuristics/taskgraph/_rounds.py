"""Jobs of a snapshot as the question of rounds has them, and its answers on nodes.

A policy of rounds says which type of GPU each job runs on until the next round, or that it waits. What is left of a job
is counted in seconds on the type of which its duration is stated, a step being one of these; its rate on a type is how
many of them it does there in a second. Jobs hold whole GPUs here: a share of one counts as one. Jobs without GPUs are
not shared out; they start where there is room.

This file and the two that use it are the only ones in which rules of one problem ask those of another.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.heuristics.taskgraph.measures import (
    Flags,
    Floats,
    by_job,
    iteration_ticks,
    per_job,
    remaining_time,
    sum_per_job,
    tasks_of,
)
from mlsched.heuristics.taskgraph.packing import packing
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.types import WHOLE
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.instances.taskgraph.units import gpu_seconds

#: How long a round lasts.
Seconds = Annotated[float, Range(1, 10**6)]


@dataclasses.dataclass(frozen=True)
class Typed:
    """The jobs of a snapshot that hold GPUs, in order of arrival: an entry, or a row of types, for each.

    job: its number in the snapshot; name: `job_id`; rate: stated seconds of work done per second on each type, 0 where
    it cannot run; gpus: that it holds; remaining, done: stated seconds; age, ran, pause: seconds since it arrived, for
    which it has run, and that a pause costs; served: GPU-seconds; kind: the type on which it runs, -1: it waits; last:
    the type on which it runs or ran last, -1: on none yet. capacity: GPUs of each type. order: the types, those on
    which jobs are fastest in the mean first.
    """

    job: IntArray
    name: IntArray
    rate: Floats
    gpus: IntArray
    remaining: Floats
    done: Floats
    age: Floats
    ran: Floats
    pause: Floats
    served: Floats
    kind: IntArray
    last: IntArray
    capacity: IntArray
    order: IntArray


def typed(placer: Placer, rule: str) -> Typed:
    """What a policy of rounds is told; InvalidInput, naming the rule, where GPUs or ticks are not counted."""
    snapshot = placer.snapshot
    column, gpu_second = gpu_seconds(snapshot, rule)
    second = snapshot.tick_ms / 1000
    unit = snapshot.gpu_unit or GPU_UNITS[snapshot.resources[column]]
    asked = sum_per_job(snapshot, snapshot.demand[:, column])
    job = np.lexsort((snapshot.job_id, snapshot.arrival))
    job = job[asked[job] > 0]
    slowness = _slowness(snapshot)
    first = np.searchsorted(snapshot.task_job, job)
    left = remaining_time(snapshot, placer.stop_after)[job]
    whole = (placer.stop_after * iteration_ticks(snapshot))[job]
    runs = per_job(snapshot, snapshot.state == RUNNING)[job] > 0
    last = _last_type(placer)[job]
    gpus, capacity = -(-asked[job] // unit), _per_type(snapshot, slowness.shape[1], column) // unit
    speed = WHOLE / slowness
    return Typed(
        job=job,
        name=snapshot.job_id[job],
        rate=speed[snapshot.task_class[first]] * (_able(placer, job, slowness.shape[1]) & (gpus[:, None] <= capacity)),
        gpus=gpus,
        remaining=np.asarray(left * second),
        done=np.asarray(np.maximum(whole - left, 0) * second),
        age=np.asarray((snapshot.now - snapshot.arrival[job]) * second),
        ran=np.asarray(snapshot.executed[job] * second),
        pause=np.asarray(snapshot.pause_cost[job] * second),
        served=snapshot.service[job, column] * gpu_second,
        kind=np.where(runs, last, -1),
        last=last,
        capacity=capacity,
        order=np.argsort(-(speed * _somewhere(snapshot, slowness.shape[1])).mean(axis=0), kind="stable"),
    )


def _slowness(snapshot: Snapshot) -> IntArray:
    """classes x types; where the snapshot states none, all types are alike."""
    if snapshot.slowness.shape[1]:
        return snapshot.slowness
    return np.full((len(snapshot.eligible), int(snapshot.node_type.max(initial=0)) + 1), WHOLE)


def _per_type(snapshot: Snapshot, types: int, column: int) -> IntArray:
    """What the nodes of each type have of a resource."""
    found = np.zeros(types, dtype=np.int64)
    np.add.at(found, snapshot.node_type, snapshot.node_capacity[:, column])
    return found


def _somewhere(snapshot: Snapshot, types: int) -> Flags:
    """classes x types: whether some node of the type may run tasks of the class."""
    return np.array([(snapshot.eligible[:, snapshot.node_type == m] > 0).any(axis=1) for m in range(types)]).T


def _able(placer: Placer, jobs: IntArray, types: int) -> Flags:
    """jobs x types: whether its tasks fit the empty nodes of the type, together where they start together, and whatever
    holds it to a node is there.

    What runs stays on its type where runs may not move.
    """
    snapshot = placer.snapshot
    fits = snapshot.eligible[snapshot.task_class] > 0
    fits &= (placer.held[:, None, :] <= snapshot.node_capacity).all(axis=2)
    fixed = (
        snapshot.bound
        if snapshot.movement == "anytime"
        else np.where(snapshot.state == RUNNING, snapshot.node, snapshot.bound)
    )
    held = np.flatnonzero(fixed >= 0)
    fits[held] &= snapshot.node_type == snapshot.node_type[fixed[held], None]
    able = np.array([fits[:, snapshot.node_type == m].any(axis=1) for m in range(types)]).T
    every = np.ones((len(snapshot.arrival), types), dtype=np.bool_)
    np.logical_and.at(every, snapshot.task_job, able)
    _leave_out_crowded(placer, jobs, fits, fixed, every)
    return np.asarray(every[jobs])


def _leave_out_crowded(placer: Placer, jobs: IntArray, fits: Flags, fixed: IntArray, every: Flags) -> None:
    """Of `every` (jobs x types), strike off types on which not all tasks of a job find room at once.

    They would be given GPUs there and never start. A search gives up at a limit of work: where it finds room on no
    type, all are left. fits: tasks x nodes; fixed: tasks, the node to which something holds it, or -1.
    """
    snapshot, known = placer.snapshot, dict[tuple[bytes, bytes], Flags]()
    first = np.searchsorted(snapshot.task_job, np.arange(len(snapshot.arrival) + 1))
    together = (snapshot.gang == 1) | (snapshot.simulator == "iterations")
    together[snapshot.task_job[fixed >= 0]] = False  # what has run somewhere fits there
    many = jobs[together[jobs] & (first[jobs + 1] - first[jobs] > 1)]
    for begin, end, job in zip(first[many].tolist(), first[many + 1].tolist(), many.tolist(), strict=True):
        tasks = slice(begin, end)
        alike = placer.held[tasks].tobytes(), fits[tasks].tobytes()
        if (found := known.get(alike)) is None:
            types = range(every.shape[1])
            found = np.array([_packs(placer, tasks, fits[tasks] & (snapshot.node_type == kind)) for kind in types])
            known[alike] = found
        if (found & every[job]).any():
            every[job] &= found


def _packs(placer: Placer, tasks: slice, may: Flags) -> bool:
    """Whether tasks find room on empty nodes at once. may: tasks x nodes, where each may go."""
    snapshot, need = placer.snapshot, placer.held[tasks]
    asked = np.flatnonzero(need.any(axis=0))
    if not placer.gpus and (need == need[0]).all() and (may == may[0]).all():
        room = snapshot.node_capacity[may[0]][:, asked] // need[0, asked]
        return not asked.size or int(room.min(axis=1).sum()) >= len(need)
    if not placer.gpus:
        return packing(need, may, snapshot.node_capacity) is not None
    gpus, unit = snapshot.node_capacity[:, gpu_column(snapshot.resources)] // snapshot.gpu_unit, snapshot.gpu_unit
    empty = unit * (np.arange(int(gpus.max(initial=0))) < gpus[:, None])
    return packing(need, may, snapshot.node_capacity, snapshot.gpu_demand[tasks].tolist(), empty, unit) is not None


def _last_type(placer: Placer) -> IntArray:
    """jobs: the type of the nodes on which it runs or ran last, -1: on none yet."""
    snapshot, found = placer.snapshot, np.full(len(placer.snapshot.arrival), -1)
    been = np.flatnonzero(placer.place >= 0)
    found[snapshot.task_job[been]] = snapshot.node_type[placer.place[been]]
    return found


def round_begins(snapshot: Snapshot, memory: Mapping[str, Any] | None) -> bool:
    """Whether a round begins now: the last one (its end is `until`, ticks) is over, or nothing runs."""
    return memory is None or snapshot.now >= memory["until"] or not (snapshot.state == RUNNING).any()


def round_ends(snapshot: Snapshot, seconds: float) -> int:
    """When a round of so many seconds ends that begins now, ticks."""
    return snapshot.now + max(1, math.ceil(1000 * seconds / snapshot.tick_ms))


def carry_out(placer: Placer, jobs: Typed, kinds: IntArray, fill: IntArray | None, *, anew: bool) -> list[int]:
    """The placer's round in which each job runs on the type `kinds` (-1: it waits); returns the tasks that pause.

    Who runs on its type stays where it is; others come, larger ones first. Where one finds no place and jobs may move,
    the jobs of the type are placed `anew`, each where it was if it can be. Room that is left is for the other jobs in
    the order `fill` (rows; None: for nobody), those that were to leave among them; and for jobs without GPUs.
    """
    return _Round(placer, jobs, kinds, anew).carried_out(fill)


class _Round:
    """A round under way: which running jobs have given up their nodes (`left`), and which hold them."""

    def __init__(self, placer: Placer, jobs: Typed, kinds: IntArray, anew: bool) -> None:
        self._placer, self._jobs = placer, jobs
        keeps = placer.snapshot.pausing != "keep"
        self._kinds = np.where((jobs.kind >= 0) & keeps, jobs.kind, kinds)
        self._moves = placer.snapshot.movement == "anytime" and not placer.gpus
        self._anew = anew and self._moves
        self._left = np.zeros(len(jobs.job), dtype=np.bool_)

    def carried_out(self, fill: IntArray | None) -> list[int]:
        """See `carry_out`."""
        jobs, kinds = self._jobs, self._kinds
        for row in np.flatnonzero((jobs.kind >= 0) & (jobs.kind != kinds)).tolist():
            self._leave(row)
        for kind in jobs.order.tolist():
            self._come(kind)
        for row in [] if fill is None else fill[self._hopeful()[fill]].tolist():
            if self._left[row]:
                self._stay(row)
            else:
                self._start(row, None)
        self._start_without_gpus()
        return [task for row in np.flatnonzero(self._left).tolist() for task in self._running(row).tolist()]

    def _come(self, kind: int) -> None:
        """The jobs that are to come to a type, larger ones first; where one finds no place, all others give theirs up.

        Those that come stay where they have been put: these are at least as large.
        """
        jobs = self._jobs
        chosen = np.flatnonzero(self._kinds == kind)
        larger = chosen[np.argsort(-jobs.gpus[chosen], kind="stable")].tolist()
        coming = [row for row in larger if jobs.kind[row] != kind]
        while coming and self._start(coming[0], kind):
            coming.pop(0)
        if coming and self._anew:
            for row in larger:
                if jobs.kind[row] == kind and self._whole(row):
                    self._leave(row)
        for row in larger:
            if row in coming or (not self._stay(row) if self._left[row] else self._waiting(row)):
                self._start(row, kind)

    def _hopeful(self) -> Flags:
        """Jobs that have given up their nodes, and those of which tasks wait that may find room somewhere."""
        snapshot, waiting = self._placer.snapshot, np.flatnonzero(self._placer.open)
        fits = np.zeros(len(snapshot.arrival), dtype=np.bool_)
        fits[snapshot.task_job[waiting[self._placer.may_fit(waiting)]]] = True
        return np.asarray(self._left | fits[self._jobs.job])

    def _tasks(self, row: int) -> slice:
        return slice(*tasks_of(self._placer.snapshot, int(self._jobs.job[row])))

    def _whole(self, row: int) -> bool:
        """Whether all of the job runs, as one."""
        snapshot, tasks = self._placer.snapshot, self._tasks(row)
        one = tasks.stop - tasks.start == 1 or snapshot.gang[self._jobs.job[row]]
        return bool(one and (snapshot.state[tasks] == RUNNING).all())

    def _running(self, row: int) -> IntArray:
        tasks = self._tasks(row)
        return np.asarray(tasks.start + np.flatnonzero(self._placer.snapshot.state[tasks] == RUNNING))

    def _waiting(self, row: int) -> list[int]:
        """The tasks of the job that may start."""
        tasks = self._tasks(row)
        return [task for task in range(tasks.start, tasks.stop) if self._placer.open[task]]

    def _leave(self, row: int) -> None:
        """A running job gives up its nodes for now."""
        placer, tasks = self._placer, self._running(row)
        np.add.at(placer.free, placer.snapshot.node[tasks], placer.held[tasks])
        if placer.gpus:
            placer.gpus.release(tasks)
        self._left[row] = True

    def _stay(self, row: int) -> bool:
        """A job that has given up its nodes takes them again, if all have room."""
        stays = self._placer.resume(self._running(row))
        self._left[row] = not stays
        return stays

    def _start(self, row: int, kind: int | None) -> bool:
        """A job starts on a type, or moves there (None: on the fastest with room); False: there is no place for it."""
        placer, jobs = self._placer, self._jobs
        job, tasks = int(jobs.job[row]), self._tasks(row)
        if placer.types is not None:
            placer.types.only[job] = [kind] if kind is not None else self._fastest(row)
        if not self._left[row]:
            return self._begin(self._waiting(row))
        if not self._moves or not self._whole(row):
            return False
        placer.open[tasks] = True
        if placer.start(tasks.start):
            self._left[row] = False
            return True
        placer.open[tasks] = False
        return False

    def _begin(self, tasks: list[int]) -> bool:
        """Waiting tasks of a job start; False: not all of them.

        By iterations none starts without the others, gang or not: it would hold its node for nothing. Where tasks end
        one by one, each starts that finds room.
        """
        placer = self._placer
        if not tasks:
            return True
        if placer.snapshot.gang[placer.snapshot.task_job[tasks[0]]]:
            return placer.start(tasks[0])
        if placer.snapshot.simulator == "iterations":
            return self._begin_together(tasks)
        started = [placer.start(task) for task in tasks]
        return all(started)

    def _begin_together(self, tasks: list[int]) -> bool:
        """All of these start on one of the types that are tried for their job, or none does."""
        placer, types = self._placer, self._placer.types
        if types is None:
            return placer.start_in_turn(tasks)
        for kind in types.only[int(placer.snapshot.task_job[tasks[0]])]:
            placer.among = types.masks[kind]
            started = placer.start_in_turn(tasks)
            placer.among = None
            if started:
                return True
        return False

    def _fastest(self, row: int) -> list[int]:
        rate = self._jobs.rate[row]
        return [m for m in np.argsort(-rate, kind="stable").tolist() if rate[m] > 0]

    def _start_without_gpus(self) -> None:
        snapshot, placer = self._placer.snapshot, self._placer
        queue = by_job(snapshot)
        placer.start_in_order(queue[~np.isin(snapshot.task_job[queue], self._jobs.job)])
