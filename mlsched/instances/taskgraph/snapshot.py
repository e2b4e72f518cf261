"""The task-graph problem asked for a decision: what is observed of a running cluster now.

A snapshot holds observations only. It knows the jobs that have arrived and are not finished; durations are estimates.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mlsched.core import contract
from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, IntArray, array, integer, ints, labels, refuse_first, text
from mlsched.instances.taskgraph import checks, snapshot_judge
from mlsched.instances.taskgraph.instance import FULL_ACCURACY
from mlsched.instances.taskgraph.round import Round
from mlsched.instances.taskgraph.states import DONE, PAUSED, RUNNING, WAITING

Pairs = Iterable[tuple[int, int]]
Flags = npt.NDArray[np.bool_]

#: What a snapshot shares with a residual instance, under the same names and rules.
SHARED = (
    "resources",
    "node_capacity",
    "arrival",
    "deadline",
    "urgency",
    "required",
    "min_iterations",
    "max_iterations",
    "task_job",
    "duration",
    "demand",
    "parameters",
    "edge_from",
    "edge_to",
    "edge_lag",
    "edge_volume",
    "edge_delay",
    "accuracy_at",
    "tick_ms",
    "now",
    "finished",
    "on_time",
    "home",
    "last_end",
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Snapshot(contract.Instance):
    """What a scheduler sees of a cluster of training jobs at time `now`.

    Jobs, tasks, edges and nodes mean what they mean in `Instance`; which nodes may run a task is said by class, and
    accuracy by table: past a table's last column, the accuracy stays what that column holds. Every job is in one
    iteration: its tasks of the next begin when all of this one are done. A task waits, runs, is paused or is done in it
    (`state` 0 to 3).

    `duration` is an estimate: the maker's until the task has once run to its end, how long that took from then on.
    What a rule may do beyond starting is data: `pausing` ("none"; "keep": a paused run goes on later with the work it
    has done; "restart": it loses it) and `movement` ("none", "between_iterations", or "anytime": runs may migrate; a
    move inside a run keeps its work and costs the delay and the volume of the task's edge of lag 1 to itself, if any).
    `physics`: what a start begins - "tasks": one run of the task, which may begin when its sources of lag 0 are done;
    "iterations": the task holds its node until its job ends or it pauses, and iteration follows iteration while all
    tasks of the job do; so sources of lag 0 need not be done, no task is ever done, and a task runs while it is held.
    """

    kind: ClassVar[str] = "taskgraph.snapshot"
    version: ClassVar[int] = 2
    problem: ClassVar[str] = "taskgraph"
    asks: ClassVar[contract.Question] = "decision"
    plan_type: ClassVar[type[contract.Plan]] = Round
    objectives: ClassVar[tuple[Objective, ...]] = ()

    resources: tuple[str, ...] = labels("resources", doc="names of the resources")
    node_capacity: IntArray = array("nodes", "resources", high=UNLIMITED, doc="capacity of each node")
    in_use: IntArray = array("nodes", "resources", doc="what is in use of it now")
    now: int = integer(high=UNLIMITED, doc="the time, ticks")
    job_id: IntArray = array("jobs", high=UNLIMITED, doc="name of each job, the same in every snapshot of a run")
    arrival: IntArray = array("jobs", high=UNLIMITED, doc="arrival of each job, ticks")
    deadline: IntArray = array("jobs", high=UNLIMITED, doc="deadline of each job, ticks; UNLIMITED for none")
    urgency: IntArray = array("jobs", high=1000, doc="urgency of each job, larger is more urgent")
    required: IntArray = array("jobs", high=FULL_ACCURACY, doc="required accuracy, ppm")
    min_iterations: IntArray = array("jobs", high=10**6, doc="least iterations")
    max_iterations: IntArray = array("jobs", low=1, high=10**6, doc="most iterations")
    stop_after: IntArray = array("jobs", low=1, high=10**6, doc="iterations after which the job stops, as told so far")
    accuracy: IntArray = array("tables", "accuracies", high=FULL_ACCURACY, doc="ppm after 0, 1, ... iterations")
    accuracy_table: IntArray = array("jobs", high=UNLIMITED, doc="row of `accuracy` that is each job's estimated table")
    accuracy_seen: IntArray = array("jobs", high=FULL_ACCURACY, doc="ppm after the last finished iteration")
    finished: IntArray = array("jobs", high=10**6, doc="iterations finished")
    on_time: IntArray = array("jobs", high=10**6, doc="of these, those that ended by the deadline")
    service: IntArray = array("jobs", "resources", doc="attained service: demand x ticks held, of each resource")
    executed: IntArray = array("jobs", high=UNLIMITED, doc="ticks in which some task of the job ran")
    idle_since: IntArray = array("jobs", high=UNLIMITED, doc="since when no task of the job runs; now where one does")
    first_start: IntArray = array("jobs", low=-1, high=UNLIMITED, doc="when the job's first run began, -1: not yet")
    preemptions: IntArray = array("jobs", high=UNLIMITED, doc="how often runs of the job were paused")
    task_job: IntArray = array("tasks", high=UNLIMITED, doc="job of each task, non-decreasing")
    duration: IntArray = array("tasks", high=UNLIMITED, doc="ticks that one run takes, estimated")
    demand: IntArray = array("tasks", "resources", high=UNLIMITED, doc="demand while it runs")
    task_class: IntArray = array(
        "tasks", high=UNLIMITED, doc="class of each task: those of one may run on the same nodes"
    )
    eligible: IntArray = array("classes", "nodes", high=1, doc="1: the node may run the tasks of the class")
    parameters: IntArray = array("tasks", doc="model parameters that the task holds")
    state: IntArray = array("tasks", high=3, doc="in the current iteration: 0 waits, 1 runs, 2 is paused, 3 is done")
    node: IntArray = array("tasks", low=-1, high=UNLIMITED, doc="where that run is or was last, -1: waits")
    start: IntArray = array("tasks", high=UNLIMITED, doc="when it last started or resumed, ticks; 0: waits")
    end: IntArray = array("tasks", high=UNLIMITED, doc="when it ended, ticks; 0: is not done")
    progress: IntArray = array("tasks", high=UNLIMITED, doc="ticks of its work done before it last started or resumed")
    home: IntArray = array("tasks", low=-1, high=UNLIMITED, doc="node of the last finished iteration's run, -1: none")
    last_end: IntArray = array("tasks", high=UNLIMITED, doc="end of that run, ticks; 0: none")
    edge_from: IntArray = array("edges", high=UNLIMITED, doc="task that sends")
    edge_to: IntArray = array("edges", high=UNLIMITED, doc="task that receives")
    edge_lag: IntArray = array("edges", high=1, doc="0: in the same iteration; 1: in the next")
    edge_volume: IntArray = array("edges", doc="traffic in each iteration, if between nodes")
    edge_delay: IntArray = array("edges", high=UNLIMITED, doc="ticks that the transfer takes, if between nodes")
    movement: str = text(choices=("none", "between_iterations", "anytime"), default="none", doc="may tasks change node")
    pausing: str = text(choices=("none", "keep", "restart"), default="none", doc="may runs be paused, and their work")
    accuracy_at: str = text(choices=("deadline", "final"), default="deadline", doc="which accuracy counts")
    gang: IntArray = array("jobs", high=1, fill=0, doc="1: the job's tasks start in one round, and pause in one round")
    physics: str = text(choices=("tasks", "iterations"), default="tasks", doc="what a start begins")
    tick_ms: int = integer(high=UNLIMITED, default=0, doc="length of a tick in milliseconds; 0: not stated")

    def check(self) -> None:
        checks.jobs(self)
        checks.tasks(self)
        checks.edges(self)
        checks.past(self)
        checks.rising("accuracy", self.accuracy)
        for name, rows, what in (("task_class", self.eligible, "classes"), ("accuracy_table", self.accuracy, "tables")):
            refuse_first(
                getattr(self, name) >= len(rows), name, getattr(self, name), f"must be below {len(rows)} ({what})"
            )
        if len(self.arrival) and not self.accuracy.shape[1]:
            raise InvalidInput("accuracy: has no column; must have at least one")
        refuse_first(self.finished >= self.stop_after, "finished", self.finished, "must be below stop_after")
        refuse_first(
            self.stop_after > self.max_iterations, "stop_after", self.stop_after, "must not exceed max_iterations"
        )
        refuse_first(self.arrival > self.now, "arrival", self.arrival, f"must not be after now ({self.now})")
        if len(np.unique(self.job_id)) != len(self.job_id):
            raise InvalidInput("job_id: names a job twice")
        nodes, waits = len(self.node_capacity), self.state == WAITING
        refuse_first(self.node >= nodes, "node", self.node, f"must be below {nodes} (the number of nodes)")
        refuse_first((self.node < 0) != waits, "node", self.node, "must be -1 exactly for the tasks that wait")
        for name, allowed in (("start", ~waits), ("end", self.state == DONE), ("progress", ~waits)):
            values = getattr(self, name)
            refuse_first((values != 0) & ~allowed, name, values, "must be 0 for a task in this state")
            if name != "progress":
                refuse_first(values > self.now, name, values, f"must not be after now ({self.now})")
        if self.pausing == "none":
            refuse_first(self.state == PAUSED, "state", self.state, "must not be 2 (paused) where pausing is 'none'")
        running = np.flatnonzero((self.state == RUNNING) & (self.duration > 0))
        held = np.zeros(self.node_capacity.shape, dtype=np.int64)
        np.add.at(held, self.node[running], self.demand[running])
        refuse_first(self.in_use < held, "in_use", self.in_use, "must not be below what the running tasks hold")

    def violations(self, plan: object) -> list[str]:
        """What is wrong with `plan`, a sentence each; empty when it is feasible."""
        return snapshot_judge.violations(self, plan)

    def evaluate(self, plan: Round) -> dict[str, int]:
        """Nothing: a single round has no objective of its own."""
        return {}

    def round(
        self, start: Pairs = (), pause: Iterable[int] = (), migrate: Pairs = (), stop: Pairs = (), wake_at: int = 0
    ) -> Round:
        """A Round of (task, node), task, (task, node) and (job, iterations)."""
        columns: dict[str, Any] = {"pause_task": ints(pause), "wake_at": wake_at}
        for pairs, names in (
            (start, ("start_task", "start_node")),
            (migrate, ("migrate_task", "migrate_node")),
            (stop, ("stop_job", "stop_after")),
        ):
            table = list(pairs)
            columns |= {name: ints([row[side] for row in table]) for side, name in enumerate(names)}
        return Round(**columns)

    @property
    def free(self) -> IntArray:
        """nodes x resources: what is not in use; below 0 on an overloaded node."""
        return np.asarray(self.node_capacity - self.in_use)

    @functools.cached_property
    def startable(self) -> Flags:
        """tasks: whether the task could start or resume now, were there room where it may go (`nodes_of`)."""
        may = (self.state == WAITING) | (self.state == PAUSED)
        u, v, same = self.edge_from, self.edge_to, self.edge_lag == 0
        if self.physics == "tasks":
            may[v[same & (self.state[u] != DONE)]] = False
        return np.asarray(may)

    @functools.cached_property
    def bound(self) -> IntArray:
        """tasks: the node on which `movement` holds the task, -1 where there is none."""
        if self.movement == "none":
            return np.asarray(np.where(self.home >= 0, self.home, self.node))
        if self.movement == "between_iterations":
            return np.asarray(np.where(self.state == PAUSED, self.node, -1))
        return np.full(len(self.task_job), -1)

    @functools.cached_property
    def fetching(self) -> dict[int, list[int]]:
        """Task -> the nodes from which what it needs is still on its way to all others."""
        u, v, same = self.edge_from, self.edge_to, self.edge_lag == 0
        source = np.where(same, self.node[u], self.home[u])
        arrives = np.where(same, self.end[u], self.last_end[u]) + self.edge_delay
        if self.physics == "iterations":
            source = np.where(same, -1, source)
        found: dict[int, list[int]] = {}
        for e in np.flatnonzero((source >= 0) & (arrives > self.now)).tolist():
            found.setdefault(int(v[e]), []).append(int(source[e]))
        return found

    def nodes_of(self, task: int) -> Flags:
        """nodes: whether a startable task could start there now, were there room."""
        may = self.eligible[self.task_class[task]] == 1
        held = [int(self.bound[task])] * int(self.bound[task] >= 0)
        for node in held + self.fetching.get(task, []):
            may &= np.arange(len(may)) == node
        return np.asarray(may)

    def accuracy_after(self, iterations: IntArray) -> IntArray:
        """jobs: the estimated accuracy after so many iterations, ppm; past a table's last column, what that holds."""
        column = np.minimum(iterations, self.accuracy.shape[1] - 1)
        return np.asarray(self.accuracy[self.accuracy_table, column])
