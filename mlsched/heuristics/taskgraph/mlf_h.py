"""MLF-H, the heuristic of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 3.3) for machine learning jobs.

It combines priorities for machine learning jobs, hosts by likeness to an ideal host, and relief of overloaded nodes.
A round first computes priorities of all tasks (Eq. 2-6, `_mlf_priority`). The tasks most like an ideal virtual task
leave overloaded nodes and GPUs (`_mlf_relief`). These and the waiting tasks are placed by priority. Each goes to the
node most like an ideal virtual host, and its least used GPU (`_mlf_hosts`). A running task stays if its old place is
best. A task without a place pauses if that loses no work, else it stays.

Interpretations of points that the paper leaves open:

- Terms of Eq. 4 are times over a scale (`scale`), at least a tick each; urgency counts as a share of the highest
  urgency.
- A parameter server has the highest priority of its job, not of all jobs.
- The threshold h_r counts use, not reservations. It ignores the total of a node's GPUs: it counts the use of each GPU
  that tasks share. A node without running tasks takes any task that fits, however large.
- If a start only occupies a node until all tasks of the job have started, a job's tasks start together
  (`_mlf_queue`).
- A job queues once, and occupies its nodes to the end (`queueing=held`); or it queues again in every iteration, and
  jobs of higher priority preempt running jobs (`iteration`, see `_mlf_compete`). The paper allows both readings. If
  tasks run one by one (simulator "tasks"), each iteration's tasks queue in any case, and both are the same.
- Eq. 6 orders tasks, and a job starts with all of them. Its place in the queue is that of its first task, or with
  `queueing=last-task` that of its last, as if its first tasks waited on their nodes for the last.
- After a deadline, Eq. 4's term is infinite, then below 0; `overdue` replaces it.
- If the cluster is idle and all tasks exceed h_r, the first task that fits starts anyway, to avoid a deadlock.
- A gang's task, and by iterations any task, moves or stays. It never pauses by itself, which would stop its job. The
  expected use of a paused task is its demand.
- Replicas against stragglers are left out: the world cannot run a task twice. The paper leaves them for later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import NotNegative, Positive, Share
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._mlf_hosts import CHOICES, Hosts
from mlsched.heuristics.taskgraph._mlf_priority import LEVELS, OVERDUE, Weights, priorities
from mlsched.heuristics.taskgraph._mlf_queue import Queue
from mlsched.heuristics.taskgraph._mlf_relief import relieved
from mlsched.heuristics.taskgraph.measures import remaining_ticks, share_units, stops_after, sum_per_job
from mlsched.heuristics.taskgraph.mlf_compete import Competition, lift, settle
from mlsched.heuristics.taskgraph.preemption import QUEUEING, refuse_unless_pausing, world_of_queueing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: How often a job queues; "last-task": in every iteration, at the place of its task of lowest priority.
TASK_QUEUEING = (*QUEUEING, "last-task")
#: Order of the tasks: Eq. 6, or, for comparisons, as in other rules.
ORDERS = ("priority", "arrival", "remaining")


def world(params: Data) -> Data:
    """Return the simulator's options for MLF-H: tasks may move, and may pause without losing work.

    A user's own options take precedence.
    """
    if params.get("migration", True):
        return {"movement": "anytime", "pausing": "keep"}
    return world_of_queueing(params)


@dataclasses.dataclass(frozen=True)
class Settings(ValidatedFields):
    """The parameters of MLF-H.

    alpha, gamma, gamma_d, gamma_r, gamma_w, h_r, p_s: Section 4.1's values. scale: ticks per unit of time in Eq. 4;
    0: the mean running time of a task. urgency, deadline, bandwidth, migration: False leaves that feature out
    (Figures 6 to 8). queueing: "held", "iteration" or "last-task" (the module's docstring). overdue: the deadline's
    term of an overdue task: "tick", as if the deadline were the next tick; "printed", below 0; "none".

    For comparisons, a part at a time: order: "priority", or the tasks of jobs by "arrival" or by least "remaining"
    work; hosts: "ideal", or as list rules choose them, "least-work" or "best-fit"; threshold: False ignores the use
    of nodes and GPUs in placement.
    """

    alpha: Share = 0.3
    gamma: Share = 0.8
    gamma_d: NotNegative = 0.3
    gamma_r: NotNegative = 0.3
    gamma_w: NotNegative = 0.35
    h_r: Positive = 0.9
    p_s: Share = 0.1
    scale: NotNegative = 0.0
    urgency: bool = True
    deadline: bool = True
    bandwidth: bool = True
    migration: bool = True
    queueing: Annotated[str, TASK_QUEUEING] = "held"
    overdue: Annotated[str, OVERDUE] = "tick"
    order: Annotated[str, ORDERS] = "priority"
    hosts: Annotated[str, CHOICES] = "ideal"
    threshold: bool = True

    @property
    def last(self) -> bool:
        """Return whether a job's place in the queue is that of its task of lowest priority."""
        return self.queueing == "last-task"

    @property
    def weights(self) -> Weights:
        """Return the weights of Equations 2 to 6."""
        near, levels = self.gamma_d if self.deadline else 0.0, LEVELS if self.urgency else 0
        return Weights(self.alpha, self.gamma, near, self.gamma_r, self.gamma_w, levels, self.scale, self.overdue)


@solver("mlf-h", problem="taskgraph", called="online", world=world, paper="MLFS, Section 3.3")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, given: Settings, stop: str = "most") -> Round:
    """Start and move tasks by priority; place them by the ideal virtual host, relieve nodes by the ideal virtual task.

    given: `Settings`. stop: as for fifo.
    """
    stop_after = stops_after(snapshot, stop)
    competition = competing(snapshot, stop, given)
    placed, leaving, hosts = decided(snapshot, stop_after, given, competition)
    return made_round(hosts, placed, leaving, stop_after)


