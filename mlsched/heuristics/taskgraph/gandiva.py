"""Gandiva (Xiao et al., OSDI 2018): jobs with equal numbers of GPUs share nodes; overloaded nodes are relieved.

As the evaluation of MLFS uses it: jobs start in order of arrival. Affinity jobs have the same total number of GPUs. A
task goes to the node of least load among nodes with only affinity jobs; then among the empty nodes; then among all
others; else it waits. If runs may move, a GPU that is used above `overload` of its capacity is relieved. Of the tasks
on it, the task of least use moves to the least used GPU that has room for it and is not overloaded by it. If the GPUs
of a node are one pool, nodes take the place of GPUs.

Simplifications and differences:

- Load is the share of its GPUs that a node's tasks are observed to use, not their demand; for a task that was placed
  in this round, it is the demand.
- Gandiva packs more jobs on a GPU than fit and undoes that when they slow each other down. Here reservations never
  exceed a GPU, and jobs share a GPU if they demand fractions, on the fullest GPU of the node with room
  (`_place.Placer`).
- It takes turns on GPUs by suspending jobs. The evaluation of MLFS does not mention it; `turn` enables it. If more
  jobs wait than fit, they then run round robin, each for a `turn` (Gandiva: about a minute) on GPUs that another job
  released. Gandiva suspends and resumes within a second. If a pause costs more, a turn becomes longer, so that the
  share `lost` of it is not exceeded: turns of a minute at 30 s per pause would do half of the work.
- It profiles jobs before it packs them, and grows jobs on idle GPUs; the evaluation of MLFS mentions neither.
- For a node without a resource that counts GPUs, its scarcest resource counts.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.params import NotNegative, Positive
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._turns import LOST, Lost, in_turns, runs
from mlsched.heuristics.taskgraph.measures import by_job, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import refuse_unless_pausing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.gpus import empty, gpu_column
from mlsched.instances.taskgraph.states import RUNNING


@solver(
    "gandiva",
    problem="taskgraph",
    called="online",
    world=lambda params: {"movement": "anytime"} | ({"pausing": "keep"} if params["turn"] else {}),
    paper="Gandiva, OSDI 2018, Section 3, as in MLFS, Section 2",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    overload: Positive = 1.0,
    turn: NotNegative = 0.0,
    lost: Lost = LOST,
    stop: str = "most",
) -> Round:
    """Start tasks by arrival beside tasks of affinity jobs, and move the least user of an overloaded GPU.

    overload: the share of a GPU (or of a node's GPUs) above which it is to be relieved; by default, its capacity, so
    that a GPU that is busy with one task is not relieved. turn: seconds of a turn, 0: running tasks are not
    suspended; lost: the share of a turn that a pause may cost at most, else turns are longer. stop: as for fifo.
    """
    placer = Placer(snapshot, stop)
    placer.choose = _Affinity(placer).choose
    if turn:
        refuse_unless_pausing(snapshot, "gandiva: turn", "leave turn out")
        waits_since = np.where(runs(snapshot), snapshot.now, snapshot.idle_since)
        result = in_turns(placer, turn, lost, waits_since)
        if len(result.pause_task) or snapshot.movement != "anytime":
            return result
        return placer.round(moves=_relief_moves(placer, overload), wake_at=result.wake_at)
    placer.start_in_order(by_job(snapshot))
    moves = _relief_moves(placer, overload) if snapshot.movement == "anytime" else []
    return placer.round(moves=moves)


class _Affinity:
    """Node of a task: beside affinity jobs, else an empty node, else any node; the least loaded first."""

    def __init__(self, placer: Placer) -> None:
        snapshot, self._placer = placer.snapshot, placer
        columns = _load_columns(snapshot)
        self._share = placer.held[:, columns].astype(np.float64), np.maximum(snapshot.node_capacity[:, columns], 1)
        gpus = placer.held[:, max(gpu_column(snapshot.resources), 0)] if snapshot.resources else placer.held.sum(axis=1)
        self._asks = per_job(snapshot, gpus)[snapshot.task_job]  # GPUs of the job of each task
        self._most, self._least = (np.full(len(placer.free), end) for end in (-np.inf, np.inf))
        running = np.flatnonzero(snapshot.state == RUNNING)
        np.maximum.at(self._most, snapshot.node[running], self._asks[running])
        np.minimum.at(self._least, snapshot.node[running], self._asks[running])
        self._load = (snapshot.node_usage[:, columns] / self._share[1]).max(axis=1, initial=0.0)
        self._before, self._seen = (self._most, self._least, self._load), list[tuple[int, int]]()

    def choose(self, task: int, nodes: IntArray) -> int:
        """Choose one of the nodes that could take the task."""
        load, capacity = self._share
        starts = self._placer.starts
        if not self._seen or starts[: len(self._seen)] != self._seen:  # a gang that failed was taken back
            self._most, self._least, self._load = (one.copy() for one in self._before)
            self._seen = []
        for start_of, node in starts[len(self._seen) :]:
            self._most[node] = max(self._most[node], self._asks[start_of])
            self._least[node] = min(self._least[node], self._asks[start_of])
            self._load[node] += (load[start_of] / capacity[node]).max(initial=0.0)
        self._seen = list(starts)
        like = (self._most[nodes] == self._asks[task]) & (self._least[nodes] == self._asks[task])
        kind = np.where(like, 0, np.where(self._most[nodes] < 0, 1, 2))
        return int(nodes[np.lexsort((nodes, self._load[nodes], kind))[0]])


def _load_columns(snapshot: Snapshot) -> slice:
    """Return the columns of resources by which load is counted: the GPU column, or else all."""
    column = gpu_column(snapshot.resources)
    return slice(column, column + 1) if column >= 0 else slice(None)


def _relief_moves(placer: Placer, overload: float) -> list[tuple[int, int, int]]:
    """Return moves of the least user of every overloaded GPU, or node, to the least used that can take it.

    Each move is (task, node, GPU). A device is a GPU if GPUs are individual, else a node.
    """
    snapshot, unit = placer.snapshot, placer.snapshot.gpu_unit
    columns, moves = _load_columns(snapshot), list[tuple[int, int, int]]()
    if unit and not placer.gpus:
        return moves  # without shared GPUs, a moving task takes all of its use along
    runs = np.flatnonzero((snapshot.state == RUNNING) & (snapshot.duration > 0))
    if unit:
        runs = runs[snapshot.gpu[runs] >= 0]  # a task of several GPUs stays
        use = snapshot.gpu_usage[:, :, None].astype(np.float64)
        total = np.maximum(empty(snapshot)[:, :, None], 1)
        of, usage = snapshot.gpu, snapshot.usage[:, columns]
    else:
        use = snapshot.node_usage[:, None, columns].astype(np.float64)
        total = np.maximum(snapshot.node_capacity[:, None, columns], 1)
        of, usage = np.zeros(len(snapshot.task_job), dtype=np.int64), snapshot.usage[:, columns]
    load = (use / total).max(axis=2, initial=0.0)
    for node, device in zip(*(ends.tolist() for ends in np.nonzero(load > overload)), strict=True):
        here = runs[(snapshot.node[runs] == node) & (of[runs] == device)]
        if not here.size:
            continue
        task = int(here[(usage[here] / total[node, device]).max(axis=1, initial=0.0).argmin()])
        after = ((use + usage[task]) / total).max(axis=2, initial=0.0)
        able = (after <= overload) & _devices_with_room(placer, task, node)
        able[node, device] = False
        if not able.any():
            continue
        there = np.where(able, load, np.inf)
        to, gpu = (int(place) for place in np.unravel_index(int(there.argmin()), there.shape))
        use[node, device] -= usage[task]
        use[to, gpu] += usage[task]
        load = (use / total).max(axis=2, initial=0.0)
        placer.free[to] -= placer.held[task] * (to != node)
        if placer.gpus:
            placer.gpus.free[to, gpu] -= int(snapshot.gpu_demand[task])
        runs = runs[runs != task]
        moves.append((task, to, gpu if unit else -1))
    return moves


def _devices_with_room(placer: Placer, task: int, node: int) -> BoolArray:
    """Return the devices (nodes x devices) with room for a task that now runs on a node."""
    snapshot = placer.snapshot
    may = snapshot.may_start_on(task)
    room = may & (placer.free >= placer.held[task]).all(axis=1)
    room[node] = may[node] and snapshot.gpu_unit > 0  # on another GPU of its node it takes the same amount
    if not placer.gpus:
        return np.asarray(room[:, None])
    return np.asarray(room[:, None] & (placer.gpus.free >= int(snapshot.gpu_demand[task])))
