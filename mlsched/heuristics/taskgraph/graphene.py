"""Graphene (Grandl et al., OSDI 2016): troublesome tasks first, found offline, followed online with packing.

Offline, every known job gets the best order of its tasks (`_troublesome`). Online (Section 5), the task of the
highest score starts, repeatedly:

    score = priority x packing x locality - eta x remaining work of the job

priority: (0, 1], 1 for the first in the job's order; packing: dot product of demand and free room, as shares of the
largest node; locality: 1 if all of the task's inputs are on the node, else `remote`; packing x locality is the
maximum over the nodes; eta: mean of the first term over mean remaining work, as in Tetris.

Simplifications and differences:

- The score picks the task, and the list rules (`_place.Placer.start`) its node. In the paper machines request tasks,
  which use the free capacity there for one run. Here tasks mostly stay on the node of their first run: the emptiest
  node at the moment, which packing prefers, often has the most work bound to it.
- Offline, the cluster is one machine of its summed capacity: it ignores that tasks must fit single nodes.
- Troublesome are long tasks and tasks with a large dominant share. The paper's second score is of a stage: its work
  over the time that a greedy packer needs for it.
- One iteration is planned, and iterations repeat its order.
- A gang starts as a unit when one of its tasks scores highest.
- Left out online: the bound on unfairness (deficit counters), the overbooking of resources that allow it (network,
  disk), and the wait for locality. Running tasks are not interrupted, as in the paper.
- In the paper a task is one run. If a training job occupies its nodes for all of its iterations (`simulator`
  "iterations"), `queueing = iteration` lets each iteration's tasks compete again, as tasks of the paper's graphs do.
  All jobs are then ordered by their best score, with packing counted on empty nodes. By the engine of preemptive
  rules (`_preemption`), earlier jobs take the places of later jobs.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import NotNegative, Share
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._troublesome import ranks
from mlsched.heuristics.taskgraph.measures import per_job, remaining_ticks, shares
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import QUEUEING, refuse_unless_pausing, serve, world_of_queueing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: Location of all of a task's inputs: a node, everywhere (without inputs), or several nodes.
EVERYWHERE, NOWHERE = -1, -2


@solver(
    "graphene",
    problem="taskgraph",
    called="online",
    world=world_of_queueing,
    paper="Grandl et al., OSDI 2016, Sections 4 and 5",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    remote: Share = 0.8,
    srpt: NotNegative = 1.0,
    queueing: Annotated[str, QUEUEING] = "held",
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Start the tasks with the highest score.

    remote: factor if data must be fetched; srpt: factor on eta. queueing: "held" - running tasks are not interrupted;
    "iteration" - by iterations, running tasks compete with waiting tasks. stop, nodes: as for fifo.
    """
    placer = Placer(snapshot, stop, nodes)
    if queueing == "iteration" and snapshot.simulator == "iterations":
        refuse_unless_pausing(snapshot, "graphene: queueing = iteration", "queueing=held")
        return placer.round(serve(placer, -_best_scores(placer, remote, srpt)))
    tasks = np.flatnonzero(placer.open)
    tasks = tasks[placer.may_fit(tasks)]
    packing = _Packing(placer, tasks)
    priority = priorities(snapshot)
    remaining = per_job(snapshot, remaining_ticks(snapshot, placer.stop_after) * shares(snapshot))[snapshot.task_job]
    near, eta = _nodes_with_inputs(snapshot), None
    while tasks.size:
        gain = priority[tasks] * packing.best(tasks, near[tasks], remote)
        tasks, gain = tasks[gain >= 0], gain[gain >= 0]
        if not tasks.size:
            break
        if eta is None:
            eta = srpt * float(gain.mean()) / max(float(remaining[tasks].mean()), 1e-9)
        task = int(tasks[(gain - eta * remaining[tasks]).argmax()])
        before = len(placer.starts)
        if placer.start(task):
            packing.changed(sorted({node for _, node in placer.starts[before:]}))
            tasks = tasks[placer.open[tasks]]
        else:
            tasks = tasks[(tasks != task) & ~placer.as_hopeless(task, tasks)]
    return placer.round()


def _best_scores(placer: Placer, remote: float, srpt: float) -> FloatArray:
    """Return each job's best score of a running or startable task, as if all nodes were empty; -inf without any.

    Args:
        placer: Tasks and nodes.
        remote: Factor on the score of a task whose inputs are on several nodes.
        srpt: Weight of the job's remaining work.
    """
    snapshot = placer.snapshot
    tasks = np.flatnonzero(placer.open | (snapshot.state == RUNNING))
    largest = np.maximum(snapshot.node_capacity.max(axis=0, initial=1), 1)
    room = snapshot.node_capacity / largest
    packing = ((placer.held[tasks] / largest) @ room.T).max(axis=1, initial=0.0)
    locality = np.where(_nodes_with_inputs(snapshot)[tasks] == NOWHERE, remote, 1.0)
    gain = priorities(snapshot)[tasks] * packing * locality
    remaining = per_job(snapshot, remaining_ticks(snapshot, placer.stop_after) * shares(snapshot))[
        snapshot.task_job[tasks]
    ]
    best = np.full(len(snapshot.arrival), -np.inf)
    if tasks.size:
        eta = srpt * float(gain.mean()) / max(float(remaining.mean()), 1e-9)
        np.maximum.at(best, snapshot.task_job[tasks], gain - eta * remaining)
    return best


