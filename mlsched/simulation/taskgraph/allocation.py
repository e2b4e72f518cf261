"""Round of a training cluster as a sequence of choices: MLFS' action {(task, node or queue)} (Section 3.4).

The paper leaves open how one network assigns any number of tasks. Here the action is a sequence of choices, each among
rows of one table (`allocation_features`), so that one scoring function serves them all:

STOP, if enabled: the job that ends as early as it may; row 0: finished. MLF-RL leaves that to MLF-C.
GIVE, if every iteration queues again and some job waits: the running job to preempt; row 0: finished.
LEAVE: from each overloaded node, as long as it is, the task that joins the queue; row 0: finished with this node.
NEXT: the unit of the queue that gets its places now; row 0: all others wait.
HOST: the underloaded node of the next task of that unit, where it takes the least used GPU. Row 0 is refused.

A unit is a set of tasks that start together (`heuristics/taskgraph/_mlf_queue`): a gang, by iterations a job, else a
task. A task that left its node is a unit of its own. A unit waits if one of its tasks finds no underloaded node with
room. A task that left and finds no place pauses if that loses no work, else it stays on its node, as in MLF-H (3.3.3).

Preempted jobs are off their nodes until NEXT chooses row 0 or no unit fits. Then, in order of MLF-H's priority, each
job whose place is free continues there, the others pause, and NEXT continues with the remaining waiting jobs
(`queueing=iteration`, as in `heuristics/taskgraph/_mlf_compete`).

Underloaded (3.3.2) means that all resources are used up to `h_r` at most. Unlike in MLF-H, a task may overload the
node, so that the choice is the policy's. Row 0 is allowed only while some job makes progress, since a run must not get
stuck. If all units then lack places, MLF-H's fallback starts the first task that fits.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import validate_arguments
from mlsched.core.fields import IntArray
from mlsched.core.params import Positive
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph._mlf_priority import Weights, priorities
from mlsched.heuristics.taskgraph._mlf_queue import Asked, Queue
from mlsched.heuristics.taskgraph._mlf_relief import Choice, Crowd
from mlsched.heuristics.taskgraph.measures import remaining_ticks, stops_after
from mlsched.heuristics.taskgraph.mlf_compete import lift, settle
from mlsched.heuristics.taskgraph.mlf_h import goes_on, made_round
from mlsched.heuristics.taskgraph.preemption import QUEUEING, refuse_unless_pausing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.simulation.taskgraph.allocation_features import (
    FEATURES,
    FEATURES_OF,
    GIVE,
    HOST,
    LEAVE,
    NEXT,
    STOP,
    Features,
)

__all__ = ["FEATURES", "FEATURES_OF", "GIVE", "HOST", "LEAVE", "NEXT", "STOP", "Allocation", "chosen"]

Floats = npt.NDArray[np.float32]


class Allocation:
    """Round of one snapshot in progress. `kind` is that of the current choice, None at the end.

    Attributes:
        stop_after: Iterations after which each job stops, shape (jobs,).
        h_r: Share of a resource from which on a node is overloaded.
        migration: False leaves overloaded nodes unchanged.
        stopping: Jobs may be stopped earlier than `stop_after`.
        most: Largest number of jobs, tasks, units or nodes per choice, the first in MLF-H's order; 0: all.
        queueing: "held": a job keeps its nodes to the end. "iteration": running jobs may be preempted, and rows have
            more columns (`FEATURES_OF`).
    """

    @validate_arguments
    def __init__(
        self,
        snapshot: Snapshot,
        stop_after: IntArray,
        *,
        h_r: Positive = 0.9,
        migration: bool = True,
        stopping: bool = False,
        most: int = 0,
        queueing: Annotated[str, QUEUEING] = "held",
    ) -> None:
        self.snapshot, self._stop_after, self._most = snapshot, stop_after, most
        self._migration, self._anew = migration, queueing == "iteration"
        self.hosts = hosts = Hosts(snapshot, h_r, remaining_ticks(snapshot, stop_after), bandwidth=True)
        self._limit, self._gpu_limit = hosts.most, hosts.gpu_most
        self._low = stops_after(snapshot, "least") if stopping else stop_after
        self.leaving: list[int] = []
        self.placed: list[int] = []
        self.away: list[int] = []  # preempted jobs that have not returned
        self.kind: int | None = None
        self._tasks = np.zeros(0, dtype=np.int64)  # of the rows from 1 on; for HOST the one task
        self._nodes = np.zeros(0, dtype=np.int64)  # of HOST's rows from 1 on
        self._crowded: list[int] = []  # overloaded nodes
        self._crowd: Crowd | None = None
        self._goes_on = False
        self._units = np.zeros(0, dtype=np.int64)  # units still in the queue
        self._todo: list[int] = []
        self._done: list[tuple[int, int]] = []  # placed tasks of the current unit, and their previous nodes
        self._was: tuple[int, list[int]] | None = None  # current place of the task to be placed
        self._runners: list[int] = []  # running jobs that may still be preempted
        self._pausing: list[int] = []  # tasks of preempted jobs without a place
        self._offer_stops()

    @functools.cached_property
    def priority(self) -> npt.NDArray[np.float64]:
        """Return MLF-H's priority (Eq. 6) with the paper's constants, shape (tasks,)."""
        return priorities(self.snapshot, self._stop_after, Weights())

    @functools.cached_property
    def _features(self) -> Features:
        return Features(self.hosts, self._stop_after, self.priority, self._limit, self._gpu_limit, self._anew)

    # -- current choice -----------------------------------------------------------------------------------------------

    def rows(self) -> Floats:
        """Return the features of the rows, shape (1 + choices, columns) (`FEATURES_OF`), in [-1, 1].

        Row 0 chooses nothing.
        """
        return self._features.rows(self.kind, self._tasks, self._nodes, self._choose_nothing, len(self.placed))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which rows may be chosen, shape (rows,)."""
        mask = np.ones(self.choices + 1, dtype=np.bool_)
        mask[0] = self._choose_nothing
        return mask

    @property
    def choices(self) -> int:
        """Return the number of rows besides row 0."""
        return len(self._nodes) if self.kind == HOST else len(self._tasks)

    @property
    def _choose_nothing(self) -> bool:
        if self.kind == NEXT:
            return bool(self.placed) or self._goes_on or bool(self.away)
        return self.kind in (STOP, GIVE, LEAVE)

    @property
    def only(self) -> int | None:
        """Return the only row that may be chosen, or None if there are several."""
        if self._choose_nothing or self.choices > 1:
            return None
        return 1

    def take_forced(self) -> None:
        """Take the rows without an alternative, up to the next choice or the end of the round."""
        while self.kind is not None and (row := self.only) is not None:
            self.take(row)

    def take(self, row: int) -> None:
        """Choose a row."""
        if self.kind == STOP:
            self._end_job(row)
        elif self.kind == GIVE:
            self._preempt_job(row)
        elif self.kind == LEAVE:
            self._offer_leaving(row)
        elif self.kind == NEXT:
            self._set_choice(row)
        else:
            self._put_on_node(int(self._nodes[row - 1]))

    def offered(self) -> tuple[IntArray, IntArray]:
        """Return the tasks of the rows from 1 on (of a job or unit, its first) and their nodes (-1: not placed)."""
        if self.kind == HOST:
            return np.repeat(self._tasks, len(self._nodes)), self._nodes
        return self._tasks, np.full(len(self._tasks), -1)

    def round(self) -> Round:
        """Return the round of the choices made."""
        return made_round(self.hosts, self.placed, self.leaving + self._pausing, self._stop_after)

    # -- STOP ---------------------------------------------------------------------------------------------------------

    def _offer_stops(self) -> None:
        """Offer the jobs that may end early; without any, continue with relief if there is work left."""
        jobs = np.flatnonzero(self._low < self._stop_after)
        if jobs.size:
            self.kind = STOP
            self._tasks = np.searchsorted(self.snapshot.task_job, jobs[: self._most or None])
            return
        self._place_tasks()

    def _end_job(self, row: int) -> None:
        if row == 0:
            self._place_tasks()
            return
        job = int(self.snapshot.task_job[self._tasks[row - 1]])
        self._stop_after = self._stop_after.copy()
        self._stop_after[job] = self._low[job]
        self._offer_stops()

    def _place_tasks(self) -> None:
        """Place running and waiting tasks, once the number of iterations of each job is fixed."""
        for name in ("priority", "_of_jobs", "_features"):
            self.__dict__.pop(name, None)
        snapshot = self.snapshot
        self._waiting = np.flatnonzero(snapshot.startable & (self._stop_after > snapshot.finished)[snapshot.task_job])
        self.kind = None
        if self._anew and snapshot.simulator == "iterations" and self._waiting.size:
            refuse_unless_pausing(snapshot, "queueing = iteration", "queueing=held")
            running = np.unique(snapshot.task_job[snapshot.state == RUNNING])
            self._runners = running[np.lexsort((running, self._of_jobs[running]))].tolist()
        self._offer_preemptions()

    # -- GIVE ---------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _of_jobs(self) -> npt.NDArray[np.float64]:
        """Return the highest priority of each job's tasks, shape (jobs,)."""
        highest = np.full(len(self.snapshot.arrival), -np.inf)
        np.maximum.at(highest, self.snapshot.task_job, self.priority)
        return highest

    def _offer_preemptions(self) -> None:
        """Offer the running jobs to preempt, the lowest priority first; without any, continue with relief."""
        if self._runners:
            self.kind = GIVE
            self._tasks = np.searchsorted(self.snapshot.task_job, self._runners[: self._most or None])
            return
        hosts = self.hosts
        over = hosts.overloaded() if self._migration and hosts.may_leave.any() else np.zeros(0, dtype=np.bool_)
        self._crowded = np.flatnonzero(over).tolist()
        self.kind = None
        if self._crowded or self._waiting.size:
            self._offer_relief()

    def _preempt_job(self, row: int) -> None:
        if row == 0:
            self._runners = []
        else:
            job = self._runners.pop(row - 1)
            lift(self.hosts, [self._running_tasks(job)])
            self._set_preempted([*self.away, job])
        self._offer_preemptions()

    def _running_tasks(self, job: int) -> IntArray:
        """Return the running tasks of a job."""
        snapshot = self.snapshot
        return np.flatnonzero((snapshot.task_job == job) & (snapshot.state == RUNNING))

    def _set_preempted(self, jobs: list[int]) -> None:
        self.away = self._features.gave_way = jobs

    def _settle_round(self) -> None:
        """Return preempted jobs to their places if these are free, the highest priority first; pause the others."""
        order = sorted(self.away, key=lambda job: (-self._of_jobs[job], job))
        self._pausing = settle(self.hosts, map(self._running_tasks, order))
        self._goes_on = goes_on(self.snapshot, self._pausing)
        self._set_preempted([])

    # -- LEAVE --------------------------------------------------------------------------------------------------------

    def _offer_relief(self) -> None:
        """Offer the next tasks that may leave; without any, continue with the queue."""
        while True:
            choice: Choice | None = self._crowd.choice() if self._crowd is not None else None
            if choice is not None:
                self.kind, self._tasks = LEAVE, self._first_tasks(choice.tasks)
                return
            if not self._crowded:
                self._sort_queue()
                return
            self._crowd = Crowd(self.hosts, self._crowded.pop(0))

    def _first_tasks(self, tasks: IntArray) -> IntArray:
        """Return the first of the tasks that may leave, the lowest priority first."""
        order = np.lexsort((tasks, self.priority[tasks]))
        return np.asarray(tasks[order][: self._most or None])

    def _offer_leaving(self, row: int) -> None:
        assert self._crowd is not None
        if row == 0:
            self._crowd = None
        else:
            task = int(self._tasks[row - 1])
            self.leaving.append(task)
            self._crowd.go(task)
        self._offer_relief()

    # -- NEXT ---------------------------------------------------------------------------------------------------------

    def _sort_queue(self) -> None:
        """Build the queue of the waiting tasks and those that left."""
        hosts = self.hosts
        # From here on a host only needs room; overloaded nodes are determined by the limits kept here.
        hosts.most = np.full_like(hosts.most, np.inf)
        hosts.gpu_most = int(hosts.gpu_use.max(initial=0) + hosts.load.max(initial=0) + 1)
        for task in self.leaving:
            if hosts.may_pause[task]:
                hosts.lift(task)
        moving = self.leaving if self.snapshot.movement == "anytime" else []
        self._goes_on = goes_on(
            self.snapshot, [task for job in self.away for task in self._running_tasks(job).tolist()]
        )
        self._queue = Queue(hosts, self._waiting, moving, self.priority)
        self._units = np.arange(len(self._queue.size))
        self._asked = Asked(self._queue) if self._units.size else None
        self._heads = self._queue.heads()
        self._offer_units()

    def _offer_units(self) -> None:
        """Offer the units that may have room, or end the round."""
        if self._units.size and self._asked is not None:
            self._units = self._asked.may_fit(self._units)
        if not self._units.size:
            self._end_round()
            return
        self.kind, self._tasks = (NEXT, np.asarray(self._heads[self._units[: self._most or None]]))

    def _set_choice(self, row: int) -> None:
        if row == 0:
            if self.away:
                self._settle_round()
                self._offer_units()
            else:
                self._end_round()
            return
        self._unit = int(self._units[row - 1])
        self._units = np.delete(self._units, row - 1)
        self._todo = self._queue.tasks_of(self._unit)
        self._done = []
        self._next_task()

    def _end_round(self) -> None:
        self.kind = None
        if self.away:
            self._settle_round()
        if not self.placed and self._waiting.size and not self._goes_on:
            self.placed = self._queue.place(stop_at_first=True)

    # -- HOST ---------------------------------------------------------------------------------------------------------

    def _next_task(self) -> None:
        """Offer the nodes for the unit's next task; without any, the unit waits."""
        if not self._todo:
            self.placed += [task for task, _ in self._done]
            self._offer_units()
            return
        task, hosts = self._todo[0], self.hosts
        self._was = hosts.lift(task) if hosts.holds(task) else None
        self._nodes = np.flatnonzero(self._open_nodes(task))[: self._most or None]
        self.kind, self._tasks = HOST, np.array([task])
        if not self._nodes.size:
            self._leave_waiting(task)

    def _open_nodes(self, task: int) -> npt.NDArray[np.bool_]:
        """Return the nodes with room for the task that are not overloaded, shape (nodes,).

        The task also needs room on a GPU that is not overloaded.
        """
        hosts = self.hosts
        may = hosts.fits(task)
        if self.snapshot.duration[task]:
            may &= (hosts.use <= self._limit).all(axis=1) | (hosts.count == 0)
            if hosts.need[task] and may.any():
                light = (hosts.gpu_use <= self._gpu_limit) | (hosts.gpu_count == 0)
                may &= (hosts.gpu_fits(task) & light).any(axis=1)
        return np.asarray(may)

    def _put_on_node(self, node: int) -> None:
        task, hosts = self._todo.pop(0), self.hosts
        self._done.append((task, int(hosts.place[task])))
        hosts.put(task, node, hosts.gpus_for(task, node))
        self._next_task()

    def _leave_waiting(self, task: int) -> None:
        """Let the unit wait, with all that need at least as much; a running task stays on its node."""
        hosts = self.hosts
        if self._was is not None:
            hosts.put(task, *self._was)
        for other, before in reversed(self._done):
            hosts.take_back(other, before)
        if self._asked is not None and self._units.size:
            self._units = self._units[~self._asked.as_hopeless(self._unit, self._units)]
        self._offer_units()


def chosen(allocation: Allocation, choose: Any) -> Round:
    """Return the round made by `choose(allocation) -> row`, which is called only if there is a choice."""
    allocation.take_forced()
    while allocation.kind is not None:
        allocation.take(choose(allocation))
        allocation.take_forced()
    return allocation.round()
