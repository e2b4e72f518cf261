"""The queue of MLF-H: units of tasks in order of priority, and how they are placed."""

from __future__ import annotations

import functools

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph._mlf_priority import SERVER
from mlsched.heuristics.taskgraph.packing import packing
from mlsched.instances.taskgraph.states import RUNNING


class Queue:
    """The waiting tasks as units that are placed completely or not at all, the highest priority first.

    A unit is a task or a gang. If a start only occupies a node until all tasks of the job have started (`simulator`
    "iterations"), a unit is the set of the job's waiting tasks: a single one would run nothing. A unit has the
    priority of its first task, or with `last` of its last; ties: units with a parameter server, then the earlier
    arrival. Tasks of a unit are ordered by priority, then parameter servers first.
    """

    def __init__(
        self, hosts: Hosts, waiting: IntArray, moving: list[int], priority: FloatArray, last: bool = False
    ) -> None:
        self.hosts, snapshot = hosts, hosts.snapshot
        waiting = waiting[_in_complete_gangs(hosts, waiting)]
        jobs = len(snapshot.arrival)
        together = (snapshot.gang == 1) | (snapshot.simulator == "iterations")
        tasks = np.concatenate([waiting, np.array(moving, dtype=np.int64)])
        job = snapshot.task_job[tasks]
        alone = ~together[job] | (np.arange(len(tasks)) >= len(waiting))
        unit = _renumber_names(np.where(alone, jobs + tasks, job), jobs + len(snapshot.task_job))
        by = of_unit(priority[tasks], unit, unit.max(initial=-1) + 1, last)
        worker = snapshot.role != SERVER
        some = np.zeros(len(by), dtype=np.int64)  # one task of each unit: all tasks of a unit belong to one job
        some[unit] = np.arange(len(tasks))
        of = job[some]
        has_server = np.bincount(unit, weights=~worker[tasks], minlength=len(by)) > 0
        best_first = np.lexsort((snapshot.job_id[of], snapshot.arrival[of], ~has_server, -by))
        rank = np.empty(len(by), dtype=np.int64)
        rank[best_first] = np.arange(len(by))
        order = np.argsort(rank[unit], kind="stable")
        self.tasks, unit = tasks[order], rank[unit][order]
        self.first = np.flatnonzero(np.diff(unit, prepend=-1))
        self.size = np.diff(self.first, append=len(self.tasks))
        self._keys = worker, -priority

    def tasks_of(self, unit: int) -> list[int]:
        """Return the tasks of a unit in their order; computed only for the few units that are tried."""
        tasks = self.tasks[self.first[unit] : self.first[unit] + self.size[unit]]
        ordered: list[int] = tasks[np.lexsort((tasks, *(key[tasks] for key in self._keys)))].tolist()
        return ordered

    def heads(self) -> IntArray:
        """Return the first task of each unit."""
        unit = np.repeat(np.arange(len(self.size)), self.size)
        order = np.lexsort((self.tasks, *(key[self.tasks] for key in self._keys), unit))
        return np.asarray(self.tasks[order[self.first]])

    def place(self, stop_at_first: bool = False) -> list[int]:
        """Put the units that find a host, in order; return the tasks put. A running unit otherwise keeps its place.

        A unit that demands at least as much as a failed unit is skipped: hosts only become fuller.
        """
        placed: list[int] = []
        if not self.size.size:
            return placed
        demands = Asked(self)
        units = demands.may_fit(np.arange(len(self.size)))
        at, fuller = 0, False
        while at < len(units):
            unit = int(units[at])
            at += 1
            tasks = self.tasks_of(unit)
            if self._put_together(tasks):
                placed += tasks
                fuller = True
                if stop_at_first:
                    break
            else:
                rest = units[at:]
                rest = rest[~demands.as_hopeless(unit, rest)]
                units, at, fuller = demands.may_fit(rest) if fuller else rest, 0, False
        return placed

    def _put_together(self, tasks: list[int]) -> bool:
        """Put all of these tasks, or none: one after another, or the largest first, or by an exact search."""
        if self._put_in_turn(tasks):
            return True
        if len(tasks) == 1 or any(self.hosts.holds(task) for task in tasks):
            return False
        demand = self.hosts.demand[tasks]
        if (demand == demand[0]).all():
            return False
        size = (demand / self.hosts.capacity.max(axis=0)).max(axis=1, initial=0.0)
        by_size = [tasks[place] for place in np.argsort(-size, kind="stable").tolist()]
        return (by_size != tasks and self._put_in_turn(by_size)) or self._put_by_search(tasks)

    def _put_by_search(self, tasks: list[int]) -> bool:
        """Put all of these tasks at places from an exact search by room and load, without overloading a node."""
        hosts, snapshot, placements = self.hosts, self.hosts.snapshot, list[tuple[int, int]]()
        may = np.array([snapshot.may_start_on(task) for task in tasks])
        unit = snapshot.gpu_unit
        room = np.floor(np.minimum(hosts.headroom(), hosts.free)).astype(np.int64)
        needs = hosts.need[tasks].tolist() if unit else None
        places = packing(hosts.demand[tasks], may, room, needs, hosts.gpu_free if unit else None, unit)
        for task, (node, gpu) in zip(tasks, places or [], strict=bool(places)):
            if not hosts.fits(task)[node] or (gpu >= 0 and not hosts.gpu_fits(task, node)[gpu]):
                for other, before in reversed(placements):
                    hosts.take_back(other, before)
                return False
            placements.append((task, int(hosts.place[task])))
            hosts.put(task, node, [gpu] if gpu >= 0 else hosts.gpus_for(task, node))
        return bool(places)

    def _put_in_turn(self, tasks: list[int]) -> bool:
        """Put all of these tasks, one after another, or none."""
        hosts, placements = self.hosts, list[tuple[int, int]]()
        for task in tasks:
            here = hosts.lift(task) if hosts.holds(task) else None
            node = hosts.best(task)
            if node is None:
                if here is not None:
                    hosts.put(task, *here)
                for other, before in reversed(placements):
                    hosts.take_back(other, before)
                return False
            placements.append((task, int(hosts.place[task])))
            hosts.put(task, *node)
        return True