class _Packing:
    """Packing of tasks on nodes, counted for each kind of task: those of a class with the same demand."""

    def __init__(self, placer: Placer, tasks: IntArray) -> None:
        snapshot, self._placer = placer.snapshot, placer
        self._bound, self._largest = snapshot.bound, np.maximum(snapshot.node_capacity.max(axis=0, initial=1), 1)
        rows = np.column_stack([snapshot.task_class[tasks], placer.held[tasks]])
        kinds, of = np.unique(rows, axis=0, return_inverse=True)
        self._kind = np.zeros(len(snapshot.task_job), dtype=np.int64)
        self._kind[tasks] = of.reshape(-1)
        self._held, self._may = kinds[:, 1:], snapshot.eligible[kinds[:, 0]] == 1
        self._of = np.zeros(self._may.shape)  # kinds x nodes; -1 without room there
        self.changed(list(range(len(placer.free))))

    def changed(self, nodes: list[int]) -> None:
        """Update the free capacity of these nodes."""
        free = self._placer.free[nodes]
        room = self._may[:, nodes] & (self._held[:, None, :] <= np.maximum(free, 0)).all(axis=2)
        self._of[:, nodes] = np.where(room, (self._held / self._largest) @ np.maximum(free / self._largest, 0).T, -1.0)
        self._most = self._of.max(axis=1, initial=-1.0)

    def best(self, tasks: IntArray, near: IntArray, remote: float) -> FloatArray:
        """Return for each task the largest packing x locality over its nodes; below 0 without a node."""
        kind, bound = self._kind[tasks], self._bound[tasks]
        there = np.where(bound >= 0, self._of[kind, bound], self._most[kind])
        local = np.where(bound >= 0, near == bound, False) | (near == EVERYWHERE)
        result = np.where(local | (there < 0), there, remote * there)
        at_home = (bound < 0) & (near >= 0)
        return np.asarray(np.where(at_home, np.maximum(result, self._of[kind, near]), result))


def priorities(snapshot: Snapshot) -> FloatArray:
    """Return for each task its priority: 1 for the first of its job's order, falling evenly."""
    capacity = snapshot.node_capacity.sum(axis=0)
    jobs = np.arange(len(snapshot.arrival))
    first = np.searchsorted(snapshot.task_job, jobs)
    count = np.bincount(snapshot.task_job, minlength=len(jobs))
    result = 1 - (np.arange(len(snapshot.task_job)) - first[snapshot.task_job]) / count[snapshot.task_job]
    inside = np.flatnonzero(snapshot.edge_lag == 0)
    inside = inside[np.argsort(snapshot.task_job[snapshot.edge_from[inside]], kind="stable")]
    owner = snapshot.task_job[snapshot.edge_from[inside]]
    # Without edges, and with room for all tasks at once, all start at once: their order is that of their numbers.
    together = np.zeros((len(jobs), len(capacity)), dtype=np.int64)
    np.add.at(together, snapshot.task_job, snapshot.demand)
    has_edges = np.bincount(owner, minlength=len(jobs)) > 0
    for job in np.flatnonzero(has_edges | (together > capacity).any(axis=1)).tolist():
        tasks = slice(first[job], first[job] + count[job])
        own = inside[slice(*np.searchsorted(owner, (job, job + 1)))]
        ends = (snapshot.edge_from[own] - first[job], snapshot.edge_to[own] - first[job])
        order = ranks(
            tuple(snapshot.duration[tasks].tolist()),
            tuple(map(tuple, snapshot.demand[tasks].tolist())),
            tuple(zip(*(end.tolist() for end in ends), strict=True)),
            tuple(capacity.tolist()),
        )
        result[tasks] = 1 - np.array(order) / count[job]
    return np.asarray(result)


def _nodes_with_inputs(snapshot: Snapshot) -> IntArray:
    """Return for each task the node with all of its inputs, or EVERYWHERE or NOWHERE."""
    source = np.where(snapshot.edge_lag == 0, snapshot.node[snapshot.edge_from], snapshot.home[snapshot.edge_from])
    needs = np.flatnonzero(source >= 0)
    low = np.full(len(snapshot.task_job), len(snapshot.node_capacity))
    high = np.full(len(snapshot.task_job), EVERYWHERE)
    np.minimum.at(low, snapshot.edge_to[needs], source[needs])
    np.maximum.at(high, snapshot.edge_to[needs], source[needs])
    return np.asarray(np.where((high >= 0) & (low != high), NOWHERE, high))
