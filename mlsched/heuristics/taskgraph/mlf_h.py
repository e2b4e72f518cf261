"""MLF-H, the heuristic of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 3.3): priorities from what machine learning
jobs are like, hosts by likeness to an ideal one, and relief of overloaded nodes.

A round: priorities of all tasks (Eq. 2-6, `_mlf_priority`); from overloaded nodes and GPUs, tasks are taken that are
most like an ideal virtual task (`_mlf_relief`); these and the waiting tasks are gone through by priority, and each goes
to the node, and its least used GPU, that is most like an ideal virtual host (`_mlf_hosts`). A running task that finds
its old place best stays; one that finds none pauses where that loses no work, else it stays.

Interpretations, where the paper is silent:

- Terms of Eq. 4 are times over a scale (`scale`), at least a tick each; urgency counts as a share of the highest one.
- A parameter server has the highest priority of its job, not of all jobs.
- The threshold h_r counts use, not reservations, and not the GPUs of a node as a whole: of GPUs it counts the use of
  each that tasks share. A node that runs nothing takes any task that fits, however large.
- Where a start only holds a node until all tasks of the job do, a job's tasks start together (`_mlf_queue`).
- A job queues once, and holds its nodes to the end (`queueing=held`); or it queues anew in every iteration, and what
  runs gives way to what has a higher priority (`iteration`, see `_mlf_compete`). Both can be read in the paper. Where
  tasks are run one by one (simulator "tasks"), each iteration's tasks queue anyhow, and both are the same.
- Once a deadline has passed, Eq. 4's term is infinite, then below 0; `overdue` says what counts instead.
- When nothing runs and nothing could start below h_r, the first task that fits starts anyway, or nothing ever would.
- A gang's task, and by iterations any, moves or stays; it never pauses alone, which would stop its whole job. What a
  paused task will use is taken to be its demand.
- Replicas against stragglers are left out: the world has no way to run a task twice. The paper leaves them for later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import IntArray
from mlsched.core.params import NotNegative, Positive, Share
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._mlf_hosts import CHOICES, Hosts
from mlsched.heuristics.taskgraph._mlf_priority import LEVELS, OVERDUE, Floats, Weights, priorities
from mlsched.heuristics.taskgraph._mlf_queue import Queue
from mlsched.heuristics.taskgraph._mlf_relief import relieved
from mlsched.heuristics.taskgraph.measures import remaining_ticks, share_units, stops_after, sum_per_job
from mlsched.heuristics.taskgraph.mlf_compete import Competition, lift, settle
from mlsched.heuristics.taskgraph.preemption import QUEUEING, refuse_unless_pausing, world_of_queueing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: By what tasks are ordered: Eq. 6, or, to compare with it, as other rules do.
ORDERS = ("priority", "arrival", "remaining")


def world(params: dict[str, Any]) -> dict[str, Any]:
    """What relief and competition need of the world, unless the user says otherwise: tasks move, and pause without
    losing work.
    """
    if params.get("migration", True):
        return {"movement": "anytime", "pausing": "keep"}
    return world_of_queueing(params)


@dataclasses.dataclass(frozen=True)
class Settings(ValidatedFields):
    """The parameters of MLF-H.

    alpha, gamma, gamma_d, gamma_r, gamma_w, h_r, p_s: Section 4.1's values. scale: ticks
    that are one unit of time in Eq. 4; 0: the mean running time of a task. urgency, deadline, bandwidth, migration:
    False leaves that feature out (Figures 6 to 8). queueing: "held" or "iteration" (the module's docstring). overdue:
    the deadline's term of what is overdue: "tick", as if the deadline were the next tick; "printed", below 0; "none".
    For comparisons, a part at a time: order: "priority", or the tasks of jobs by "arrival" or by least "remaining"
    work; hosts: "ideal", or as list rules choose them, "least-work" or "best-fit"; threshold: False places tasks on
    nodes and GPUs however much these are used.
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
    queueing: Annotated[str, QUEUEING] = "held"
    overdue: Annotated[str, OVERDUE] = "tick"
    order: Annotated[str, ORDERS] = "priority"
    hosts: Annotated[str, CHOICES] = "ideal"
    threshold: bool = True

    @property
    def weights(self) -> Weights:
        """Those of Equations 2 to 6."""
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
    """Who is to run, where what runs queues as well and something waits; else None."""
    stop_after = stops_after(snapshot, stop)
    if given.queueing == "held" or snapshot.simulator != "iterations" or not _waiting(snapshot, stop_after).size:
        return None
    refuse_unless_pausing(snapshot, "queueing = iteration", "queueing=held")
    return Competition(snapshot, stop, ordered(snapshot, stop_after, given))


def ordered(snapshot: Snapshot, stop_after: IntArray, given: Settings) -> Floats:
    """tasks: by which they are ordered, the highest first: Eq. 6, or what stands in its place for a comparison."""
    if given.order == "priority":
        return priorities(snapshot, stop_after, given.weights)
    if given.order == "arrival":
        rank = np.empty(len(snapshot.arrival))
        rank[np.lexsort((snapshot.job_id, snapshot.arrival))] = np.arange(len(rank))
        return np.asarray(-rank[snapshot.task_job])
    left = sum_per_job(snapshot, remaining_ticks(snapshot, stop_after) * share_units(snapshot))
    return np.asarray(-left[snapshot.task_job].astype(np.float64))


def decided(
    snapshot: Snapshot, stop_after: IntArray, given: Settings, competition: Competition | None = None
) -> tuple[list[int], list[int], Hosts]:
    """The tasks that found a host, in order, those that were to leave their nodes, in order, and the hosts."""
    hosts = Hosts(snapshot, given.h_r, remaining_ticks(snapshot, stop_after), given.bandwidth, given.hosts)
    waiting = _waiting(snapshot, stop_after)
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
    placed = Queue(hosts, waiting if competition is None else competition.starting, moving, priority).place()
    if competition is not None:
        pausing = settle(hosts, competition.pausing)
        leaving = leaving + pausing
        waiting = np.setdiff1d(waiting, placed)
        placed += Queue(hosts, waiting, [], priority).place()
    if placed or not waiting.size or goes_on(snapshot, pausing):
        return placed, leaving, hosts
    hosts.without_limit()  # the threshold alone would leave the cluster idle: it does not count
    return Queue(hosts, waiting, moving, priority).place(stop_at_first=True), leaving, hosts


def _waiting(snapshot: Snapshot, stop_after: IntArray) -> IntArray:
    """The tasks that could start, were there room."""
    return np.flatnonzero(snapshot.startable & (stop_after > snapshot.finished)[snapshot.task_job])


def goes_on(snapshot: Snapshot, pausing: Sequence[int] = ()) -> bool:
    """Whether anything that ran makes progress: by iterations, a job all of whose tasks hold their nodes.

    pausing: tasks that do not.
    """
    runs = snapshot.state == RUNNING
    runs[list(pausing)] = False
    if snapshot.simulator == "iterations" and runs.any():
        runs = np.bincount(snapshot.task_job, weights=~runs) == 0
    return bool(runs.any())


def made_round(hosts: Hosts, placed: list[int], leaving: list[int], stop_after: IntArray) -> Round:
    """The round: what was put starts or moves, unless it is where it was; what was taken off and put nowhere pauses."""
    snapshot = hosts.snapshot
    starts, moves = list[tuple[int, int, int]](), list[tuple[int, int, int]]()
    for task in placed:
        node, taken = hosts.held[task]
        if snapshot.state[task] != RUNNING:
            starts.append((task, node, taken[0] if len(taken) == 1 else -1))
        elif (node, taken) != hosts.where(task):
            moves.append((task, node, taken[0] if len(taken) == 1 else -1))
    pauses = [task for task in leaving if not hosts.holds(task)]
    changed = np.flatnonzero(stop_after != snapshot.stop_after)
    return snapshot.round(starts, pauses, moves, [(int(j), int(stop_after[j])) for j in changed])