def of_unit(priority: FloatArray, unit: IntArray, count: int, last: bool) -> FloatArray:
    """Return for each of `count` units the highest priority of its tasks, or with `last` the lowest."""
    result = np.full(count, np.inf if last else -np.inf)
    (np.minimum if last else np.maximum).at(result, unit, priority)
    return result


def _renumber_names(names: IntArray, end: int) -> IntArray:
    """Renumber the names that occur, in rising order; names are below `end`."""
    there = np.zeros(end, dtype=np.bool_)
    there[names] = True
    return np.asarray((np.cumsum(there) - 1)[names])


def _in_complete_gangs(hosts: Hosts, waiting: IntArray) -> BoolArray:
    """Return a flag per waiting task: False if its gang has a task that is not waiting."""
    snapshot = hosts.snapshot
    jobs = len(snapshot.arrival)
    count = np.bincount(snapshot.task_job, minlength=jobs)
    lacks = (snapshot.gang == 1) & (np.bincount(snapshot.task_job[waiting], minlength=jobs) < count)
    return np.asarray(~lacks[snapshot.task_job[waiting]])


class Asked:
    """Demands of each unit of a queue: in total, largest and smallest of a task, number of tasks, class.

    Amounts are resources x units (or x tasks): comparing long columns is several times faster than short rows.
    """

    def __init__(self, queue: Queue) -> None:
        self.hosts, self.size, self.first = queue.hosts, queue.size, queue.first
        snapshot, tasks, first = queue.hosts.snapshot, queue.tasks, queue.first
        self.unit = np.repeat(np.arange(len(first)), queue.size)
        self.demand = demand = np.ascontiguousarray(queue.hosts.demand[tasks].T)
        self.total, self.most, self.least = (
            of.reduceat(demand, first, axis=1) for of in (np.add, np.maximum, np.minimum)
        )
        task_class = snapshot.task_class[tasks]
        self.task_class = np.minimum.reduceat(task_class, first)
        runs = snapshot.state[tasks] == RUNNING
        bound = (snapshot.bound[tasks] >= 0) | runs
        if snapshot.fetching:
            bound |= np.isin(tasks, list(snapshot.fetching))
        self.moving = np.logical_or.reduceat(runs, first)
        self.free_to_go = ~np.logical_or.reduceat(bound, first)
        self.free_to_go &= self.task_class == np.maximum.reduceat(task_class, first)

    def may_fit(self, units: IntArray) -> IntArray:
        """Return the units that may find room.

        They demand at most the total that is left, each of their tasks would fit by itself, and so would as many
        copies of their smallest demand as they have tasks. A running unit keeps its own room.
        """
        remaining = self.hosts.headroom()
        fits = _within_limits(self.most[:, units], remaining.max(axis=0)) & _within_limits(
            self.total[:, units], remaining.sum(axis=0)
        )
        units = units[fits | self.moving[units]]
        if not units.size:
            return units
        rows = remaining[(remaining >= self.least[:, units].min(axis=1)).all(axis=1)]
        rows = rows[np.argsort(-rows.sum(axis=1), kind="stable")]
        sizes = self.size[units]
        # All tasks of the units, one unit after another: first, first + 1, ..., first + size - 1.
        tasks = np.repeat(self.first[units] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        hopeless = np.zeros(len(self.size), dtype=np.bool_)
        hopeless[self.unit[tasks[~_fits_some_row(self.demand[:, tasks], rows)]]] = True
        units = units[~hopeless[units] | self.moving[units]]
        fits = _fit_together(self.least[:, units], self.size[units], self.total[:, units], rows)
        return np.asarray(units[fits | self.moving[units]])

    def as_hopeless(self, unit: int, others: IntArray) -> BoolArray:
        """Return which of the others have, for every task of a failed unit, a task with at least its demand."""
        if not self.free_to_go[unit]:
            return np.zeros(len(others), dtype=np.bool_)
        same = (self.task_class[others] == self.task_class[unit]) & ~self.moving[others]
        same &= self.size[others] >= self.size[unit]
        for amounts in (self.most, self.total):
            same &= (amounts[:, others] >= amounts[:, [unit]]).all(axis=0)
        able = np.flatnonzero(same)
        for place in range(self.size[unit]):
            of_unit, of_others = self.first[unit] + place, self.first[others[able]] + place
            able = able[(self._demands_descending[:, of_others] >= self._demands_descending[:, [of_unit]]).all(axis=0)]
        hopeless = np.zeros(len(others), dtype=np.bool_)
        hopeless[able] = True
        return hopeless

    @functools.cached_property
    def _demands_descending(self) -> IntArray:
        """Return the demands (resources x tasks), sorted within each unit from its largest task to its smallest."""
        share = (self.demand / self.hosts.capacity.max(axis=0)[:, None]).max(axis=0, initial=0.0)
        return np.asarray(self.demand[:, np.lexsort((-share, self.unit))])


def _within_limits(amounts: IntArray, limits: FloatArray) -> BoolArray:
    """Return for each column of amounts if all are within their limits."""
    return np.asarray((amounts <= limits[:, None]).all(axis=0))


def _fits_some_row(demand: IntArray, rows: FloatArray) -> BoolArray:
    """Return for each demand (a column) if some row of the remaining capacity fits it."""
    open_ = np.arange(demand.shape[1])
    for row in rows:
        if not open_.size:
            break
        open_ = open_[~_within_limits(demand[:, open_], row)]
    anywhere = np.ones(demand.shape[1], dtype=np.bool_)
    anywhere[open_] = False
    return anywhere


def _fit_together(demand: IntArray, enough: IntArray, total: IntArray, rows: FloatArray) -> BoolArray:
    """Return for each demand (a column) if the rows that fit it have room for enough tasks.

    They need room for `enough` tasks of this demand, and for the demand `total` of all tasks.
    """
    count, sums = np.zeros(len(enough)), np.zeros(total.shape)
    open_ = np.arange(len(enough))
    for row in rows:
        if not open_.size:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.floor(row[:, None] / demand[:, open_])
        fit = np.where(demand[:, open_] > 0, each, np.inf).min(axis=0, initial=np.inf)
        count[open_] += fit
        sums[:, open_] += (fit >= 1) * row[:, None]
        open_ = open_[(count[open_] < enough[open_]) | ~(sums[:, open_] >= total[:, open_]).all(axis=0)]
    return np.asarray((count >= enough) & (sums >= total).all(axis=0))
