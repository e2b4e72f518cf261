"""Graphene (Grandl et al., OSDI 2016): troublesome tasks first, found offline, followed online with packing.

Offline, every job known gets the best order of its tasks (`_troublesome`). Online (Section 5), the task and node of
the highest score start, again and again:

    score = priority x packing x locality - eta x remaining work of the job

priority: (0, 1], 1 for the first in the job's order; packing: dot product of demand and free room, as shares of the
largest node; locality: 1 where all that the task needs is on the node already, else `remote`; eta: mean of the first
term over mean remaining work, as Tetris has it.

What is simpler, or other:

- Offline, the cluster is one machine of its summed capacity: that tasks must fit single nodes is not seen there.
- Troublesome are long tasks and tasks with a large dominant share. The paper's second score is of a stage: its work
  over the time that a greedy packer needs for it.
- T is placed forwards only; the paper tries both directions for T and for O and keeps the more compact schedule.
- One iteration is planned, and iterations repeat its order.
- A gang starts whole when one of its tasks scores highest, on nodes chosen as by the other rules.
- Left out online: the bound on unfairness (deficit counters), the overbooking of resources that may be (network, disk),
  and the wait for locality. What runs is not interrupted, as in the paper.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.params import within
from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._measures import per_job, remaining_ticks, shares
from mlsched.heuristics.taskgraph._place import Placer
from mlsched.heuristics.taskgraph._troublesome import ranks
from mlsched.instances.taskgraph import Round, Snapshot

Floats = npt.NDArray[np.float64]


@answerer("graphene", problem="taskgraph", asks="decision", paper="Grandl et al., OSDI 2016, Sections 4 and 5")
def answer(
    snapshot: Snapshot, *, rng: np.random.Generator, remote: float = 0.8, srpt: float = 1.0, stop: str = "most"
) -> Round:
    """Start what scores highest. remote: factor where data must be fetched; srpt: factor on eta. stop: as for fifo."""
    within("remote", remote, 0, 1)
    within("srpt", srpt, 0)
    placer = Placer(snapshot, stop)
    tasks = np.flatnonzero(placer.open)
    if not tasks.size:
        return placer.round()
    priority = priorities(snapshot)[tasks]
    left = per_job(snapshot, remaining_ticks(snapshot, placer.stop_after) * shares(snapshot))[snapshot.task_job[tasks]]
    largest = np.maximum(snapshot.node_capacity.max(axis=0), 1)
    demand = snapshot.demand[tasks] / largest
    near = np.where(_local(snapshot, tasks), 1.0, remote)
    eta = None
    allowed = np.array([snapshot.nodes_of(task) for task in tasks.tolist()])
    while True:
        open_ = allowed & placer.open[tasks, None] & _fits(placer, tasks)
        if not open_.any():
            return placer.round()
        gain = priority[:, None] * (demand @ np.maximum(placer.free / largest, 0).T) * near
        if eta is None:
            eta = srpt * float(gain[open_].mean()) / max(float(left[open_.any(axis=1)].mean()), 1e-9)
        score = np.where(open_, gain - eta * left[:, None], -np.inf)
        row, node = np.unravel_index(int(score.argmax()), score.shape)
        job = snapshot.task_job[tasks[row]]
        if not snapshot.gang[job]:
            placer.put(int(tasks[row]), int(node))
        elif not placer.start(int(tasks[row])):
            allowed[snapshot.task_job[tasks] == job] = False


def priorities(snapshot: Snapshot) -> Floats:
    """For each task, 1 for the first of its job's order, falling evenly."""
    capacity = tuple(snapshot.node_capacity.sum(axis=0).tolist())
    found = np.zeros(len(snapshot.task_job))
    inside = snapshot.edge_lag == 0
    for job in range(len(snapshot.arrival)):
        tasks = np.flatnonzero(snapshot.task_job == job)
        own = inside & (snapshot.task_job[snapshot.edge_from] == job)
        edges = zip(
            (snapshot.edge_from[own] - tasks[0]).tolist(), (snapshot.edge_to[own] - tasks[0]).tolist(), strict=True
        )
        order = ranks(
            tuple(snapshot.duration[tasks].tolist()),
            tuple(map(tuple, snapshot.demand[tasks].tolist())),
            tuple(edges),
            capacity,
        )
        found[tasks] = 1 - np.array(order) / len(tasks)
    return found


def _fits(placer: Placer, tasks: IntArray) -> npt.NDArray[np.bool_]:
    snapshot = placer.snapshot
    room = (snapshot.demand[tasks, None, :] <= placer.free).all(axis=2)
    if placer.gpus:
        room &= np.array([placer.gpus.room(task) for task in tasks.tolist()]).reshape(room.shape)
    return np.asarray(room | (snapshot.duration[tasks] == 0)[:, None])


def _local(snapshot: Snapshot, tasks: IntArray) -> npt.NDArray[np.bool_]:
    """tasks x nodes: whether everything that the task needs is on the node already."""
    here = np.arange(len(snapshot.node_capacity))
    found = np.ones((len(snapshot.task_job), len(here)), dtype=np.bool_)
    source = np.where(snapshot.edge_lag == 0, snapshot.node[snapshot.edge_from], snapshot.home[snapshot.edge_from])
    needs = np.flatnonzero(source >= 0)
    np.logical_and.at(found, snapshot.edge_to[needs], source[needs, None] == here)
    return found[tasks]
