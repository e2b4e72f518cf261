"""Jobs in the system as columns; snapshots refer to them (`sight`).

The columns are only updated for snapshots.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.record import lazy_record
from mlsched.instances.taskgraph import Snapshot
from mlsched.simulation.taskgraph.iterations.sight import Sight, makers
from mlsched.simulation.taskgraph.iterations.table import Table
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.losses import error_rates, learning

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.placements import Placements
    from mlsched.simulation.taskgraph.iterations.state import JobState


#: Columns of jobs and of tasks that the workload has, one entry per job, or per task of its templates.
_OF_JOBS = ("arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations")
_OF_JOBS_TOO = ("user", "option", "permits", "payment", "time_limit", "priority")
_OF_TASKS = ("demand", "parameters", "task_class", "role", "replica")
#: Variable columns of jobs and of their tasks (see `JobState`).
_DONE = ("stop_after", "finished", "part", "preemptions", "on_time")
_HOLDING = ("executed", "idle_since", "busy_since", "first_start", "placed", "since")
_PACE = ("begin", "head", "cycle", "cost")
TASKS = ("state", "node", "gpu", "start", "waiting_since", "home", "last_end")
#: Number of future jobs that are added to the columns at once.
AHEAD = 256


class View:
    """Columns of the jobs in the system, in order of arrival (`Table`).

    They are written for a snapshot, from the states of the jobs that have changed since the last one (`changed`); a run
    without snapshots writes none.

    Attributes:
        jobs, tasks: The columns.
        of_jobs, of_tasks: Constant columns of all jobs of the workload and of the tasks of its templates.
        counts: Number of tasks of each job.
        first_of: First task of each template.
        edge_order, edges_of: Edges by template, and the beginning of each template's edges there.
    """

    def __init__(self, world: Placements) -> None:
        self.world = world
        w = self.workload = world.workload
        self.learning = _Learning(w, world.options.information == "oracle")
        self.of_jobs: dict[str, IntArray] = {name: getattr(w, name) for name in (*_OF_JOBS, *_OF_JOBS_TOO)}
        self.of_jobs["pause_cost"] = -(-w.pause_cost // WHOLE)
        self.of_jobs["gang"], self.of_jobs["accuracy_table"] = w.gang[w.template], self.learning.table[w.template]
        self.of_tasks: dict[str, IntArray] = {name: getattr(w, name) for name in _OF_TASKS}
        spans = np.array(w.tasks, dtype=np.int64).reshape(-1, 2)
        self.first_of = spans[:, 0]
        self.counts = (spans[:, 1] - spans[:, 0])[w.template]
        owner = w.task_template[w.edge_from]
        self.edge_order = np.argsort(owner, kind="stable")
        self.edges_of = np.searchsorted(owner[self.edge_order], np.arange(len(w.gang) + 1))
        amounts = range(len(w.resources))
        service_columns = [f"service:{r}" for r in amounts] + [f"held:{r}" for r in amounts]
        self.jobs = Table(("job_id",), (*_DONE, *service_columns, *_HOLDING, *_PACE))
        self.tasks = Table(("owner", "kind", "told", "true"), TASKS)
        self.service = slice(len(_DONE), len(_DONE) + len(service_columns))
        self.makes = makers(self)
        self._places: dict[int, tuple[int, int, int]] = {}  # position of each job, and of its tasks
        self._added = self._admitted = 0  # jobs ever added to the columns, and those that have arrived
        self.changed: dict[int, JobState] = {}
        self._gone: list[int] = []
        edges = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")
        self._no_edges = {} if len(w.edge_from) else {name: getattr(w, name) for name in edges}
        self._last: Any = _nothing  # the last sight, if it is still referenced

    # -- changes ------------------------------------------------------------------------------------------------------

    def preserve_snapshot(self) -> None:
        """Copy the last snapshot's columns if it is still referenced; called before any change."""
        sight = self._last()
        if sight is not None:
            sight.keep()
        self._last = _nothing

    def leave(self, job: JobState) -> None:
        """Remove a job."""
        self.changed.pop(job.number, None)
        if job.number < self._admitted:
            self._gone.append(job.number)

    def _write_columns(self) -> None:
        """Apply the departures, arrivals and changes since the last call to the columns."""
        world, before = self.world, self._admitted
        for job in self._gone:
            self._remove_entries(job)
        self._gone.clear()
        if (count := world.arrived - before) > 0:
            if count > self.jobs.waits:
                self._add_jobs(max(count - self.jobs.waits, AHEAD))
            self.jobs.admit(count)
            self.tasks.admit(int(self.counts[before : before + count].sum()))
            self._admitted = world.arrived
            for job in range(before, world.arrived):
                if job not in world.jobs:
                    self._remove_entries(job)
        if self.changed:
            self._write_changed(list(self.changed.values()))
            self.changed.clear()

    def _write_changed(self, jobs: list[JobState]) -> None:
        places = [self._places[job.number] for job in jobs]
        at = [place for place, _, _ in places]
        self.jobs.blocks[1][:, at] = np.array([job.row() for job in jobs], dtype=np.int64).T
        if len(jobs) == 1:
            _, first, end = places[0]
            self.tasks.blocks[1][:, first:end] = jobs[0].task_columns()
            return
        of_tasks = [job.task_columns() for job in jobs]
        columns = [list(itertools.chain.from_iterable(rows)) for rows in zip(*of_tasks, strict=True)]
        self.tasks.blocks[1][:, [task for _, first, end in places for task in range(first, end)]] = columns

    def _add_jobs(self, count: int) -> None:
        """Add the next jobs to the columns, at most `count`."""
        w, first = self.workload, self._added
        end = min(first + count, len(w.arrival))
        job, self._added = np.arange(first, end), end
        counts = self.counts[first:end]
        owner, last = np.repeat(job, counts), np.cumsum(counts)
        # A job's tasks have consecutive kinds, from the first of its template.
        kind = np.arange(len(owner)) + np.repeat(self.first_of[w.template[first:end]] - (last - counts), counts)
        once = (w.max_iterations == 1)[owner]
        true = ticks(w.duration[kind], w.scale[owner], once)
        oracle = self.world.options.information == "oracle"
        told_ticks = true if oracle else ticks(w.estimate[kind], w.told[owner], once)
        own = {"job_id": job, "stop_after": w.max_iterations[first:end], "idle_since": w.arrival[first:end]}
        since = self.jobs.add(len(job), {**own, "first_start": -1, "begin": -1})
        of_tasks = {"owner": owner, "kind": kind, "told": told_ticks, "true": true, "waiting_since": w.arrival[owner]}
        self.tasks.add(len(owner), {**of_tasks, "node": -1, "home": -1, "gpu": -1})
        self._record_positions(since)

    def _record_positions(self, since: int = 0) -> None:
        """Record the positions of jobs' entries, from this position on."""
        place = self.jobs.positions(since)
        job = self.jobs["job_id"][place]
        first = self.tasks.find("owner", job)
        columns = (job, place, first, first + self.counts[job])
        for name, at, begin, end in zip(*(column.tolist() for column in columns), strict=True):
            self._places[name] = at, begin, end

    def _remove_entries(self, job: int) -> None:
        place, first, end = self._places.pop(job)
        moves = [self.jobs.remove(place, place + 1), self.tasks.remove(first, end)]
        if any(moves):
            self._record_positions()

    def named(self, tasks: IntArray) -> tuple[list[int], list[int]]:
        """Return the job of each task of the last snapshot, and its place among that job's tasks."""
        if not len(tasks):
            return [], []
        here = self.tasks.present_positions()
        position = tasks if isinstance(here, slice) else here[tasks]
        owners: list[int] = self.tasks["owner"][position].tolist()
        return owners, [at - self._places[job][1] for at, job in zip(position.tolist(), owners, strict=True)]

    def jobs_there(self) -> IntArray:
        """Return the jobs in the system, in order of arrival."""
        return np.fromiter(self.world.jobs, np.int64, len(self.world.jobs))

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the current snapshot."""
        self.preserve_snapshot()  # only one snapshot can be preserved
        self._write_columns()
        world, w, sight = self.world, self.workload, Sight(self)
        self._last = weakref.ref(sight)
        return lazy_record(
            Snapshot,
            sight,
            **self._no_edges,
            resources=w.resources,
            node_capacity=w.node_capacity,
            in_use=w.node_capacity - world.room.columns(),
            now=world.now,
            accuracy=self.learning.told,
            eligible=world.eligible,
            movement=world.movement,
            pausing=world.options.pausing,
            accuracy_at=w.accuracy_at,
            simulator="iterations",
            tick_ms=w.tick_ms,
            gpu_unit=w.gpu_unit,
            node_type=w.node_type,
            slowness=w.slowness,
        )


def _nothing() -> None:
    """Return None, as there is not yet a sight."""


class _Learning:
    """Information on the learning of the jobs' models.

    Attributes:
        table: Row of each template in the accuracies `told`.
        loss_table: Row of each template in its `losses` (-1: invisible, since it never learns).
    """

    def __init__(self, jobs: Jobs, oracle: bool) -> None:
        self._true, self._table = jobs.accuracy, jobs.accuracy_table
        told_rows = np.where((jobs.accuracy_told < 0) | oracle, jobs.accuracy_table, jobs.accuracy_told)
        rows, self.table = np.unique(told_rows, return_inverse=True)
        self.told = np.ascontiguousarray(jobs.accuracy[rows])
        self.told.flags.writeable = False
        column = np.arange(max(jobs.accuracy.shape[1], jobs.loss.shape[1]))
        self.losses = np.concatenate(
            [
                t[:, np.minimum(column, t.shape[1] - 1)] if t.size else np.zeros((len(t), len(column)), dtype=np.int64)
                for t in (error_rates(jobs.accuracy), jobs.loss)
            ]
        )
        own = np.where(learning(jobs.accuracy)[jobs.accuracy_table], jobs.accuracy_table, -1)
        self.loss_table = np.where(jobs.loss_table >= 0, jobs.loss_table + len(jobs.accuracy), own)

    def accuracy(self, template: IntArray, finished: IntArray) -> IntArray:
        """Return the accuracy of jobs after these finished iterations."""
        return np.asarray(self._true[self._table[template], np.minimum(finished, self._true.shape[1] - 1)])


def ticks(duration: IntArray, scale: IntArray, once: BoolArray) -> IntArray:
    """Return observed durations in integer ticks: at least 1 if positive.

    For a job of one iteration (`once`) they are rounded up, as its end is; for others to the nearest, since they add
    up.
    """
    nearest = np.rint(duration * (scale / WHOLE)).astype(np.int64)
    return np.where(once, -(-duration * scale // WHOLE), np.maximum(nearest, np.minimum(duration, 1)))