def competing(snapshot: Snapshot, stop: str, given: Settings) -> Competition | None:
    """Return the result of the competition between running and waiting jobs, or None without either."""
    stop_after = stops_after(snapshot, stop)
    if (
        given.queueing == "held"
        or snapshot.simulator != "iterations"
        or not _startable_tasks(snapshot, stop_after).size
    ):
        return None
    refuse_unless_pausing(snapshot, f"queueing = {given.queueing}", "queueing=held")
    return Competition(snapshot, stop, ordered(snapshot, stop_after, given), given.last)


def ordered(snapshot: Snapshot, stop_after: IntArray, given: Settings) -> FloatArray:
    """Return the sort key of the tasks, the highest first: Eq. 6, or its replacement for a comparison."""
    if given.order == "priority":
        return priorities(snapshot, stop_after, given.weights)
    if given.order == "arrival":
        rank = np.empty(len(snapshot.arrival))
        rank[np.lexsort((snapshot.job_id, snapshot.arrival))] = np.arange(len(rank))
        return np.asarray(-rank[snapshot.task_job])
    remaining = sum_per_job(snapshot, remaining_ticks(snapshot, stop_after) * share_units(snapshot))
    return np.asarray(-remaining[snapshot.task_job].astype(np.float64))


def decided(
    snapshot: Snapshot, stop_after: IntArray, given: Settings, competition: Competition | None = None
) -> tuple[list[int], list[int], Hosts]:
    """Return the placed tasks, in order, the tasks that were to leave their nodes, in order, and the hosts."""
    hosts = Hosts(snapshot, given.h_r, remaining_ticks(snapshot, stop_after), given.bandwidth, given.hosts)
    waiting = _startable_tasks(snapshot, stop_after)
    if competition is not None:
        lift(hosts, competition.pausing)
    crowded = given.migration and bool(hosts.may_leave.any() and hosts.overloaded().any())
    if not waiting.size and not crowded:
        return [], [], hosts
    priority = ordered(snapshot, stop_after, given) if competition is None else competition.priority
    leaving = relieved(hosts, priority, given.p_s, given.bandwidth) if crowded else []
    for task in leaving:
        if hosts.may_pause[task]:
            hosts.lift(task)
    if not given.threshold:
        hosts.without_limit()
    moving, pausing = leaving if snapshot.movement == "anytime" else [], list[int]()
    starting = waiting if competition is None else competition.starting
    placed = Queue(hosts, starting, moving, priority, given.last).place()
    if competition is not None:
        pausing = settle(hosts, competition.pausing)
        leaving = leaving + pausing
        waiting = np.setdiff1d(waiting, placed)
        placed += Queue(hosts, waiting, [], priority, given.last).place()
    if placed or not waiting.size or goes_on(snapshot, pausing):
        return placed, leaving, hosts
    hosts.without_limit()  # the threshold would leave the cluster idle
    return Queue(hosts, waiting, moving, priority, given.last).place(stop_at_first=True), leaving, hosts


def _startable_tasks(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """Return the tasks that could start with enough room."""
    return np.flatnonzero(snapshot.startable & (stop_after > snapshot.finished)[snapshot.task_job])


def goes_on(snapshot: Snapshot, pausing: Sequence[int] = ()) -> bool:
    """Return if a running job makes progress: by iterations, if all of its tasks occupy their nodes.

    pausing: tasks that do not.
    """
    runs = snapshot.state == RUNNING
    runs[list(pausing)] = False
    if snapshot.simulator == "iterations" and runs.any():
        runs = np.bincount(snapshot.task_job, weights=~runs) == 0
    return bool(runs.any())


def made_round(hosts: Hosts, placed: list[int], leaving: list[int], stop_after: IntArray) -> Round:
    """Return the round: tasks put on a new place start or move; tasks that were lifted and not put pause."""
    snapshot = hosts.snapshot
    starts, moves = list[tuple[int, int, int]](), list[tuple[int, int, int]]()
    for task in placed:
        node, gpus = hosts.held[task]
        if snapshot.state[task] != RUNNING:
            starts.append((task, node, gpus[0] if len(gpus) == 1 else -1))
        elif (node, gpus) != hosts.where(task):
            moves.append((task, node, gpus[0] if len(gpus) == 1 else -1))
    pauses = [task for task in leaving if not hosts.holds(task)]
    changed = np.flatnonzero(stop_after != snapshot.stop_after)
    return snapshot.round(starts, pauses, moves, [(int(j), int(stop_after[j])) for j in changed])
