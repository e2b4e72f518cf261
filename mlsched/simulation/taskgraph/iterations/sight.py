"""Lazy columns of a snapshot: the state of the world at one time, with columns computed at their first use.

A rule reads a few of the fifty columns of a snapshot, and most snapshots are discarded after their answer. So a `Sight`
refers to the world's own state. If that is about to change while the snapshot is still referenced, the sight copies the
state (`keep`).

The current work of a running job follows from its segment's start and pace.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.record import specs
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING, WAITING
from mlsched.simulation.taskgraph.iterations.table import Seen
from mlsched.simulation.taskgraph.iterations.workload import WHOLE
from mlsched.simulation.taskgraph.losses import samples

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.view import View


#: Columns that snapshots show as stored.
_OF_JOBS = ("job_id", "stop_after", "first_start", "preemptions")
_OF_TASKS = ("state", "node", "gpu")
_EDGES = ("edge_lag", "edge_volume", "edge_delay")
_SAMPLES = ("sample_job", "sample_iteration", "sample_loss")


class Sight:
    """Maker of a column by its name."""

    def __init__(self, view: View) -> None:
        world = view.world
        self._view, self._now = view, world.now
        self.jobs, self.tasks = Seen(view.jobs), Seen(view.tasks)
        self._devices, self._usage = world.devices.seen(), None if world.usage is None else world.usage.seen(self._now)

    def keep(self) -> None:
        """Copy the state before the world changes."""
        self.jobs.keep()
        self.tasks.keep()
        self._devices = self._devices.copy()
        self._usage = None if self._usage is None else self._usage.copy()

    def __call__(self, name: str) -> IntArray:
        column = self._view.makes[name](self)
        column.setflags(write=False)
        return column

    # -- jobs, tasks and edges ----------------------------------------------------------------------------------------

    @functools.cached_property
    def job(self) -> IntArray:
        """Return the jobs' numbers in the workload, shape (jobs,)."""
        return self.jobs["job_id"]

    @functools.cached_property
    def counts(self) -> IntArray:
        """Return the number of tasks of each job, shape (jobs,)."""
        return self._view.counts[self.job]

    @functools.cached_property
    def first(self) -> IntArray:
        """Return the first task of each job, shape (jobs,)."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @functools.cached_property
    def kind(self) -> IntArray:
        """Return the template's task of each task, shape (tasks,)."""
        return self.tasks["kind"]

    @functools.cached_property
    def task_job(self) -> IntArray:
        """Return the job of each task."""
        return self._repeat_per_task(np.arange(self.jobs.count))

    def _repeat_per_task(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column of jobs, repeated for each of their tasks."""
        return column if self.jobs.count == self.tasks.count else np.repeat(column, self.counts)

    def _number_texts(self, job: IntArray, task: IntArray) -> IntArray:
        """Return the snapshot's numbers of tasks, given by their job in the workload and their place in it."""
        return np.asarray(self.first[self.job.searchsorted(job)] + task)

    @functools.cached_property
    def edges(self) -> tuple[IntArray, IntArray]:
        """Return the template's edge of each edge, and the offset from a template's task to the snapshot's."""
        view = self._view
        template = view.workload.template[self.job]
        count = view.edges_of[template + 1] - view.edges_of[template]
        before = np.cumsum(count) - count
        which = view.edge_order[np.arange(int(count.sum())) + np.repeat(view.edges_of[template] - before, count)]
        return which, np.repeat(self.first - view.first_of[template], count)

    @property
    def edge(self) -> IntArray:
        """Return the template's edge of each edge."""
        return self.edges[0]

    @property
    def edge_from(self) -> IntArray:
        """Return the sending tasks."""
        which, shift = self.edges
        return np.asarray(self._view.workload.edge_from[which] + shift)

    @property
    def edge_to(self) -> IntArray:
        """Return the receiving tasks."""
        which, shift = self.edges
        return np.asarray(self._view.workload.edge_to[which] + shift)

    # -- work of jobs -------------------------------------------------------------------------------------------------

    def _gained_until(self, until: IntArray | int) -> IntArray:
        """Return the iterations finished in the current segment, up to a time (one, or one per job), shape (jobs,)."""
        (begin, head), cycle = self._begin_and_head, self.jobs["cycle"]
        elapsed = np.maximum(until - begin, 0) * WHOLE
        over = (begin >= 0) & (elapsed >= head)
        return np.asarray(np.where(over, 1 + (elapsed - head) // np.maximum(cycle, 1), 0))

    @functools.cached_property
    def _begin_and_head(self) -> tuple[IntArray, IntArray]:
        """Return `begin` and `head` of each job (see `view`)."""
        return self.jobs["begin"], self.jobs["head"]

    @functools.cached_property
    def _gained_iterations(self) -> IntArray:
        return self._gained_until(self._now)

    @functools.cached_property
    def _in_later_iteration(self) -> BoolArray:
        """Return which jobs have finished an iteration in the current segment, shape (jobs,)."""
        begin, head = self._begin_and_head
        return np.asarray((begin >= 0) & ((self._now - begin) * WHOLE >= head))

    @functools.cached_property
    def finished(self) -> IntArray:
        """Return the finished iterations."""
        return self.jobs["finished"] + self._gained_iterations

    @property
    def on_time(self) -> IntArray:
        """Return the finished iterations that ended by the deadline."""
        deadline = self._view.of_jobs["deadline"][self.job]
        late = not (deadline >= self._now).all()
        return self.jobs["on_time"] + (
            self._gained_until(np.minimum(deadline, self._now)) if late else self._gained_iterations
        )

    @functools.cached_property
    def _busy_time(self) -> BoolArray:
        return np.asarray(self.jobs["placed"] > 0)

    @property
    def service(self) -> IntArray:
        """Return the attained service."""
        service_counted, amounts_held = self.jobs.columns(1, self._view.service).reshape(2, -1, self.jobs.count)
        return np.asarray((service_counted + amounts_held * (self._now - self.jobs["since"])).T)

    @property
    def executed(self) -> IntArray:
        """Return the ticks in which some task of the job ran."""
        return self.jobs["executed"] + np.where(self._busy_time, self._now - self.jobs["busy_since"], 0)

    @property
    def idle_since(self) -> IntArray:
        """Return the time since when the job has had zero running tasks."""
        return np.where(self._busy_time, self._now, self.jobs["idle_since"])

    @property
    def accuracy_seen(self) -> IntArray:
        """Return the accuracy after the last finished iteration."""
        return self._view.learning.accuracy(self._view.workload.template[self.job], self.finished)

    @functools.cached_property
    def samples(self) -> dict[str, IntArray]:
        """Return the columns of the losses so far."""
        learning = self._view.learning
        return samples(learning.losses, learning.loss_table[self._view.workload.template[self.job]], self.finished)

    # -- state of tasks -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def duration(self) -> IntArray:
        """Return the ticks of a run, known once a job's first run is over."""
        is_known = self._in_later_iteration | (self.jobs["finished"] > 0)
        told_ticks = self.tasks["told"]
        return (
            np.where(self._repeat_per_task(is_known), self.tasks["true"], told_ticks) if is_known.any() else told_ticks
        )

    def _since_boundary(self, column: IntArray) -> IntArray:
        """Return a column of times; for tasks in a later iteration of their segment, the iteration's beginning."""
        if not self._in_later_iteration.any():
            return column
        (begin, head), cycle = self._begin_and_head, self.jobs["cycle"]
        boundary = begin - (-(head + (self._gained_iterations - 1) * cycle) // WHOLE)
        return np.where(self._repeat_per_task(self._in_later_iteration), self._repeat_per_task(boundary), column)

    @property
    def start(self) -> IntArray:
        """Return the time when tasks last started, or began to work again.

        For a job that continues after a pause, the work of a task counts only from the end of the pause cost.
        """
        begin, cost = self._begin_and_head[0], self.jobs["cost"]
        until = np.minimum(begin - (-cost // WHOLE), self._now)
        paid = np.where((begin >= 0) & (cost > 0), until, 0)
        return self._since_boundary(np.maximum(self.tasks["start"], self._repeat_per_task(paid)))

    @property
    def end(self) -> IntArray:
        """Return the end of tasks: finished tasks continue at once in the next iteration."""
        return np.zeros(self.tasks.count, dtype=np.int64)

    @property
    def progress(self) -> IntArray:
        """Return the work done before tasks last started."""
        part = self._repeat_per_task(np.where(self._in_later_iteration, 0, self.jobs["part"]))
        return np.where(self.tasks["state"] == WAITING, 0, self.duration * part // WHOLE)

    @property
    def home(self) -> IntArray:
        """Return the node of the last finished iteration's run."""
        home = self.tasks["home"]
        return (
            np.where(self._repeat_per_task(self._in_later_iteration), self.tasks["node"], home)
            if self._in_later_iteration.any()
            else home
        )

    @property
    def last_end(self) -> IntArray:
        """Return the end of that run."""
        return self._since_boundary(self.tasks["last_end"])

    @property
    def waiting_since(self) -> IntArray:
        """Return the time since when tasks wait for room, else now."""
        return np.where(self.tasks["state"] == RUNNING, self._now, self.tasks["waiting_since"])

    @property
    def usage(self) -> IntArray:
        """Return the current usage of tasks."""
        demand = self._view.of_tasks["demand"][self.kind]
        if self._usage is None:
            holds = np.minimum(self.tasks["true"], 1) * (self.tasks["state"] == RUNNING)
            return np.asarray(demand * holds[:, None])
        use = np.zeros_like(demand)
        use[self._number_texts(self._usage.job, self._usage.task)] = self._usage.amount
        return use

    # -- use of individual GPUs ---------------------------------------------------------------------------------------

    @property
    def gpu_in_use(self) -> IntArray:
        """Return the used amount of each GPU of each node."""
        return self._view.world.devices.total - self._devices.free

    @property
    def gpu_holder(self) -> IntArray:
        """Return the task that uses the complete GPU."""
        job, task = self._devices.holder
        return np.where(job >= 0, self._number_texts(job, task), -1) if (job >= 0).any() else np.full(job.shape, -1)


def makers(view: View) -> dict[str, Callable[[Sight], IntArray]]:
    """Return the maker of each variable column of a snapshot, by its name."""
    column_makers: dict[str, Callable[[Sight], IntArray]] = {
        name: operator.attrgetter(name) for name in specs(Snapshot)
    }
    for table, names in (("jobs", _OF_JOBS), ("tasks", _OF_TASKS), ("samples", _SAMPLES)):
        column_makers |= {name: functools.partial(_kept_column, table, name) for name in names}
    edges = {name: getattr(view.workload, name) for name in _EDGES}
    for which, columns in (("job", view.of_jobs), ("kind", view.of_tasks), ("edge", edges)):
        column_makers |= {name: functools.partial(_picked_column, which, column) for name, column in columns.items()}
    return column_makers


def _kept_column(table: str, name: str, sight: Sight) -> IntArray:
    column: IntArray = getattr(sight, table)[name]
    return column


def _picked_column(which: str, column: IntArray, sight: Sight) -> IntArray:
    """Return the visible entries of a column of the workload."""
    return np.asarray(column[getattr(sight, which)])
