"""The queue of MLF-H: tasks in order of priority, those of a gang together, and how they are gone through."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph._mlf_priority import SERVER
from mlsched.instances.taskgraph.states import RUNNING

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Queue:
    """The tasks that wait for a place, as units that get theirs together or not at all, the highest priority first.

    A unit is a task; a gang; and where a start only holds a node until all tasks of the job do (`physics`
    "iterations"), the job's waiting tasks: one that held its node alone would run nothing. A unit has the priority of
    its first task; ties: parameter servers, then the earlier arrival. Tasks of a unit come by priority as well.
    """

    def __init__(self, hosts: Hosts, waiting: IntArray, moving: list[int], priority: Floats) -> None:
        self.hosts, snapshot = hosts, hosts.snapshot
        waiting = waiting[_whole(hosts, waiting)]
        jobs = len(snapshot.arrival)
        together = (snapshot.gang == 1) | (snapshot.physics == "iterations")
        tasks = np.concatenate([waiting, np.array(moving, dtype=np.int64)])
        job = snapshot.task_job[tasks]
        alone = ~together[job] | (np.arange(len(tasks)) >= len(waiting))
        unit = np.where(alone, jobs + tasks, job)
        _, unit = np.unique(unit, return_inverse=True)
        highest = np.full(unit.max(initial=-1) + 1, -np.inf)
        np.maximum.at(highest, unit, priority[tasks])
        worker = snapshot.role[tasks] != SERVER
        order = np.lexsort(
            (
                tasks,
                worker,
                -priority[tasks],
                unit,
                snapshot.job_id[job],
                snapshot.arrival[job],
                worker & alone,
                -highest[unit],
            )
        )
        self.tasks, unit = tasks[order], unit[order]
        self.first = np.flatnonzero(np.diff(unit, prepend=-1))
        self.size = np.diff(self.first, append=len(self.tasks))

    def place(self, stop_at_first: bool = False) -> list[int]:
        """Put what finds a host, in order; returns the tasks put. What was running and finds none is where it was.

        A unit that asks for no less than one that found no host is not tried: hosts only become fuller.
        """
        placed: list[int] = []
        if not self.size.size:
            return placed
        asked = _Asked(self)
        units = asked.may_fit(np.arange(len(self.size)))
        at, fuller = 0, False
        while at < len(units):
            unit = int(units[at])
            at += 1
            tasks = self.tasks[self.first[unit] : self.first[unit] + self.size[unit]].tolist()
            if self._put(tasks):
                placed += tasks
                fuller = True
                if stop_at_first:
                    break
            else:
                rest = units[at:]
                rest = rest[~asked.as_hopeless(unit, rest)]
                units, at, fuller = asked.may_fit(rest) if fuller else rest, 0, False
        return placed

    def _put(self, tasks: list[int]) -> bool:
        """All of these tasks get a host, or none."""
        hosts, done = self.hosts, list[tuple[int, int]]()
        for task in tasks:
            here = hosts.lift(task) if hosts.holds(task) else None
            found = hosts.best(task)
            if found is None:
                if here is not None:
                    hosts.put(task, *here)
                for other, before in reversed(done):
                    hosts.take_back(other, before)
                return False
            done.append((task, int(hosts.place[task])))
            hosts.put(task, *found)
        return True


def _whole(hosts: Hosts, waiting: IntArray) -> Flags:
    """Of the waiting tasks, those that are not of a gang that lacks some of its tasks among them."""
    snapshot = hosts.snapshot
    jobs = len(snapshot.arrival)
    count = np.bincount(snapshot.task_job, minlength=jobs)
    lacks = (snapshot.gang == 1) & (np.bincount(snapshot.task_job[waiting], minlength=jobs) < count)
    return np.asarray(~lacks[snapshot.task_job[waiting]])


class _Asked:
    """What each unit of a queue asks for: in all, at most and at least for a task, how many tasks, of which class."""

    def __init__(self, queue: Queue) -> None:
        self.hosts, self.size, self.first = queue.hosts, queue.size, queue.first
        snapshot, tasks, first = queue.hosts.snapshot, queue.tasks, queue.first
        self.unit = np.repeat(np.arange(len(first)), queue.size)
        self.demand = demand = queue.hosts.demand[tasks]
        self.total, self.most = np.add.reduceat(demand, first), np.maximum.reduceat(demand, first)
        self.least = np.minimum.reduceat(demand, first)
        task_class = snapshot.task_class[tasks]
        self.task_class = np.minimum.reduceat(task_class, first)
        runs = snapshot.state[tasks] == RUNNING
        held = (snapshot.bound[tasks] >= 0) | runs
        if snapshot.fetching:
            held |= np.isin(tasks, list(snapshot.fetching))
        self.moving = np.logical_or.reduceat(runs, first)
        self.free_to_go = ~np.logical_or.reduceat(held, first)
        self.free_to_go &= self.task_class == np.maximum.reduceat(task_class, first)

    def may_fit(self, units: IntArray) -> IntArray:
        """Those that may find room: they ask for no more than there is left in all, each of their tasks would fit by
        itself, and so would as many of their smallest demands as they have tasks. What runs keeps its own room.
        """
        left = self.hosts.headroom()
        fits = (self.most[units] <= left.max(axis=0)).all(axis=1) & (self.total[units] <= left.sum(axis=0)).all(axis=1)
        units = units[fits | self.moving[units]]
        if not units.size:
            return units
        rows = left[(left >= self.least[units].min(axis=0)).all(axis=1)]
        rows = rows[np.argsort(-rows.sum(axis=1), kind="stable")]
        sizes = self.size[units]
        tasks = np.repeat(self.first[units] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        lost = np.zeros(len(self.size), dtype=np.bool_)
        lost[self.unit[tasks[~_somewhere(self.demand[tasks], rows)]]] = True
        units = units[~lost[units] | self.moving[units]]
        fits = _together(self.least[units], self.size[units], self.total[units], rows)
        return np.asarray(units[fits | self.moving[units]])

    def as_hopeless(self, unit: int, others: IntArray) -> Flags:
        """Of the others, those that ask for as much or more in all of this than a unit that found no host."""
        if not self.free_to_go[unit]:
            return np.zeros(len(others), dtype=np.bool_)
        same = (self.task_class[others] == self.task_class[unit]) & ~self.moving[others]
        same &= self.size[others] >= self.size[unit]
        for mine, all_ in ((self.most[unit], self.most), (self.total[unit], self.total)):
            same &= (all_[others] >= mine).all(axis=1)
        return np.asarray(same)


def _somewhere(demand: IntArray, rows: Floats) -> Flags:
    """Of each demand, whether it fits in one of the rows of what is left."""
    found = np.zeros(len(demand), dtype=np.bool_)
    open_ = np.arange(len(demand))
    for row in rows:
        if not open_.size:
            break
        fits = (demand[open_] <= row).all(axis=1)
        found[open_[fits]] = True
        open_ = open_[~fits]
    return found


def _together(demand: IntArray, enough: IntArray, total: IntArray, rows: Floats) -> Flags:
    """Of each demand, whether in the rows of what is left in which it fits there is room for `enough` tasks of it, and
    for `total` of all tasks with it.
    """
    count, sums = np.zeros(len(demand)), np.zeros(total.shape)
    open_ = np.arange(len(demand))
    for row in rows:
        if not open_.size:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = np.where(demand[open_] > 0, row // demand[open_], np.inf).min(axis=1, initial=np.inf)
        count[open_] += fit
        sums[open_] += (fit >= 1)[:, None] * row
        open_ = open_[(count[open_] < enough[open_]) | (sums[open_] < total[open_]).any(axis=1)]
    return np.asarray((count >= enough) & (sums >= total).all(axis=1))
