"""The jobs that are in the system as columns; snapshots refer to them (`sight`).

Nothing is updated between events.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.record import partly_made
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import PAUSED, RUNNING, WAITING
from mlsched.simulation.taskgraph.iterations.sight import Sight, makers
from mlsched.simulation.taskgraph.iterations.table import Table
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.losses import error_rates, learning

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.segment import Segment
    from mlsched.simulation.taskgraph.iterations.world import IterationWorld

Flags = npt.NDArray[np.bool_]

#: Columns of jobs and of tasks that the workload has, one entry a job, or a task of its templates.
_OF_JOBS = ("arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations")
_OF_JOBS_TOO = ("user", "option", "permits", "payment", "time_limit", "priority")
_OF_TASKS = ("demand", "parameters", "task_class", "role", "replica")
#: Columns of jobs that are kept. `part`: what was done of the iteration under way when the job's tasks last started;
#: `since`: up to when service is counted; `begin`: when iterations go on (-1: they do not); `head`, `cycle`: 10^-6
#: ticks from then to the end of the iteration under way, and of each later one; `cost`: of the former, those without
#: work since the job goes on after a pause.
_DONE = ("stop_after", "finished", "part", "preemptions", "on_time")
_HOLDING = ("executed", "idle_since", "busy_since", "first_start", "placed", "since")
_PACE = ("begin", "head", "cycle", "cost")
_TASKS = ("state", "node", "gpu", "start", "waiting_since", "home", "last_end")
#: So many jobs are added to the columns at once, before they arrive.
AHEAD = 256


class View:
    """`jobs` and `tasks`: the columns of what is in the system, in order of arrival (`Table`).

    What of them never changes: `of_jobs` and `of_tasks`, columns of all jobs of the workload and of the tasks of its
    templates; `counts`, of each job how many tasks it has. `first_of`: the first task of each template; `edge_order`:
    the edges by template, `edges_of`: where those of each begin there.
    """

    def __init__(self, world: IterationWorld) -> None:
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
        served = [f"service:{r}" for r in amounts] + [f"held:{r}" for r in amounts]
        self.jobs = Table(("job_id",), (*_DONE, *served, *_HOLDING, *_PACE))
        self.tasks = Table(("owner", "kind", "told", "true"), _TASKS)
        self._done, self.pace = self.jobs.span("stop_after", "part"), self.jobs.span("begin", "cost")
        self.service = slice(len(_DONE), len(_DONE) + len(served))
        self._holding = slice(self.service.start, self.pace.start + 1)
        self._running = self.tasks.span("state", "start")
        self.makes = makers(self)
        self._places: dict[int, tuple[int, int, int]] = {}  # of each job its position, and those of its tasks
        self._added = 0  # jobs that the columns have or had
        edges = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")
        self._no_edges = {} if len(w.edge_from) else {name: getattr(w, name) for name in edges}
        self._last: Any = _nothing  # the last sight, if somebody still has it

    # -- what comes, goes and changes ---------------------------------------------------------------------------------

    def changes(self) -> None:
        """To be called before anything changes: who has the last snapshot can read it as it was."""
        sight = self._last()
        if sight is not None:
            sight.keep()
        self._last = _nothing

    def arrive(self, count: int) -> None:
        """So many further jobs are in the system from now on."""
        if count > self.jobs.waits:
            self._add(max(count - self.jobs.waits, AHEAD))
        arrived = self._added - self.jobs.waits
        self.jobs.admit(count)
        self.tasks.admit(int(self.counts[arrived : arrived + count].sum()))

    def _add(self, count: int) -> None:
        """Add the next jobs to the columns, at most so many."""
        w, first = self.workload, self._added
        end = min(first + count, len(w.arrival))
        job, self._added = np.arange(first, end), end
        counts = self.counts[first:end]
        owner, last = np.repeat(job, counts), np.cumsum(counts)
        kind = np.arange(len(owner)) + np.repeat(self.first_of[w.template[first:end]] - (last - counts), counts)
        once = (w.max_iterations == 1)[owner]
        true = _ticks(w.duration[kind], w.scale[owner], once)
        oracle = self.world.options.information == "oracle"
        told = true if oracle else _ticks(w.estimate[kind], w.told[owner], once)
        own = {"job_id": job, "stop_after": w.max_iterations[first:end], "idle_since": w.arrival[first:end]}
        since = self.jobs.add(len(job), {**own, "first_start": -1, "begin": -1})
        of_tasks = {"owner": owner, "kind": kind, "told": told, "true": true, "waiting_since": w.arrival[owner]}
        self.tasks.add(len(owner), {**of_tasks, "node": -1, "home": -1, "gpu": -1})
        self._find(since)

    def _find(self, since: int = 0) -> None:
        """Note where the entries of jobs are, from this position of theirs on."""
        place = self.jobs.positions(since)
        job = self.jobs["job_id"][place]
        first = self.tasks.find("owner", job)
        columns = (job, place, first, first + self.counts[job])
        for name, at, begin, end in zip(*(column.tolist() for column in columns), strict=True):
            self._places[name] = at, begin, end

    def leave(self, job: int) -> None:
        """A job is gone."""
        place, first, end = self._places.pop(job)
        moved = [self.jobs.remove(place, place + 1), self.tasks.remove(first, end)]
        if any(moved):
            self._find()

    def job(self, job: int, name: str) -> int:
        """A job's entry of a column."""
        return int(self.jobs[name][self._places[job][0]])

    def done(self, job: int) -> tuple[int, int, int]:
        """After how many iterations a job stops, how many it has finished, and what part of the next it has done."""
        stop_after, finished, part = self.jobs.get(self._places[job][0], self._done)
        return stop_after, finished, part

    def set_job(self, job: int, **values: int) -> None:
        """Change a job's entries."""
        place = self._places[job][0]
        for name, value in values.items():
            self.jobs[name][place] = value

    def starts(self, job: int, task: int, node: int, gpu: int) -> None:
        """A task of a job starts on a node, or moves there."""
        self.tasks.put(self._places[job][1] + task, self._running, (RUNNING, node, gpu, self.world.now))

    def pauses(self, job: int, task: int) -> None:
        """A task of a job holds no node any more, and may go on later."""
        at = self._places[job][1] + task
        self.tasks["state"][at], self.tasks["waiting_since"][at], self.tasks["gpu"][at] = PAUSED, self.world.now, -1

    def waits_again(self, job: int) -> None:
        """A job's next iteration has not begun: nothing is left of its tasks that hold no node."""
        state, node, start = self.task_columns(job, "state", "node", "start")
        left = state == PAUSED
        state[left], node[left], start[left] = WAITING, -1, 0

    def task(self, job: int, task: int, name: str) -> int:
        """The entry of a task of a job."""
        return int(self.tasks[name][self._places[job][1] + task])

    def lacks(self, job: int) -> bool:
        """Whether a task of the job holds no node."""
        place, first, end = self._places[job]
        return bool(self.jobs["placed"][place] < end - first)

    def task_columns(self, job: int, *names: str) -> list[IntArray]:
        """A job's parts of columns of its tasks, to read and to write."""
        _, first, end = self._places[job]
        return [self.tasks[name][first:end] for name in names]

    def named(self, tasks: IntArray) -> tuple[list[int], list[int]]:
        """Of tasks of the last snapshot: the job of each, and its place among that job's tasks."""
        if not len(tasks):
            return [], []
        here = self.tasks.here()
        position = tasks if isinstance(here, slice) else here[tasks]
        owners: list[int] = self.tasks["owner"][position].tolist()
        return owners, [at - self._places[job][1] for at, job in zip(position.tolist(), owners, strict=True)]

    def jobs_there(self) -> IntArray:
        """The jobs that are in the system, in order of arrival."""
        return np.asarray(self.jobs["job_id"][self.jobs.here()])

    def hold(self, job: int, placed: int, amounts: list[int], now: int) -> None:
        """From now on, so many tasks of a job hold these amounts of the resources."""
        jobs, place = self.jobs, self._places[job][0]
        *served, executed, idle, busy, first, was, since, _ = jobs.get(place, self._holding)
        held = served[len(amounts) :]
        counted = [before + amount * (now - since) for before, amount in zip(served, held, strict=False)]
        if placed and not was:
            busy = now
        if was and not placed:
            executed, idle = executed + now - busy, now
        first = now if first < 0 else first
        jobs.put(place, self._holding, (*counted, *amounts, executed, idle, busy, first, placed, now, -1))

    def run(self, job: int, segment: Segment) -> None:
        """A job's iterations go on."""
        head = segment.cost - (-(WHOLE - segment.part) * segment.first // WHOLE)
        begin = segment.start + segment.delay
        self.jobs.put(self._places[job][0], self.pace, (begin, head, segment.cycle, segment.cost))

    def stopped(self, job: int, finished: int, on_time: int, part: int, boundary: int, nodes: tuple[int, ...]) -> None:
        """What a job has done when its segment ends.

        finished, on_time: iterations in all, and of these in the segment those that ended by the deadline; boundary:
        when the last iteration of the segment ended, -1: none did.
        """
        self.slowed(job, finished, on_time, boundary, nodes)
        self.set_job(job, part=part)

    def slowed(self, job: int, finished: int, on_time: int, boundary: int, nodes: tuple[int, ...]) -> None:
        """As `stopped`, where the job goes on at once, at another pace: then its tasks have not started anew.

        `part` is kept, since it is what was done of the iteration under way when they last did.
        """
        self.set_job(job, finished=finished, on_time=self.job(job, "on_time") + on_time)
        if boundary >= 0:
            self.set_job(job, part=0)
            home, last_end, start, state = self.task_columns(job, "home", "last_end", "start", "state")
            home[:], last_end[:] = nodes, boundary
            start[state != WAITING] = boundary

    def from_scratch(self, job: int) -> None:
        """A job that holds nothing has lost all that it had done."""
        self.set_job(job, finished=0, on_time=0, part=0)
        home, last_end = self.task_columns(job, "home", "last_end")
        home[:], last_end[:] = -1, 0

    # -- what is seen -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """What is observed now."""
        self.changes()  # of two snapshots, one could no longer be kept
        world, w, sight = self.world, self.workload, Sight(self)
        self._last = weakref.ref(sight)
        return partly_made(
            Snapshot,
            sight,
            **self._no_edges,
            resources=w.resources,
            node_capacity=w.node_capacity,
            in_use=w.node_capacity - world.free,
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
    """No sight."""


class _Learning:
    """What is told and seen of how the jobs' models learn. Of each template: `table`, the row of the accuracies `told`
    that is its own, and `loss_table`, the row of its `losses` (-1: none is seen, since it never learns).
    """

    def __init__(self, jobs: Jobs, oracle: bool) -> None:
        self._true, self._table = jobs.accuracy, jobs.accuracy_table
        told = np.where((jobs.accuracy_told < 0) | oracle, jobs.accuracy_table, jobs.accuracy_told)
        rows, self.table = np.unique(told, return_inverse=True)
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
        """The accuracy of jobs that have finished so many iterations."""
        return np.asarray(self._true[self._table[template], np.minimum(finished, self._true.shape[1] - 1)])


def _ticks(duration: IntArray, scale: IntArray, once: Flags) -> IntArray:
    """Durations in whole ticks, as they are observed: at least 1 where there is any.

    Of a job of one iteration (`once`) they are rounded up, as its end is; of others to the nearest, since they add up.
    """
    nearest = np.rint(duration * (scale / WHOLE)).astype(np.int64)
    return np.where(once, -(-duration * scale // WHOLE), np.maximum(nearest, np.minimum(duration, 1)))
