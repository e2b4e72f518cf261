"""Translation between a task-graph snapshot and the rounds problem: jobs with rates, and answers as starts on nodes.

A policy of rounds assigns each job a GPU type until the next round, or makes it wait. Remaining work is counted in
seconds on the type of the job's stated duration; one such second is a step. The rate on a type is the number of these
steps per second. Jobs use complete GPUs here: a share of a GPU counts as one. Jobs without GPUs are not assigned; they
start if they fit.

Only this file and the two that use it call heuristics of one problem from another.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.core.params import Range
from mlsched.heuristics.taskgraph.measures import (
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

#: Length of a round.
Seconds = Annotated[float, Range(1, 10**6)]


@dataclasses.dataclass(frozen=True)
class Typed:
    """The jobs of a snapshot that use GPUs, in order of arrival; arrays have shape (jobs,) or (jobs, types).

    Attributes:
        job: Number of the job in the snapshot.
        name: `job_id`.
        rate: Stated seconds of work per second on each type, shape (jobs, types); 0 if it cannot run.
        gpus: GPUs of the job.
        remaining, done: Stated seconds of work.
        age, ran, pause: Seconds since arrival, of running, and of one pause.
        served: GPU-seconds.
        kind: Type on which it runs; -1: it waits.
        last: Type on which it runs or ran last; -1: not started.
        capacity: GPUs of each type.
        order: Types by falling mean speed of the jobs.
    """

    job: IntArray
    name: IntArray
    rate: FloatArray
    gpus: IntArray
    remaining: FloatArray
    done: FloatArray
    age: FloatArray
    ran: FloatArray
    pause: FloatArray
    served: FloatArray
    kind: IntArray
    last: IntArray
    capacity: IntArray
    order: IntArray


def typed(placer: Placer, rule: str) -> Typed:
    """Return the jobs, rates and capacities that a policy of rounds reads.

    Raises InvalidInput, with the heuristic's name, if the snapshot has no counted GPUs or no length of a tick.
    """
    snapshot = placer.snapshot
    column, gpu_second = gpu_seconds(snapshot, rule)
    second = snapshot.tick_ms / 1000
    unit = snapshot.gpu_unit or GPU_UNITS[snapshot.resources[column]]
    query = sum_per_job(snapshot, snapshot.demand[:, column])
    job = np.lexsort((snapshot.job_id, snapshot.arrival))
    job = job[query[job] > 0]
    slowness = _slowness_by_type(snapshot)
    first = np.searchsorted(snapshot.task_job, job)
    rest = remaining_time(snapshot, placer.stop_after)[job]
    whole = (placer.stop_after * iteration_ticks(snapshot))[job]
    runs = per_job(snapshot, snapshot.state == RUNNING)[job] > 0
    last = _last_type_of_jobs(placer)[job]
    gpus, capacity = -(-query[job] // unit), _amount_per_type(snapshot, slowness.shape[1], column) // unit
    speed = WHOLE / slowness
    return Typed(
        job=job,
        name=snapshot.job_id[job],
        rate=speed[snapshot.task_class[first]]
        * (_possible_types(placer, job, slowness.shape[1]) & (gpus[:, None] <= capacity)),
        gpus=gpus,
        remaining=np.asarray(rest * second),
        done=np.asarray(np.maximum(whole - rest, 0) * second),
        age=np.asarray((snapshot.now - snapshot.arrival[job]) * second),
        ran=np.asarray(snapshot.executed[job] * second),
        pause=np.asarray(snapshot.pause_cost[job] * second),
        served=snapshot.service[job, column] * gpu_second,
        kind=np.where(runs, last, -1),
        last=last,
        capacity=capacity,
        order=np.argsort(-(speed * _allowed_types(snapshot, slowness.shape[1])).mean(axis=0), kind="stable"),
    )


def _slowness_by_type(snapshot: Snapshot) -> IntArray:
    """Return the slowness, shape (classes, types); if the snapshot states none, all types are alike."""
    if snapshot.slowness.shape[1]:
        return snapshot.slowness
    return np.full((len(snapshot.eligible), int(snapshot.node_type.max(initial=0)) + 1), WHOLE)


def _amount_per_type(snapshot: Snapshot, types: int, column: int) -> IntArray:
    """Return the amount of a resource on the nodes of each type."""
    result = np.zeros(types, dtype=np.int64)
    np.add.at(result, snapshot.node_type, snapshot.node_capacity[:, column])
    return result


def _allowed_types(snapshot: Snapshot, types: int) -> BoolArray:
    """Return which types have a node that may run tasks of the class, shape (classes, types)."""
    return np.array([(snapshot.eligible[:, snapshot.node_type == m] > 0).any(axis=1) for m in range(types)]).T


def _possible_types(placer: Placer, jobs: IntArray, types: int) -> BoolArray:
    """Return on which types a job can run, shape (jobs, types).

    Its tasks must fit the empty nodes of the type, all at once if they start together, and nodes to which it is fixed
    must be of the type. Running jobs stay on their type if they may not move.
    """
    snapshot = placer.snapshot
    fits = snapshot.eligible[snapshot.task_class] > 0
    fits &= (placer.held[:, None, :] <= snapshot.node_capacity).all(axis=2)
    constants = (
        snapshot.bound
        if snapshot.movement == "anytime"
        else np.where(snapshot.state == RUNNING, snapshot.node, snapshot.bound)
    )
    usage = np.flatnonzero(constants >= 0)
    fits[usage] &= snapshot.node_type == snapshot.node_type[constants[usage], None]
    able = np.array([fits[:, snapshot.node_type == m].any(axis=1) for m in range(types)]).T
    every = np.ones((len(snapshot.arrival), types), dtype=np.bool_)
    np.logical_and.at(every, snapshot.task_job, able)
    _leave_out_crowded(placer, jobs, fits, constants, every)
    return np.asarray(every[jobs])


def _leave_out_crowded(placer: Placer, jobs: IntArray, fits: BoolArray, fixed: IntArray, every: BoolArray) -> None:
    """Exclude types on which the tasks of a job do not all fit at once.

    Such a job would get GPUs there and never start. The search stops at a limit of work. If it excludes every type, all
    are kept.

    Args:
        placer: Placer of the snapshot.
        jobs: Jobs with GPUs.
        fits: Fit of tasks on empty nodes, shape (tasks, nodes).
        fixed: Node to which each task is fixed, shape (tasks,), or -1.
        every: Types of each job, shape (jobs, types); changed in place.
    """
    snapshot, lookup = placer.snapshot, dict[tuple[bytes, bytes], BoolArray]()
    first = np.searchsorted(snapshot.task_job, np.arange(len(snapshot.arrival) + 1))
    together = (snapshot.gang == 1) | (snapshot.simulator == "iterations")
    together[snapshot.task_job[fixed >= 0]] = False  # a job that has run on these nodes fits there
    many = jobs[together[jobs] & (first[jobs + 1] - first[jobs] > 1)]
    for begin, end, job in zip(first[many].tolist(), first[many + 1].tolist(), many.tolist(), strict=True):
        tasks = slice(begin, end)
        alike = placer.held[tasks].tobytes(), fits[tasks].tobytes()
        if (result := lookup.get(alike)) is None:
            types = range(every.shape[1])
            result = np.array(
                [_packs_on_empty_nodes(placer, tasks, fits[tasks] & (snapshot.node_type == kind)) for kind in types]
            )
            lookup[alike] = result
        if (result & every[job]).any():
            every[job] &= result


def _packs_on_empty_nodes(placer: Placer, tasks: slice, may: BoolArray) -> bool:
    """Return whether the tasks fit on empty nodes at once. `may`: allowed nodes, shape (tasks, nodes)."""
    snapshot, need = placer.snapshot, placer.held[tasks]
    query = np.flatnonzero(need.any(axis=0))
    if not placer.gpus and (need == need[0]).all() and (may == may[0]).all():
        room = snapshot.node_capacity[may[0]][:, query] // need[0, query]
        return not query.size or int(room.min(axis=1).sum()) >= len(need)
    if not placer.gpus:
        return packing(need, may, snapshot.node_capacity) is not None
    gpus, unit = snapshot.node_capacity[:, gpu_column(snapshot.resources)] // snapshot.gpu_unit, snapshot.gpu_unit
    empty = unit * (np.arange(int(gpus.max(initial=0))) < gpus[:, None])
    return packing(need, may, snapshot.node_capacity, snapshot.gpu_demand[tasks].tolist(), empty, unit) is not None


def _last_type_of_jobs(placer: Placer) -> IntArray:
    """Return the type of the nodes on which each job runs or ran last, shape (jobs,); -1: not started."""
    snapshot, result = placer.snapshot, np.full(len(placer.snapshot.arrival), -1)
    been = np.flatnonzero(placer.place >= 0)
    result[snapshot.task_job[been]] = snapshot.node_type[placer.place[been]]
    return result


def round_begins(snapshot: Snapshot, memory: Mapping[str, Any] | None) -> bool:
    """Return whether a round begins now: the last one (its end is `until`, ticks) is over, or all nodes are idle."""
    return memory is None or snapshot.now >= memory["until"] or not (snapshot.state == RUNNING).any()


def round_ends(snapshot: Snapshot, seconds: float) -> int:
    """Return the end, in ticks, of a round of `seconds` that begins now."""
    return snapshot.now + max(1, math.ceil(1000 * seconds / snapshot.tick_ms))


def carry_out(placer: Placer, jobs: Typed, kinds: IntArray, fill: IntArray | None, *, anew: bool) -> list[int]:
    """Return the paused tasks of the round in which each job runs on the type `kinds` (-1: it waits).

    Jobs that already run on their type keep their nodes; the others start, larger ones first. If one does not fit and
    jobs may move, the jobs of the type are placed again (`anew`), on their old nodes if possible. Remaining GPUs go to
    the other jobs in the order `fill` (rows; None: they stay free), including those that should stop, and to jobs
    without GPUs.
    """
    return _Round(placer, jobs, kinds, anew).pauses_of_round(fill)


class _Round:
    """A round in progress: running jobs that gave up their nodes (`left`), and jobs that keep them."""

    def __init__(self, placer: Placer, jobs: Typed, kinds: IntArray, anew: bool) -> None:
        self._placer, self._jobs = placer, jobs
        keeps = placer.snapshot.pausing != "keep"
        self._kinds = np.where((jobs.kind >= 0) & keeps, jobs.kind, kinds)
        self._moves = placer.snapshot.movement == "anytime" and not placer.gpus
        self._anew = anew and self._moves
        self._left = np.zeros(len(jobs.job), dtype=np.bool_)

    def pauses_of_round(self, fill: IntArray | None) -> list[int]:
        """Place the jobs and return the tasks that pause; `fill`: see `carry_out`."""
        jobs, kinds = self._jobs, self._kinds
        for row in np.flatnonzero((jobs.kind >= 0) & (jobs.kind != kinds)).tolist():
            self._give_up_nodes(row)
        for kind in jobs.order.tolist():
            self._start_assigned(kind)
        for row in [] if fill is None else fill[self._candidate_jobs()[fill]].tolist():
            if self._left[row]:
                self._take_nodes_back(row)
            else:
                self._start(row, None)
        self._start_without_gpus()
        return [task for row in np.flatnonzero(self._left).tolist() for task in self._running(row).tolist()]

    def _start_assigned(self, kind: int) -> None:
        """Start the jobs assigned to a type, larger ones first; if one does not fit, all others give up their nodes.

        Started jobs keep their new nodes: they are at least as large.
        """
        jobs = self._jobs
        choice = np.flatnonzero(self._kinds == kind)
        larger = choice[np.argsort(-jobs.gpus[choice], kind="stable")].tolist()
        coming = [row for row in larger if jobs.kind[row] != kind]
        while coming and self._start(coming[0], kind):
            coming.pop(0)
        if coming and self._anew:
            for row in larger:
                if jobs.kind[row] == kind and self._runs_completely(row):
                    self._give_up_nodes(row)
        for row in larger:
            if row in coming or (not self._take_nodes_back(row) if self._left[row] else self._waiting_tasks(row)):
                self._start(row, kind)

    def _candidate_jobs(self) -> BoolArray:
        """Return the jobs that gave up their nodes, and those with waiting tasks that may fit."""
        snapshot, waiting = self._placer.snapshot, np.flatnonzero(self._placer.open)
        fits = np.zeros(len(snapshot.arrival), dtype=np.bool_)
        fits[snapshot.task_job[waiting[self._placer.may_fit(waiting)]]] = True
        return np.asarray(self._left | fits[self._jobs.job])

    def _tasks_of(self, row: int) -> slice:
        return slice(*tasks_of(self._placer.snapshot, int(self._jobs.job[row])))

    def _runs_completely(self, row: int) -> bool:
        """Return whether all tasks of the job run, as one."""
        snapshot, tasks = self._placer.snapshot, self._tasks_of(row)
        one = tasks.stop - tasks.start == 1 or snapshot.gang[self._jobs.job[row]]
        return bool(one and (snapshot.state[tasks] == RUNNING).all())

    def _running(self, row: int) -> IntArray:
        tasks = self._tasks_of(row)
        return np.asarray(tasks.start + np.flatnonzero(self._placer.snapshot.state[tasks] == RUNNING))

    def _waiting_tasks(self, row: int) -> list[int]:
        """Return the tasks of the job that may start."""
        tasks = self._tasks_of(row)
        return [task for task in range(tasks.start, tasks.stop) if self._placer.open[task]]

    def _give_up_nodes(self, row: int) -> None:
        """Remove a running job from its nodes for now."""
        placer, tasks = self._placer, self._running(row)
        np.add.at(placer.free, placer.snapshot.node[tasks], placer.held[tasks])
        if placer.gpus:
            placer.gpus.release(tasks)
        self._left[row] = True

    def _take_nodes_back(self, row: int) -> bool:
        """Return a job to the nodes that it gave up, if all its tasks fit."""
        stays = self._placer.resume(self._running(row))
        self._left[row] = not stays
        return stays

    def _start(self, row: int, kind: int | None) -> bool:
        """Start a job on a type, or move it there (None: the fastest that fits); return False if it does not fit."""
        placer, jobs = self._placer, self._jobs
        job, tasks = int(jobs.job[row]), self._tasks_of(row)
        if placer.types is not None:
            placer.types.only[job] = [kind] if kind is not None else self._fastest_types(row)
        if not self._left[row]:
            return self._start_waiting_tasks(self._waiting_tasks(row))
        if not self._moves or not self._runs_completely(row):
            return False
        placer.open[tasks] = True
        if placer.start(tasks.start):
            self._left[row] = False
            return True
        placer.open[tasks] = False
        return False

    def _start_waiting_tasks(self, tasks: list[int]) -> bool:
        """Start the waiting tasks of a job; return False unless all start.

        Tasks of iterations start only together, gang or not: a single one would occupy its node in vain. If tasks end
        one by one, each task that fits starts.
        """
        placer = self._placer
        if not tasks:
            return True
        if placer.snapshot.gang[placer.snapshot.task_job[tasks[0]]]:
            return placer.start(tasks[0])
        if placer.snapshot.simulator == "iterations":
            return self._begin_together(tasks)
        starts = [placer.start(task) for task in tasks]
        return all(starts)

    def _begin_together(self, tasks: list[int]) -> bool:
        """Start all of these tasks on one of the job's candidate types, or none."""
        placer, types = self._placer, self._placer.types
        if types is None:
            return placer.start_in_turn(tasks)
        for kind in types.only[int(placer.snapshot.task_job[tasks[0]])]:
            placer.among = types.masks[kind]
            starts = placer.start_in_turn(tasks)
            placer.among = None
            if starts:
                return True
        return False

    def _fastest_types(self, row: int) -> list[int]:
        rate = self._jobs.rate[row]
        return [m for m in np.argsort(-rate, kind="stable").tolist() if rate[m] > 0]

    def _start_without_gpus(self) -> None:
        snapshot, placer = self._placer.snapshot, self._placer
        queue = by_job(snapshot)
        placer.start_in_order(queue[~np.isin(snapshot.task_job[queue], self._jobs.job)])
