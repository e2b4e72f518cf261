"""Device placement by reinforcement learning, the scheduler "RL" of the MLFS paper (CoNEXT 2020, Section 4.1).

Paper: Mirhoseini et al., "Device placement optimization with reinforcement learning", ICML 2017.

Jobs are taken in order of arrival, as soon as they fit. (The paper places one graph on its own devices, without a
queue.) The tasks of a job are groups of layers. They are visited in sequence, sources first. A network chooses the node
of each task, given the placements so far. Training is REINFORCE with reward minus the square root of the iteration time
under the placement, against a moving average (`mlsched train mirhoseini-rl`).

Simplifications: Features of each node describe the placements so far, instead of an LSTM with attention over the
sequence; one network thus serves any number of nodes. The network is trained once on many graphs with estimated times,
instead of once per graph with measured times. Estimates are the snapshot's durations and delays, without contention.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph._mlf_priority import SERVER
from mlsched.heuristics.taskgraph._mlf_queue import Asked, Queue
from mlsched.heuristics.taskgraph.measures import iteration_ticks, remaining_ticks, stops_after
from mlsched.heuristics.taskgraph.mlf_h import made_round
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.learned.net import Mlp, sample, scoring_network
from mlsched.learned.weights import of

Floats = npt.NDArray[np.float32]
#: `choose(rows) -> index`: which of the nodes hosts a task.
Choose = Callable[[Floats], int]

#: Columns of a row: of the task, then of the node.
COLUMNS = (
    "a run, of the longest path",
    "path to the end, of the longest",
    "parameters, of the job's",
    "volume, of the job's",
    "parameter server",
    "placed so far",
    "tasks, count",
    "GPU free there",
    "free there after, least",
    "its job's tasks there",
    "volume exchanged there, of its own",
    "the last task is there",
    "room there for what is left",
)
FEATURES = len(COLUMNS)


@solver("mirhoseini-rl", problem="taskgraph", called="online", paper="Mirhoseini et al., ICML 2017")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, weights: str = "", stop: str = "most") -> Round:
    """Start jobs in order of arrival; a trained network places the tasks of each, one after the other.

    Args:
        snapshot: Current state of the cluster.
        rng: Unused; the network's best choice is taken.
        weights: File that `mlsched train mirhoseini-rl` wrote; "" for the weights that come with mlsched.
        stop: As for fifo.
    """
    net = scoring_network(of("mirhoseini-rl", "taskgraph", weights), FEATURES)
    return place_jobs(snapshot, lambda rows: choose(net, rows, None), stop)


def choose(net: Mlp, rows: Floats, rng: np.random.Generator | None) -> int:
    """Return the row of the highest score, or with `rng` a row drawn from the softmax."""
    logits = net(rows)[:, 0]
    return int(logits.argmax() if rng is None else sample(logits, rng))


def place_jobs(
    snapshot: Snapshot, choose: Choose, stop: str = "most", done: Callable[[float | None], Any] | None = None
) -> Round:
    """Return the round in which `choose` picks the nodes.

    Args:
        snapshot: Current state of the cluster.
        choose: Returns the row of the chosen node.
        stop: As for fifo.
        done: Called for every unit tried: with its iteration time relative to one node, or None if it did not fit.
    """
    stop_after = stops_after(snapshot, stop)
    hosts = Hosts(snapshot, 1.0, remaining_ticks(snapshot, stop_after), bandwidth=True)
    hosts.most = np.full_like(hosts.most, np.inf)
    hosts.gpu_most = int(hosts.gpu_use.max(initial=0) + hosts.load.max(initial=0) + 1)
    waiting = np.flatnonzero(snapshot.startable & (stop_after > snapshot.finished)[snapshot.task_job])
    starts: list[int] = []
    if waiting.size:
        tail = snapshot.tails
        jobs = np.argsort(np.lexsort((snapshot.job_id, snapshot.arrival)))
        # The earliest job first; within a job the task with the longest remaining path, so sources precede successors.
        priority = -jobs[snapshot.task_job] + tail / (1.0 + tail.max(initial=0))
        queue = Queue(hosts, waiting, [], priority)
        graph = Graph(snapshot, tail)
        if queue.size.size:
            unit_filter = Asked(queue)
            units = unit_filter.may_fit(np.arange(len(queue.size)))
            while units.size:
                unit, units = int(units[0]), units[1:]
                tasks = queue.tasks_of(unit)
                if _place_tasks(hosts, graph, tasks, choose):
                    starts += tasks
                    if done is not None:
                        done(graph.relative_iteration_time(int(snapshot.task_job[tasks[0]]), hosts))
                    units = unit_filter.may_fit(units)
                else:
                    if done is not None:
                        done(None)
                    units = units[~unit_filter.as_hopeless(unit, units)]
    return made_round(hosts, starts, [], stop_after)


def _place_tasks(hosts: Hosts, graph: Graph, tasks: list[int], choose: Choose) -> bool:
    """Place all of these tasks, or none."""
    placements = list[tuple[int, int]]()
    for k, task in enumerate(tasks):
        nodes = np.flatnonzero(hosts.fits(task))
        if not nodes.size:
            for other, before in reversed(placements):
                hosts.take_back(other, before)
            return False
        last = int(hosts.place[placements[-1][0]]) if placements else -1
        node = int(nodes[0])
        if nodes.size > 1:
            node = int(nodes[choose(graph.features_of_nodes(task, nodes, hosts, k / len(tasks), len(tasks) - k, last))])
        placements.append((task, int(hosts.place[task])))
        hosts.put(task, node, hosts.gpus_for(task, node))
    return True


class Graph:
    """The features of a snapshot's tasks, and of nodes as their hosts."""

    def __init__(self, snapshot: Snapshot, tail: IntArray) -> None:
        self.snapshot, job, jobs = snapshot, snapshot.task_job, len(snapshot.arrival)
        longest = np.maximum(iteration_ticks(snapshot), 1)[job]
        of_edge = job[snapshot.edge_from]
        volume = np.bincount(snapshot.edge_from, snapshot.edge_volume, len(job))
        volume += np.bincount(snapshot.edge_to, snapshot.edge_volume, len(job))
        whole = np.bincount(of_edge, snapshot.edge_volume, jobs)
        parameters = np.bincount(job, snapshot.parameters, jobs)
        count = np.bincount(job, minlength=jobs)
        self._volume = np.maximum(volume, 1)
        self._fixed = np.stack(
            [
                snapshot.duration / longest,
                tail / longest,
                snapshot.parameters / np.maximum(parameters[job], 1),
                volume / np.maximum(2 * whole[job], 1),
                snapshot.role == SERVER,
                np.zeros(len(job)),
                np.log2(1 + count[job]) / 16,
            ],
            axis=1,
        )
        self._count = count

    def features_of_nodes(
        self, task: int, nodes: IntArray, hosts: Hosts, so_far: float, remaining: int, last: int
    ) -> Floats:
        """Compute the features of nodes as hosts of a task, shape (nodes, FEATURES), within [0, 1]."""
        snapshot = self.snapshot
        mine = self._fixed[task].copy()
        mine[5] = so_far
        free = hosts.free[nodes] / hosts.capacity[nodes]
        demand = hosts.demand[task]
        after = (hosts.free[nodes] - demand) / hosts.capacity[nodes]
        first, end = np.searchsorted(snapshot.task_job, (snapshot.task_job[task],) * 2 + np.array([0, 1])).tolist()
        mates = [hosts.place[t] for t in range(first, end) if hosts.holds(t)]
        there = np.bincount(np.array(mates, dtype=np.int64), minlength=len(hosts.count))[nodes]
        needs = demand > 0
        slots = (hosts.free[nodes][:, needs] // demand[needs]).min(axis=1, initial=remaining)
        columns = [
            free[:, hosts.column] if hosts.column >= 0 else np.ones(len(nodes)),
            after.min(axis=1, initial=1.0),
            there / max(int(self._count[snapshot.task_job[task]]), 1),
            hosts.volumes(task)[nodes] / self._volume[task],
            nodes == last,
            slots / remaining,
        ]
        rows = np.concatenate([np.tile(mine, (len(nodes), 1)), np.stack(columns, axis=1)], axis=1)
        clipped: Floats = np.clip(rows, 0, 1).astype(np.float32)
        return clipped

    def relative_iteration_time(self, job: int, hosts: Hosts) -> float:
        """Return a job's iteration time under its placement, relative to one node; at least 1."""
        snapshot = self.snapshot
        away = snapshot.edge_delay * (hosts.place[snapshot.edge_from] != hosts.place[snapshot.edge_to])
        mine = np.flatnonzero(snapshot.task_job[snapshot.edge_from] == job)
        inside, later = (mine[snapshot.edge_lag[mine] == lag] for lag in (0, 1))
        first, end = np.searchsorted(snapshot.task_job, (job, job + 1)).tolist()

        def task_ends(begin: IntArray, delay: IntArray) -> IntArray:
            """Return when each task of an iteration ends that may begin at these times."""
            begin = begin.copy()
            while True:
                then = begin.copy()
                arrive = begin[snapshot.edge_from[inside] - first] + snapshot.duration[snapshot.edge_from[inside]]
                np.maximum.at(then, snapshot.edge_to[inside] - first, arrive + delay[inside])
                if np.array_equal(then, begin):
                    return np.asarray(begin + snapshot.duration[first:end])
                begin = then

        nothing = np.zeros(end - first, dtype=np.int64)
        alone = int(task_ends(nothing, np.zeros_like(away)).max())
        end_times = task_ends(nothing, away)
        begin = nothing.copy()
        arrive = end_times[snapshot.edge_from[later] - first] - end_times.max() + away[later]
        np.maximum.at(begin, snapshot.edge_to[later] - first, arrive)
        return float(task_ends(begin, away).max()) / max(alone, 1)
