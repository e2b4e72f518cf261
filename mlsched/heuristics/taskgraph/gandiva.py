"""Gandiva (Xiao et al., OSDI 2018): jobs that ask for as many GPUs go to the same nodes; overloaded ones are relieved.

As the evaluation of MLFS uses it: jobs start in order of arrival. Affinity jobs are those that ask for as many GPUs in
all. A task goes to the node of least load among those where only affinity jobs run; if none has room, among the empty
ones; then among all others; else it waits. Where runs may move, a GPU that is used above `overload` of what it has is
relieved: of what runs on it, the task of least use moves to the GPU used least that has room for it and is not
overloaded thereby. Where the GPUs of a node are one pool, nodes take the place of GPUs.

What is simpler, or other:

- Load is the share of its GPUs that a node's tasks use, as observed, not what they asked for; of a task that has just
  been placed in this round, what it asks for.
- Gandiva packs jobs on a GPU beyond what it has and takes that back when they slow each other down; here what is
  reserved never exceeds a GPU, and jobs share one where they ask for fractions, on the fullest one of the node with
  room (`_place.Placer`).
- It takes turns on GPUs by suspending jobs: of that the evaluation of MLFS says nothing, and with `turn` it is done.
  Where more wait than fit, jobs then run round robin, each for a `turn` (Gandiva: about a minute) on GPUs that another
  gave up. Gandiva suspends and resumes within a second; where a pause costs more, a turn is as much longer as keeps the
  share `lost` of it, since turns of a minute at 30 s a pause would do half of the work.
- It profiles jobs before it packs them, and grows jobs on idle GPUs; the evaluation of MLFS mentions neither.
- Of a node without a resource that counts GPUs, the resource of which it is short counts.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import NotNegative, Positive
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._turns import LOST, Lost, in_turns, runs
from mlsched.heuristics.taskgraph.measures import Flags, by_job, per_job
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
    """Start tasks by arrival beside their like, and move the least user of an overloaded GPU.

    overload: the share of a GPU (or of a node's GPUs) above which it is to be relieved; by default, more than there is,
    so that a GPU that is busy with one task is not. turn: seconds of one, 0: what runs is not suspended; lost: the
    share of a turn that a pause may cost at most, else turns are longer. stop: as for fifo.
    """
    placer = Placer(snapshot, stop)
    placer.choose = _Affinity(placer).choose
    if turn:
        refuse_unless_pausing(snapshot, "gandiva: turn", "leave turn out")
        waits_since = np.where(runs(snapshot), snapshot.now, snapshot.idle_since)
        found = in_turns(placer, turn, lost, waits_since)
        if len(found.pause_task) or snapshot.movement != "anytime":
            return found
        return placer.round(moves=_relieved(placer, overload), wake_at=found.wake_at)
    placer.start_in_order(by_job(snapshot))
    moves = _relieved(placer, overload) if snapshot.movement == "anytime" else []
    return placer.round(moves=moves)


class _Affinity:
    """Where a task goes: beside its like, else to an empty node, else anywhere; the least loaded first."""

    def __init__(self, placer: Placer) -> None:
        snapshot, self._placer = placer.snapshot, placer
        counted = _counted(snapshot)
        self._share = placer.held[:, counted].astype(np.float64), np.maximum(snapshot.node_capacity[:, counted], 1)
        gpus = placer.held[:, max(gpu_column(snapshot.resources), 0)] if snapshot.resources else placer.held.sum(axis=1)
        self._asks = per_job(snapshot, gpus)[snapshot.task_job]  # of each task, what its job asks for
        self._most, self._least = (np.full(len(placer.free), end) for end in (-np.inf, np.inf))
        running = np.flatnonzero(snapshot.state == RUNNING)
        np.maximum.at(self._most, snapshot.node[running], self._asks[running])
        np.minimum.at(self._least, snapshot.node[running], self._asks[running])
        self._load = (snapshot.node_usage[:, counted] / self._share[1]).max(axis=1, initial=0.0)
        self._before, self._seen = (self._most, self._least, self._load), list[tuple[int, int]]()

    def choose(self, task: int, nodes: IntArray) -> int:
        """One of the nodes that could take the task."""
        held, capacity = self._share
        starts = self._placer.starts
        if not self._seen or starts[: len(self._seen)] != self._seen:  # a gang that found no room was taken back
            self._most, self._least, self._load = (one.copy() for one in self._before)
            self._seen = []
        for started, node in starts[len(self._seen) :]:
            self._most[node] = max(self._most[node], self._asks[started])
            self._least[node] = min(self._least[node], self._asks[started])
            self._load[node] += (held[started] / capacity[node]).max(initial=0.0)
        self._seen = list(starts)
        like = (self._most[nodes] == self._asks[task]) & (self._least[nodes] == self._asks[task])
        kind = np.where(like, 0, np.where(self._most[nodes] < 0, 1, 2))
        return int(nodes[np.lexsort((nodes, self._load[nodes], kind))[0]])


def _counted(snapshot: Snapshot) -> slice:
    """The columns of resources by which load is counted: the one of GPUs, or else all."""
    column = gpu_column(snapshot.resources)
    return slice(column, column + 1) if column >= 0 else slice(None)


def _relieved(placer: Placer, overload: float) -> list[tuple[int, int, int]]:
    """The least user of every overloaded GPU, or node, as (task, node, GPU): to the one used least that can take it.

    A device is a GPU where they are told apart, else a node.
    """
    snapshot, unit = placer.snapshot, placer.snapshot.gpu_unit
    counted, moves = _counted(snapshot), list[tuple[int, int, int]]()
    if unit and not placer.gpus:
        return moves  # nobody shares a GPU: whoever moves takes all of its use along
    runs = np.flatnonzero((snapshot.state == RUNNING) & (snapshot.duration > 0))
    if unit:
        runs = runs[snapshot.gpu[runs] >= 0]  # a task of several GPUs stays
        use = snapshot.gpu_usage[:, :, None].astype(np.float64)
        total = np.maximum(empty(snapshot)[:, :, None], 1)
        of, usage = snapshot.gpu, snapshot.usage[:, counted]
    else:
        use = snapshot.node_usage[:, None, counted].astype(np.float64)
        total = np.maximum(snapshot.node_capacity[:, None, counted], 1)
        of, usage = np.zeros(len(snapshot.task_job), dtype=np.int64), snapshot.usage[:, counted]
    load = (use / total).max(axis=2, initial=0.0)
    for node, device in zip(*(ends.tolist() for ends in np.nonzero(load > overload)), strict=True):
        here = runs[(snapshot.node[runs] == node) & (of[runs] == device)]
        if not here.size:
            continue
        task = int(here[(usage[here] / total[node, device]).max(axis=1, initial=0.0).argmin()])
        after = ((use + usage[task]) / total).max(axis=2, initial=0.0)
        able = (after <= overload) & _takes(placer, task, node)
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


def _takes(placer: Placer, task: int, node: int) -> Flags:
    """nodes x devices: which of them have room for a task that now runs on a node."""
    snapshot = placer.snapshot
    may = snapshot.may_start_on(task)
    room = may & (placer.free >= placer.held[task]).all(axis=1)
    room[node] = may[node] and snapshot.gpu_unit > 0  # on another GPU of its node it takes what it has
    if not placer.gpus:
        return np.asarray(room[:, None])
    return np.asarray(room[:, None] & (placer.gpus.free >= int(snapshot.gpu_demand[task])))
