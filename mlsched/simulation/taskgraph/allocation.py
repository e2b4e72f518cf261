"""A round of a cluster of training jobs as a sequence of choices: MLFS' action {(task, node or queue)} (Section 3.4).

The paper does not say how one network says where any number of tasks go. Here the action is made one choice after the
other, each among rows of one table (`allocation_features`), so that one scoring function serves them all:

STOP, where it is asked for: which job ends as early as it may; row 0: no more. MLF-RL leaves that to MLF-C.
GIVE, where every iteration queues anew and something waits: which running job gives way; row 0: nobody else.
LEAVE: from each overloaded node, as long as it is, which task joins the queue; row 0: no more from this node.
NEXT: which unit of the queue gets its places now; row 0: none, all others wait.
HOST: to which underloaded node the next task of that unit goes, where it takes the least used GPU. Row 0 is refused.

A unit is what starts together (`heuristics/taskgraph/_mlf_queue`): a gang, by iterations a job, else a task; a task
that left its node is a unit of its own. A unit one of whose tasks finds no underloaded node with room waits. What left
and finds no place pauses where that loses no work, else it stays where it is, as in MLF-H (3.3.3).

What gives way is off its nodes until "none" is next, or nothing else fits: then, in order of MLF-H's priority, each job
whose place is untaken goes on there, the others pause, and NEXT goes on with what still waits (`queueing=iteration`, as
in `heuristics/taskgraph/_mlf_compete`).

Underloaded (3.3.2): no resource is used beyond `h_r`; so that the choice is the policy's, whether the task overloads
the node is not asked, other than in MLF-H. Nothing may be the choice only while something makes progress: a run must
not get stuck. Should no unit find places then, MLF-H's fallback starts the first task that fits.
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
    """The round of one snapshot under way. `kind`: of the choice that is due, None when there is none left.

    stop_after: jobs, iterations after which each stops. h_r: the share of a resource from which on a node is
    overloaded. migration: False leaves overloaded nodes alone. stopping: whether jobs may be stopped earlier than that.
    most: so many jobs, tasks, units or nodes a choice has at most, the first in MLF-H's order; 0: all. queueing:
    "held", a job holds its nodes to the end; "iteration", what runs may give way, and rows have more columns
    (`FEATURES_OF`).
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
        self.away: list[int] = []  # jobs that gave way and have not come back
        self.kind: int | None = None
        self._tasks = np.zeros(0, dtype=np.int64)  # of the rows from 1 on; of HOST the one task
        self._nodes = np.zeros(0, dtype=np.int64)  # of HOST's rows from 1 on
        self._crowded: list[int] = []  # nodes that are overloaded
        self._crowd: Crowd | None = None
        self._goes_on = False
        self._units = np.zeros(0, dtype=np.int64)  # that are still in the queue
        self._todo: list[int] = []
        self._done: list[tuple[int, int]] = []  # tasks of the unit under way that have a place, and where they were
        self._was: tuple[int, list[int]] | None = None  # where the task that is to be placed runs
        self._runners: list[int] = []  # running jobs that may still be chosen to give way
        self._pausing: list[int] = []  # tasks of those that do not
        self._stop()

    @functools.cached_property
    def priority(self) -> npt.NDArray[np.float64]:
        """tasks: MLF-H's priority (Eq. 6), with the paper's constants."""
        return priorities(self.snapshot, self._stop_after, Weights())

    @functools.cached_property
    def _features(self) -> Features:
        return Features(self.hosts, self._stop_after, self.priority, self._limit, self._gpu_limit, self._anew)

    # -- the choice that is due ---------------------------------------------------------------------------------------

    def rows(self) -> Floats:
        """(1 + choices) x columns (`FEATURES_OF`), in [-1, 1]: row 0 is the choice of nothing."""
        return self._features.rows(self.kind, self._tasks, self._nodes, self._void, len(self.placed))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Rows: which may be chosen."""
        mask = np.ones(self.choices + 1, dtype=np.bool_)
        mask[0] = self._void
        return mask

    @property
    def choices(self) -> int:
        """How many rows there are besides row 0."""
        return len(self._nodes) if self.kind == HOST else len(self._tasks)

    @property
    def _void(self) -> bool:
        if self.kind == NEXT:
            return bool(self.placed) or self._goes_on or bool(self.away)
        return self.kind in (STOP, GIVE, LEAVE)

    @property
    def only(self) -> int | None:
        """The row that must be chosen, where there is one alone."""
        if self._void or self.choices > 1:
            return None
        return 1

    def take_forced(self) -> None:
        """Take the rows that must be chosen, up to the next choice or the end of the round."""
        while self.kind is not None and (row := self.only) is not None:
            self.take(row)

    def take(self, row: int) -> None:
        """Choose a row."""
        if self.kind == STOP:
            self._end_job(row)
        elif self.kind == GIVE:
            self._give_way(row)
        elif self.kind == LEAVE:
            self._leave(row)
        elif self.kind == NEXT:
            self._choose(row)
        else:
            self._put(int(self._nodes[row - 1]))

    def offered(self) -> tuple[IntArray, IntArray]:
        """What the rows from 1 on are: tasks (of a job or unit, its first) and nodes (-1: none is named)."""
        if self.kind == HOST:
            return np.repeat(self._tasks, len(self._nodes)), self._nodes
        return self._tasks, np.full(len(self._tasks), -1)

    def round(self) -> Round:
        """The round of what was chosen."""
        return made_round(self.hosts, self.placed, self.leaving + self._pausing, self._stop_after)

    # -- STOP ---------------------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        """The choice of a job that ends early; when there is none, relief, if there is anything left to do."""
        jobs = np.flatnonzero(self._low < self._stop_after)
        if jobs.size:
            self.kind = STOP
            self._tasks = np.searchsorted(self.snapshot.task_job, jobs[: self._most or None])
            return
        self._decide()

    def _end_job(self, row: int) -> None:
        if row == 0:
            self._decide()
            return
        job = int(self.snapshot.task_job[self._tasks[row - 1]])
        self._stop_after = self._stop_after.copy()
        self._stop_after[job] = self._low[job]
        self._stop()

    def _decide(self) -> None:
        """What runs and waits is placed, now that it is known how long each job runs."""
        for name in ("priority", "_of_jobs", "_features"):
            self.__dict__.pop(name, None)
        snapshot = self.snapshot
        self._waiting = np.flatnonzero(snapshot.startable & (self._stop_after > snapshot.finished)[snapshot.task_job])
        self.kind = None
        if self._anew and snapshot.simulator == "iterations" and self._waiting.size:
            refuse_unless_pausing(snapshot, "queueing = iteration", "queueing=held")
            running = np.unique(snapshot.task_job[snapshot.state == RUNNING])
            self._runners = running[np.lexsort((running, self._of_jobs[running]))].tolist()
        self._ask_who_gives_way()

    # -- GIVE ---------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _of_jobs(self) -> npt.NDArray[np.float64]:
        """jobs: the highest priority of any of their tasks."""
        highest = np.full(len(self.snapshot.arrival), -np.inf)
        np.maximum.at(highest, self.snapshot.task_job, self.priority)
        return highest

    def _ask_who_gives_way(self) -> None:
        """The choice of another running job, the lowest priority first; when there is none, relief."""
        if self._runners:
            self.kind = GIVE
            self._tasks = np.searchsorted(self.snapshot.task_job, self._runners[: self._most or None])
            return
        hosts = self.hosts
        over = hosts.overloaded() if self._migration and hosts.may_leave.any() else np.zeros(0, dtype=np.bool_)
        self._crowded = np.flatnonzero(over).tolist()
        self.kind = None
        if self._crowded or self._waiting.size:
            self._relieve()

    def _give_way(self, row: int) -> None:
        if row == 0:
            self._runners = []
        else:
            job = self._runners.pop(row - 1)
            lift(self.hosts, [self._running(job)])
            self._now_away([*self.away, job])
        self._ask_who_gives_way()

    def _running(self, job: int) -> IntArray:
        """The running tasks of a job."""
        snapshot = self.snapshot
        return np.flatnonzero((snapshot.task_job == job) & (snapshot.state == RUNNING))

    def _now_away(self, jobs: list[int]) -> None:
        self.away = self._features.gave_way = jobs

    def _settle(self) -> None:
        """What gave way goes on where its place is untaken, the highest priority first; the others pause."""
        order = sorted(self.away, key=lambda job: (-self._of_jobs[job], job))
        self._pausing = settle(self.hosts, map(self._running, order))
        self._goes_on = goes_on(self.snapshot, self._pausing)
        self._now_away([])

    # -- LEAVE --------------------------------------------------------------------------------------------------------

    def _relieve(self) -> None:
        """The next choice of a task that leaves; when there is none, the queue."""
        while True:
            choice: Choice | None = self._crowd.choice() if self._crowd is not None else None
            if choice is not None:
                self.kind, self._tasks = LEAVE, self._first(choice.tasks)
                return
            if not self._crowded:
                self._line_up()
                return
            self._crowd = Crowd(self.hosts, self._crowded.pop(0))

    def _first(self, tasks: IntArray) -> IntArray:
        """The first of the tasks that may leave, the lowest priority first."""
        order = np.lexsort((tasks, self.priority[tasks]))
        return np.asarray(tasks[order][: self._most or None])

    def _leave(self, row: int) -> None:
        assert self._crowd is not None
        if row == 0:
            self._crowd = None
        else:
            task = int(self._tasks[row - 1])
            self.leaving.append(task)
            self._crowd.go(task)
        self._relieve()

    # -- NEXT ---------------------------------------------------------------------------------------------------------

    def _line_up(self) -> None:
        """The queue of what waits and what left."""
        hosts = self.hosts
        # From here on a host needs room alone; which nodes are overloaded is held against the limits kept here.
        hosts.most = np.full_like(hosts.most, np.inf)
        hosts.gpu_most = int(hosts.gpu_use.max(initial=0) + hosts.load.max(initial=0) + 1)
        for task in self.leaving:
            if hosts.may_pause[task]:
                hosts.lift(task)
        moving = self.leaving if self.snapshot.movement == "anytime" else []
        self._goes_on = goes_on(self.snapshot, [task for job in self.away for task in self._running(job).tolist()])
        self._queue = Queue(hosts, self._waiting, moving, self.priority)
        self._units = np.arange(len(self._queue.size))
        self._asked = Asked(self._queue) if self._units.size else None
        self._heads = self._queue.heads()
        self._offer()

    def _offer(self) -> None:
        """The units that may find room, or the end of the round."""
        if self._units.size and self._asked is not None:
            self._units = self._asked.may_fit(self._units)
        if not self._units.size:
            self._end()
            return
        self.kind, self._tasks = (NEXT, np.asarray(self._heads[self._units[: self._most or None]]))

    def _choose(self, row: int) -> None:
        if row == 0:
            if self.away:
                self._settle()
                self._offer()
            else:
                self._end()
            return
        self._unit = int(self._units[row - 1])
        self._units = np.delete(self._units, row - 1)
        self._todo = self._queue.tasks_of(self._unit)
        self._done = []
        self._next_task()

    def _end(self) -> None:
        self.kind = None
        if self.away:
            self._settle()
        if not self.placed and self._waiting.size and not self._goes_on:
            self.placed = self._queue.place(stop_at_first=True)

    # -- HOST ---------------------------------------------------------------------------------------------------------

    def _next_task(self) -> None:
        """The choice of a node for the unit's next task; when there is none, the unit waits."""
        if not self._todo:
            self.placed += [task for task, _ in self._done]
            self._offer()
            return
        task, hosts = self._todo[0], self.hosts
        self._was = hosts.lift(task) if hosts.holds(task) else None
        self._nodes = np.flatnonzero(self._open(task))[: self._most or None]
        self.kind, self._tasks = HOST, np.array([task])
        if not self._nodes.size:
            self._give_up(task)

    def _open(self, task: int) -> npt.NDArray[np.bool_]:
        """nodes: those that are not overloaded and have room for the task, also on a GPU that is not overloaded."""
        hosts = self.hosts
        may = hosts.fits(task)
        if self.snapshot.duration[task]:
            may &= (hosts.use <= self._limit).all(axis=1) | (hosts.count == 0)
            if hosts.need[task] and may.any():
                light = (hosts.gpu_use <= self._gpu_limit) | (hosts.gpu_count == 0)
                may &= (hosts.gpu_fits(task) & light).any(axis=1)
        return np.asarray(may)

    def _put(self, node: int) -> None:
        task, hosts = self._todo.pop(0), self.hosts
        self._done.append((task, int(hosts.place[task])))
        hosts.put(task, node, hosts.gpus_for(task, node))
        self._next_task()

    def _give_up(self, task: int) -> None:
        """The unit waits, and so do those that ask for no less; a task that runs is where it was."""
        hosts = self.hosts
        if self._was is not None:
            hosts.put(task, *self._was)
        for other, before in reversed(self._done):
            hosts.take_back(other, before)
        if self._asked is not None and self._units.size:
            self._units = self._units[~self._asked.as_hopeless(self._unit, self._units)]
        self._offer()


def chosen(allocation: Allocation, choose: Any) -> Round:
    """The round that `choose(allocation) -> row` makes; it is asked where there is a choice."""
    allocation.take_forced()
    while allocation.kind is not None:
        allocation.take(choose(allocation))
        allocation.take_forced()
    return allocation.round()
