"""The task-graph problem as an online decision: the observations of a running cluster now.

A snapshot contains only observations: jobs that have arrived and are not finished; durations are estimates.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np

from mlsched.core import contract
from mlsched.core.contract import Objective
from mlsched.core.fields import UNLIMITED, ArraySpec, BoolArray, IntArray, array, integer, ints, text
from mlsched.core.record import drop_class_defaults, specs
from mlsched.instances.taskgraph import gpus, snapshot_checks, snapshot_judge
from mlsched.instances.taskgraph.columns import FULL_ACCURACY, Cluster, Graph, People, Terms, Types, Units
from mlsched.instances.taskgraph.round import Round
from mlsched.instances.taskgraph.states import DONE, PAUSED, RUNNING, WAITING

Pairs = Iterable[tuple[int, int]]
#: (task, node) or (task, node, GPU), for each task that goes somewhere.
Places = Iterable[Sequence[int]]

#: Fields of a snapshot and of a residual instance with the same names and rules.
SHARED = (
    *(name for group in (Cluster, Terms, Graph) for name in specs(group)),
    *("task_job", "duration", "tick_ms", "now", "finished", "on_time", "home", "last_end"),
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Snapshot(Types, People, Units, Graph, Terms, Cluster, contract.Instance):
    """The scheduler's view of a cluster of training jobs at time `now`.

    Jobs, tasks, edges and nodes are as in `Instance`. Eligible nodes are listed by class, accuracies by table. Past a
    table's last column, the accuracy stays constant. Every job is in one iteration: its tasks of the next begin when
    all of this one are done. A task waits, runs, is paused or is done in it (`state` 0 to 3).

    `duration` is an estimate: the maker's until the task has once run to its end, then the measured time of that run.
    Allowed actions besides starting are data. `pausing` is "none"; "keep": a paused run resumes later with its finished
    work; or "restart": it loses the work. `movement` is "none", "between_iterations", or "anytime": runs may migrate; a
    move inside a run keeps its work and costs the delay and the volume of the task's edge of lag 1 to itself, if any.
    `simulator` defines a start. "tasks": one run of the task, which may begin when its sources of lag 0 are done.
    "iterations": the task keeps its node until its job ends or it pauses, and iterations follow one another while all
    tasks of the job have nodes. In this case sources of lag 0 need not be done, tasks are never done, and a task with a
    node runs.

    The `usage` of a task is observed and may be more or less than its demand, which is reserved. If `gpu_unit` is
    given, the GPUs of a node are distinguished: a task has a fraction of one or complete GPUs. Nodes may be of several
    types (`node_type`); then the tasks of a gang are on nodes of one type at a time. Their speed there (`slowness`) is
    visible to solvers that declare `information="profiled"`; all others see durations as stated, and treat nodes alike.
    A job's options are those of MLFS, Section 3.5: 0 (i) runs its iterations, 1 (ii) stops when more no longer help
    (OptStop), 2 (iii) stops at its required accuracy.
    """

    kind: ClassVar[str] = "taskgraph.snapshot"
    problem: ClassVar[str] = "taskgraph"
    called: ClassVar[contract.Question] = "online"
    plan_type: ClassVar[type[contract.Plan]] = Round
    judge: ClassVar[ModuleType] = snapshot_judge
    objectives: ClassVar[tuple[Objective, ...]] = ()
    secrets: ClassVar[tuple[str, ...]] = ("slowness",)
    least_information: ClassVar[contract.Information] = "profiled"

    in_use: IntArray = array("nodes", "resources", doc="what is in use of it now")
    now: int = integer(high=UNLIMITED, doc="the time, ticks")
    job_id: IntArray = array("jobs", high=UNLIMITED, doc="name of each job, the same in every snapshot of a run")
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
    task_class: IntArray = array(
        "tasks", high=UNLIMITED, doc="class of each task: those of one may run on the same nodes"
    )
    eligible: IntArray = array("classes", "nodes", high=1, doc="1: the node may run the tasks of the class")
    state: IntArray = array("tasks", high=3, doc="in the current iteration: 0 waits, 1 runs, 2 is paused, 3 is done")
    node: IntArray = array("tasks", low=-1, high=UNLIMITED, doc="where that run is or was last, -1: waits")
    start: IntArray = array(
        "tasks", high=UNLIMITED, doc="when it last started or resumed, or began to work again, ticks; 0: waits"
    )
    end: IntArray = array("tasks", high=UNLIMITED, doc="when it ended, ticks; 0: is not done")
    progress: IntArray = array("tasks", high=UNLIMITED, doc="ticks of its work done before it last started or resumed")
    home: IntArray = array("tasks", low=-1, high=UNLIMITED, doc="node of the last finished iteration's run, -1: none")
    last_end: IntArray = array("tasks", high=UNLIMITED, doc="end of that run, ticks; 0: none")
    movement: str = text(choices=("none", "between_iterations", "anytime"), default="none", doc="may tasks change node")
    pausing: str = text(choices=("none", "keep", "restart"), default="none", doc="may runs be paused, and their work")
    gang: IntArray = array("jobs", high=1, fill=0, doc="1: the job's tasks start in one round, and pause in one round")
    simulator: str = text(choices=("tasks", "iterations"), default="tasks", doc="what a start begins")
    pause_cost: IntArray = array(
        "jobs", high=UNLIMITED, fill=0, doc="ticks without work when it goes on after a pause or a move"
    )
    sample_job: IntArray = array("samples", high=UNLIMITED, fill=-1, doc="job of each loss seen, non-decreasing")
    sample_iteration: IntArray = array("samples", high=10**6, fill=-1, doc="after how many iterations, rising in a job")
    sample_loss: IntArray = array("samples", high=UNLIMITED, fill=-1, doc="the loss, ppm of the untrained model's")
    waiting_since: IntArray = array(
        "tasks", high=UNLIMITED, fill=0, doc="since when it waits for room, else now; ticks"
    )
    usage: IntArray = array("tasks", "resources", fill=0, doc="what it uses now; 0 where it does not run")
    gpu: IntArray = array("tasks", low=-1, high=UNLIMITED, fill=-1, doc="GPU of a running task of one GPU or less")
    gpu_in_use: IntArray = array("nodes", "gpus", fill=0, doc="what is in use of each GPU of each node")
    gpu_holder: IntArray = array("nodes", "gpus", low=-1, high=UNLIMITED, fill=-1, doc="task that holds the whole GPU")

    def check(self) -> None:
        snapshot_checks.check(self)

    def shown(self, information: contract.Information) -> Self:
        """Return the visible part, see `contract.Instance`; with nodes of one type, everything is visible."""
        speeds = self.__dict__.get("slowness")  # None: hidden already
        if speeds is None or not speeds.size:
            return self
        return super().shown(information)

    def evaluate(self, plan: Round) -> dict[str, int]:
        """Return an empty dict: a single round has no objective of its own."""
        return {}

    def round(
        self, start: Places = (), pause: Iterable[int] = (), migrate: Places = (), stop: Pairs = (), wake_at: int = 0
    ) -> Round:
        """Build a Round of (task, node) or (task, node, GPU), task, the same as of start, and (job, iterations)."""
        columns: dict[str, Any] = {"pause_task": ints(pause), "wake_at": wake_at}
        for verb, places in (("start", start), ("migrate", migrate)):
            rows = [(*row, -1)[:3] for row in places]
            for side, name in enumerate(("task", "node", "gpu")):
                columns[f"{verb}_{name}"] = ints(row[side] for row in rows)
        stops = list(stop)
        columns |= {"stop_job": ints(j for j, _ in stops), "stop_after": ints(n for _, n in stops)}
        return Round(**columns)

    @property
    def free(self) -> IntArray:
        """Return the free resources, shape (nodes, resources); below 0 on an overloaded node."""
        return np.asarray(self.node_capacity - self.in_use)

    @property
    def gpu_free(self) -> IntArray:
        """Return the free part of each GPU, shape (nodes, GPUs); 0 for GPUs that a node lacks (see `gpus`)."""
        return np.asarray(gpus.empty(self) - self.gpu_in_use)

    @property
    def gpu_demand(self) -> IntArray:
        """Return the GPU demand of running tasks, shape (tasks,), if GPUs are distinguished; else 0."""
        if not self.gpu_unit:
            return np.zeros(len(self.task_job), dtype=np.int64)
        return np.asarray(self.demand[:, gpus.gpu_column(self.resources)] * (self.duration > 0))

    @property
    def node_usage(self) -> IntArray:
        """Return the use of resources by running tasks, shape (nodes, resources)."""
        usage = np.zeros(self.node_capacity.shape, dtype=np.int64)
        running = np.flatnonzero(self.state == RUNNING)
        np.add.at(usage, self.node[running], self.usage[running])
        return usage

    @property
    def gpu_usage(self) -> IntArray:
        """Return the use of each GPU by running tasks, shape (nodes, GPUs); a task uses its GPUs equally."""
        used = np.zeros(self.gpu_in_use.shape, dtype=np.int64)
        if not self.gpu_unit:
            return used
        usage = self.usage[:, gpus.gpu_column(self.resources)]
        task, node, gpu = self.gpus_held
        np.add.at(used, (node, gpu), usage[task] // np.bincount(task)[task])
        return used

    @property
    def gpus_held(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return (task, node, GPU) of every assignment: a running task's part of a GPU, or one of its complete GPUs."""
        node, gpu = np.nonzero(self.gpu_holder >= 0)
        whole = self.gpu_holder[node, gpu]
        parts = np.flatnonzero((self.state == RUNNING) & (self.gpu >= 0) & ~np.isin(np.arange(len(self.gpu)), whole))
        return (
            np.concatenate([parts, whole]),
            np.concatenate([self.node[parts], node]),
            np.concatenate([self.gpu[parts], gpu]),
        )

    @functools.cached_property
    def startable(self) -> BoolArray:
        """Return which tasks could start or resume now with enough room on their allowed nodes (`may_start_on`)."""
        may = (self.state == WAITING) | (self.state == PAUSED)
        if self.simulator == "tasks":
            same = self.edge_lag == 0
            may[self.edge_to[same & (self.state[self.edge_from] != DONE)]] = False
        return np.asarray(may)

    @functools.cached_property
    def bound(self) -> IntArray:
        """Return the node to which `movement` binds each task, -1 if free, shape (tasks,)."""
        if self.movement == "none":
            return np.asarray(np.where(self.home >= 0, self.home, self.node))
        if self.movement == "between_iterations":
            return np.asarray(np.where(self.state == PAUSED, self.node, -1))
        return np.full(len(self.task_job), -1)

    @functools.cached_property
    def fetching(self) -> dict[int, list[int]]:
        """Return task -> nodes from which its inputs are still on their way to all other nodes."""
        if not len(self.edge_from):
            return {}
        u, v, same = self.edge_from, self.edge_to, self.edge_lag == 0
        source = np.where(same, self.node[u], self.home[u])
        arrives = np.where(same, self.end[u], self.last_end[u]) + self.edge_delay
        if self.simulator == "iterations":
            source = np.where(same, -1, source)
        incoming: dict[int, list[int]] = {}
        for e in np.flatnonzero((source >= 0) & (arrives > self.now)).tolist():
            incoming.setdefault(int(v[e]), []).append(int(source[e]))
        return incoming

    def chains(self, ticks: IntArray) -> IntArray:
        """Return each task's longest chain from its start to the end of its iteration, in sums of `ticks`."""
        inside = self.edge_lag == 0
        u, v = self.edge_from[inside], self.edge_to[inside]
        longest = ticks.copy()
        while len(u):
            longer = ticks.copy()
            np.maximum.at(longer, u, ticks[u] + longest[v])
            if np.array_equal(longer, longest):
                break
            longest = longer
        return longest

    @functools.cached_property
    def tails(self) -> IntArray:
        """Return each task's longest chain of estimated durations to the end of its iteration, shape (tasks,)."""
        return self.chains(self.duration)

    def may_start_on(self, task: int) -> BoolArray:
        """Return one flag per node: True if a startable task may start there now, given room."""
        may = self.eligible[self.task_class[task]] == 1
        bound_nodes = [int(self.bound[task])] * int(self.bound[task] >= 0)
        for node in bound_nodes + self.fetching.get(task, []):
            may &= np.arange(len(may)) == node
        return np.asarray(may)

    def accuracy_after(self, iterations: IntArray) -> IntArray:
        """Estimate the accuracy of jobs after these iterations, ppm; constant past a table's last column."""
        column = np.minimum(iterations, self.accuracy.shape[1] - 1)
        return np.asarray(self.accuracy[self.accuracy_table, column])


# Hidden or unread columns would otherwise be found in the class.
drop_class_defaults(Snapshot, [name for name, spec in specs(Snapshot).items() if isinstance(spec, ArraySpec)])
