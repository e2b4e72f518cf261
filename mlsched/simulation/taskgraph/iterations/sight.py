"""What a snapshot is made of: the state of the world at one time, of which a column is made when it is first read.

A rule reads a few of the fifty columns of a snapshot, and most snapshots are forgotten when they have been answered. So
a `Sight` refers to the world's own state. When that is about to change and somebody still has the snapshot, the sight
keeps a copy of what it refers to (`keep`).

What a running job has done by now follows from when its segment began and how fast it runs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.record import specs
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING, WAITING
from mlsched.simulation.taskgraph.iterations.table import Seen
from mlsched.simulation.taskgraph.iterations.workload import WHOLE
from mlsched.simulation.taskgraph.losses import samples

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.view import View

Flags = npt.NDArray[np.bool_]

#: Columns that snapshots show as they are kept.
_OF_JOBS = ("job_id", "stop_after", "first_start", "preemptions")
_OF_TASKS = ("state", "node", "gpu")
_EDGES = ("edge_lag", "edge_volume", "edge_delay")
_SAMPLES = ("sample_job", "sample_iteration", "sample_loss")


class Sight:
    """Called with the name of a column, makes it."""

    def __init__(self, view: View) -> None:
        world = view.world
        self._view, self._now = view, world.now
        self.jobs, self.tasks = Seen(view.jobs), Seen(view.tasks)
        self._devices, self._usage = world.devices.seen(), None if world.usage is None else world.usage.seen(self._now)

    def keep(self) -> None:
        """The world is about to change."""
        self.jobs.keep()
        self.tasks.keep()
        self._devices = self._devices.copy()
        self._usage = None if self._usage is None else self._usage.copy()

    def __call__(self, name: str) -> IntArray:
        column = self._view.makes[name](self)
        column.setflags(write=False)
        return column

    # -- which jobs, tasks and edges ----------------------------------------------------------------------------------

    @functools.cached_property
    def job(self) -> IntArray:
        """jobs: their numbers in the workload."""
        return self.jobs["job_id"]

    @functools.cached_property
    def counts(self) -> IntArray:
        """jobs: how many tasks each has."""
        return self._view.counts[self.job]

    @functools.cached_property
    def first(self) -> IntArray:
        """jobs: the first task of each."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @functools.cached_property
    def kind(self) -> IntArray:
        """tasks: which task of the templates each is."""
        return self.tasks["kind"]

    @functools.cached_property
    def task_job(self) -> IntArray:
        """Job of each task."""
        return self._of_job(np.arange(self.jobs.count))

    def _of_job(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column of jobs, an entry for each of their tasks."""
        return column if self.jobs.count == self.tasks.count else np.repeat(column, self.counts)

    def _numbered(self, job: IntArray, task: IntArray) -> IntArray:
        """The numbers in the snapshot of tasks that are given by their job in the workload, and their place in it."""
        return np.asarray(self.first[self.job.searchsorted(job)] + task)

    @functools.cached_property
    def edges(self) -> tuple[IntArray, IntArray]:
        """The edges: which of the templates' each is, and what is to be added to the number of a template's task."""
        view = self._view
        template = view.workload.template[self.job]
        count = view.edges_of[template + 1] - view.edges_of[template]
        before = np.cumsum(count) - count
        which = view.edge_order[np.arange(int(count.sum())) + np.repeat(view.edges_of[template] - before, count)]
        return which, np.repeat(self.first - view.first_of[template], count)

    @property
    def edge(self) -> IntArray:
        """Which of the templates' edges each is."""
        return self.edges[0]

    @property
    def edge_from(self) -> IntArray:
        """Task that sends."""
        which, shift = self.edges
        return np.asarray(self._view.workload.edge_from[which] + shift)

    @property
    def edge_to(self) -> IntArray:
        """Task that receives."""
        which, shift = self.edges
        return np.asarray(self._view.workload.edge_to[which] + shift)

    # -- what jobs have done ------------------------------------------------------------------------------------------

    def _gained_until(self, until: IntArray | int) -> IntArray:
        """jobs: iterations finished in the present segment, up to a time (one, or one a job)."""
        (begin, head), cycle = self._began, self.jobs["cycle"]
        elapsed = np.maximum(until - begin, 0) * WHOLE
        over = (begin >= 0) & (elapsed >= head)
        return np.asarray(np.where(over, 1 + (elapsed - head) // np.maximum(cycle, 1), 0))

    @functools.cached_property
    def _began(self) -> tuple[IntArray, IntArray]:
        """`begin` and `head` of each job (see `view`)."""
        return self.jobs["begin"], self.jobs["head"]

    @functools.cached_property
    def _gained(self) -> IntArray:
        return self._gained_until(self._now)

    @functools.cached_property
    def _later(self) -> Flags:
        """jobs: whether it has finished an iteration in the present segment."""
        begin, head = self._began
        return np.asarray((begin >= 0) & ((self._now - begin) * WHOLE >= head))

    @functools.cached_property
    def finished(self) -> IntArray:
        """Iterations finished."""
        return self.jobs["finished"] + self._gained

    @property
    def on_time(self) -> IntArray:
        """Of these, those that ended by the deadline."""
        deadline = self._view.of_jobs["deadline"][self.job]
        late = not (deadline >= self._now).all()
        return self.jobs["on_time"] + (self._gained_until(np.minimum(deadline, self._now)) if late else self._gained)

    @functools.cached_property
    def _busy(self) -> Flags:
        return np.asarray(self.jobs["placed"] > 0)

    @property
    def service(self) -> IntArray:
        """Attained service."""
        counted, held = self.jobs.columns(1, self._view.service).reshape(2, -1, self.jobs.count)
        return np.asarray((counted + held * (self._now - self.jobs["since"])).T)

    @property
    def executed(self) -> IntArray:
        """Ticks in which some task of the job ran."""
        return self.jobs["executed"] + np.where(self._busy, self._now - self.jobs["busy_since"], 0)

    @property
    def idle_since(self) -> IntArray:
        """Since when no task of the job runs."""
        return np.where(self._busy, self._now, self.jobs["idle_since"])

    @property
    def accuracy_seen(self) -> IntArray:
        """Accuracy after the last finished iteration."""
        return self._view.learning.accuracy(self._view.workload.template[self.job], self.finished)

    @functools.cached_property
    def samples(self) -> dict[str, IntArray]:
        """The columns of the losses so far."""
        learning = self._view.learning
        return samples(learning.losses, learning.loss_table[self._view.workload.template[self.job]], self.finished)

    # -- what tasks do ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def duration(self) -> IntArray:
        """Ticks of a run, known since a job's first one is over."""
        known = self._later | (self.jobs["finished"] > 0)
        told = self.tasks["told"]
        return np.where(self._of_job(known), self.tasks["true"], told) if known.any() else told

    def _since_boundary(self, column: IntArray) -> IntArray:
        """A column of times, where tasks that are in a later iteration of their segment have that of its begin."""
        if not self._later.any():
            return column
        (begin, head), cycle = self._began, self.jobs["cycle"]
        boundary = begin - (-(head + (self._gained - 1) * cycle) // WHOLE)
        return np.where(self._of_job(self._later), self._of_job(boundary), column)

    @property
    def start(self) -> IntArray:
        """When tasks last started, or began to work again.

        What a task whose job goes on after a pause has done since is no more than since that is paid.
        """
        begin, cost = self._began[0], self.jobs["cost"]
        until = np.minimum(begin - (-cost // WHOLE), self._now)
        paid = np.where((begin >= 0) & (cost > 0), until, 0)
        return self._since_boundary(np.maximum(self.tasks["start"], self._of_job(paid)))

    @property
    def end(self) -> IntArray:
        """When tasks ended: those that are done go on at once in the next iteration."""
        return np.zeros(self.tasks.count, dtype=np.int64)

    @property
    def progress(self) -> IntArray:
        """Work done before tasks last started."""
        part = self._of_job(np.where(self._later, 0, self.jobs["part"]))
        return np.where(self.tasks["state"] == WAITING, 0, self.duration * part // WHOLE)

    @property
    def home(self) -> IntArray:
        """Node of the last finished iteration's run."""
        home = self.tasks["home"]
        return np.where(self._of_job(self._later), self.tasks["node"], home) if self._later.any() else home

    @property
    def last_end(self) -> IntArray:
        """End of that run."""
        return self._since_boundary(self.tasks["last_end"])

    @property
    def waiting_since(self) -> IntArray:
        """Since when tasks wait for room, else now."""
        return np.where(self.tasks["state"] == RUNNING, self._now, self.tasks["waiting_since"])

    @property
    def usage(self) -> IntArray:
        """What tasks use now."""
        demand = self._view.of_tasks["demand"][self.kind]
        if self._usage is None:
            holds = np.minimum(self.tasks["true"], 1) * (self.tasks["state"] == RUNNING)
            return np.asarray(demand * holds[:, None])
        used = np.zeros_like(demand)
        used[self._numbered(self._usage.job, self._usage.task)] = self._usage.amount
        return used

    # -- which GPUs are held, where they are told apart ---------------------------------------------------------------

    @property
    def gpu_in_use(self) -> IntArray:
        """What is in use of each GPU of each node."""
        return self._view.world.devices.total - self._devices.free

    @property
    def gpu_holder(self) -> IntArray:
        """Task that holds the whole GPU."""
        job, task = self._devices.holder
        return np.where(job >= 0, self._numbered(job, task), -1) if (job >= 0).any() else np.full(job.shape, -1)


def makers(view: View) -> dict[str, Callable[[Sight], IntArray]]:
    """What makes each column of a snapshot that is not always the same, by its name."""
    made: dict[str, Callable[[Sight], IntArray]] = {name: operator.attrgetter(name) for name in specs(Snapshot)}
    for table, names in (("jobs", _OF_JOBS), ("tasks", _OF_TASKS), ("samples", _SAMPLES)):
        made |= {name: functools.partial(_kept, table, name) for name in names}
    edges = {name: getattr(view.workload, name) for name in _EDGES}
    for which, columns in (("job", view.of_jobs), ("kind", view.of_tasks), ("edge", edges)):
        made |= {name: functools.partial(_picked, which, column) for name, column in columns.items()}
    return made


def _kept(table: str, name: str, sight: Sight) -> IntArray:
    found: IntArray = getattr(sight, table)[name]
    return found


def _picked(which: str, column: IntArray, sight: Sight) -> IntArray:
    """Of a column of the workload, the entries that are seen."""
    return np.asarray(column[getattr(sight, which)])
