"""Features of each choice of a round: the state of MLF-RL (MLFS, Section 3.4), one row per choice.

The paper's state is all tasks, jobs, servers and GPUs. Here the row of a choice has the features of its task, job and
node, and a few sums over the cluster, so that one network scores any number of them. Snapshots lack three of the
paper's features: the name of the algorithm, the size of its training data and of a mini-batch. The numbers of tasks,
replicas, parameters and ticks of an iteration replace them. The graph is summarised by the successors of a task: the
rest of the longest path, the discounted number of tasks on all paths, and Eq. 6's priority, a sum over them. If every
iteration queues again, a row has more columns (`competition_features`).

Times t are log2(t / T), from T / 1024 to 64 T, scaled to 0 to 1; T is the mean over jobs of their total estimated
running time, so that features are independent of the length of a tick. Counts n are log2(1 + n) over a constant. Shares
are unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import UNLIMITED, FloatArray, IntArray
from mlsched.heuristics.taskgraph._mlf_hosts import Hosts
from mlsched.heuristics.taskgraph._mlf_priority import (
    SERVER,
    Weights,
    along_paths,
    learning,
    loss_share,
    partition_share,
)
from mlsched.heuristics.taskgraph.measures import iteration_ticks, per_job, remaining_ticks, remaining_time
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.simulation.taskgraph.competition_features import OF_COMPETITION, Standing

Floats = npt.NDArray[np.float32]

#: Kinds of choices: the job that stops now, the task that leaves an overloaded node, the next unit of the queue, the
#: node that hosts a task.
STOP, LEAVE, NEXT, HOST = 0, 1, 2, 3

#: Columns, in order. In row 0, those of tasks, jobs and nodes are 0.
OF_CHOICE = ("stop", "leave", "next", "host", "nothing")
OF_CLUSTER = (
    "GPUs held",
    "GPUs used",
    "most used other resource",
    "nodes overloaded",
    "choices, count",
    "jobs that run, count",
    "something goes on",
    "tasks placed, count",
)
OF_TASK = (
    "runs",
    "waiting, time",
    "running, time",
    "GPU demand",
    "CPU demand",
    "memory demand",
    "bandwidth demand",
    "largest demand",
    "a run, time",
    "parameter server",
    "mini-batch",
    "partition's share of the model",
    "tasks after it, count",
    "path after it, of the longest",
    "Eq. 2",
    "Eq. 6, log",
)
OF_JOB = (
    "urgency",
    "time to the deadline, less what is left",
    "deadline, time to it",
    "most iterations, count",
    "finished, share",
    "last loss reduction, share",
    "accuracy",
    "accuracy lacking",
    "next iteration's accuracy",
    "left, time",
    "left of the cluster's GPU time, log",
    "in the system, time",
    "ran, time",
    "tasks, count",
    "of the cluster's GPUs",
    "gang",
    "replicas, count",
    "parameters, count",
    "an iteration, time",
    "room by what is free",
    "room below the limit",
)
OF_PLACE = (
    "GPU use",
    "CPU use",
    "memory use",
    "bandwidth use",
    "GPUs held there",
    "tasks there, count",
    "overloaded there",
    "most use after",
    "beyond the limit after",
    "GPU's use after",
    "GPU beyond the limit after",
    "GPUs wholly free",
    "volume exchanged there, of all",
    "volume exchanged there, of the most",
    "is there",
    "its job's tasks there",
)
FEATURES = len(OF_CHOICE) + len(OF_CLUSTER) + len(OF_TASK) + len(OF_JOB) + len(OF_PLACE)
#: Queueing option -> columns of a row.
FEATURES_OF = {"held": FEATURES, "iteration": FEATURES + len(OF_COMPETITION)}
#: Kind of choice that exists only if every iteration queues again: the running job to preempt. A kind is the column of
#: its mark.
GIVE = FEATURES

#: Resources with columns of their own, by the beginning of their names.
NAMED = ("gpu", "cpu", "mem", "band")
#: A feature is 1 at this urgency, and at this number of steps of log2.
URGENT, STEPS = 10, 16


class Features:
    """Rows of a round's choices. With `anew`, every iteration queues again.

    Attributes:
        limit, gpu_limit: Use from which on a resource of a node or a GPU is overloaded.
        gave_way: With `anew`, the preempted jobs that have not returned.
    """

    def __init__(
        self,
        hosts: Hosts,
        stop_after: IntArray,
        priority: npt.NDArray[np.float64],
        limit: FloatArray,
        gpu_limit: int,
        anew: bool = False,
    ) -> None:
        self.hosts, self._limit, self._gpu_limit = hosts, limit, max(gpu_limit, 0)
        snapshot = self.snapshot = hosts.snapshot
        self._columns = [
            next((r for r, name in enumerate(snapshot.resources) if name.startswith(start)), -1) for start in NAMED
        ]
        self._counts = np.isfinite(limit).all(axis=0)  # resources with a limit
        length = iteration_ticks(snapshot)
        self._unit = float(max((length * stop_after).mean(), 1.0)) if length.size else 1.0
        self._jobs = np.bincount(snapshot.task_job, minlength=len(snapshot.arrival))
        self._fixed = np.concatenate(
            [self._tasks(priority, length), self._of_jobs(stop_after, length)[snapshot.task_job]], axis=1
        ).astype(np.float32)
        running = snapshot.state == RUNNING
        self._running = int((np.bincount(snapshot.task_job, weights=running) > 0).sum())
        self._goes_on = bool(running.any())
        self._standing = Standing(snapshot, stop_after, priority) if anew else None
        self.gave_way: list[int] = []

    # -- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, kind: int | None, tasks: IntArray, nodes: IntArray, void: bool, placed: int) -> Floats:
        """Return row 0 and one row per choice, see `Allocation.rows`; `void` allows row 0."""
        many = len(nodes) if kind == HOST else len(tasks)
        features = np.zeros((1 + many, FEATURES_OF["iteration" if self._standing else "held"]), dtype=np.float32)
        if kind is None:
            return features
        features[:, kind] = 1
        features[0, len(OF_CHOICE) - 1] = 1
        at = len(OF_CHOICE)
        features[:, at : at + len(OF_CLUSTER)] = self._cluster_sums(many, placed)
        at += len(OF_CLUSTER)
        end = at + self._fixed.shape[1]
        features[1:, at:end] = self._fixed[tasks]
        if self._standing:
            features[:, GIVE + 1 : GIVE + 3] = self._standing.share[self.gave_way].sum(), self._standing.waits
            features[1:, GIVE + 3 :] = self._standing.of_jobs[self.snapshot.task_job[tasks]]
        if kind == HOST:
            features[1:, end:FEATURES] = self._host_columns(int(tasks[0]), nodes)
        elif kind == LEAVE:
            features[1:, end:FEATURES] = self._leaving_columns(tasks)
        elif kind in (NEXT, STOP):
            # Room changes during a round.
            features[1:, end - 2 : end] = self._room_for_jobs(self.snapshot.task_job[tasks])
        return np.clip(features, -1, 1, out=features)

    def _cluster_sums(self, choices: int, placed: int) -> list[float]:
        hosts = self.hosts
        gpu, capacity = self._columns[0], np.maximum(self.snapshot.node_capacity.sum(axis=0), 1)
        use = hosts.use.sum(axis=0) / capacity
        held_values = 1 - hosts.free.sum(axis=0) / capacity
        others = np.delete(use, gpu) if gpu >= 0 else use
        return [
            float(held_values[gpu]) if gpu >= 0 else 0.0,
            float(use[gpu]) if gpu >= 0 else 0.0,
            float(others.max(initial=0)),
            float(self._overload_shares().mean()) if len(hosts.use) else 0.0,
            _log_count(choices, 12),
            _log_count(self._running, 12),
            float(self._goes_on or placed > 0),
            _log_count(placed, 8),
        ]

    def _overload_shares(self) -> Any:
        hosts = self.hosts
        crowded = (hosts.gpu_count > 1) & (hosts.gpu_use > self._gpu_limit)
        return (hosts.use > self._limit).any(axis=1) | crowded.any(axis=1)

    # -- tasks and jobs -----------------------------------------------------------------------------------------------

    def _log_time(self, ticks: FloatArray | IntArray) -> FloatArray:
        """Convert ticks to the logarithmic scale of the module's docstring."""
        return np.clip((np.log2(np.maximum(ticks, 0) / self._unit + 2.0**-10) + 10) / STEPS, 0, 1)

    def _tasks(self, priority: npt.NDArray[np.float64], length: IntArray) -> FloatArray:
        """Return the features of tasks, shape (tasks, OF_TASK)."""
        s, job = self.snapshot, self.snapshot.task_job
        share = s.demand / np.maximum(s.node_capacity.max(axis=0, initial=0), 1)
        runs = s.state == RUNNING
        replicas = self._replica_counts()[job]
        columns = [
            runs,
            self._log_time(s.now - s.waiting_since),
            self._log_time(np.where(runs, s.now - s.start, 0)),
            *(share[:, r] if r >= 0 else np.zeros(len(job)) for r in self._columns),
            share.max(axis=1, initial=0),
            self._log_time(s.duration),
            s.role == SERVER,
            s.replica / replicas,
            partition_share(s),
            np.log2(along_paths(s, np.ones(len(job)), 0.8)) / STEPS,
            (s.tails - s.duration) / np.maximum(length[job], 1),
            learning(s, Weights()),
            np.log2(np.maximum(priority, 2.0**-STEPS)) / STEPS,
        ]
        return np.stack(columns, axis=1) if len(job) else np.zeros((0, len(OF_TASK)))

    def _replica_counts(self) -> IntArray:
        replicas = np.ones(len(self.snapshot.arrival), dtype=np.int64)
        np.maximum.at(replicas, self.snapshot.task_job, self.snapshot.replica + 1)
        return replicas

    def _of_jobs(self, stop_after: IntArray, length: IntArray) -> FloatArray:
        """Return the features of jobs, shape (jobs, OF_JOB); room is filled in later."""
        s = self.snapshot
        remaining = remaining_time(s, stop_after)
        until = np.where(s.deadline >= UNLIMITED, 64.0 * self._unit, s.deadline - s.now)
        slack = until - remaining
        jobs = np.arange(len(remaining))
        now, then = (
            s.accuracy[s.accuracy_table, np.minimum(s.finished + k, max(0, s.accuracy.shape[1] - 1))] for k in (0, 1)
        )
        gpu = self._columns[0]
        demand = s.demand[:, gpu] if gpu >= 0 else np.ones(len(s.task_job))
        there = max(int(s.node_capacity[:, gpu].sum()), 1) if gpu >= 0 else len(s.node_capacity)
        work = per_job(s, remaining_ticks(s, stop_after) * demand) / there
        columns = [
            np.minimum(s.urgency / URGENT, 1),
            slack / (np.abs(slack) + self._unit),
            self._log_time(until),
            np.log2(np.maximum(stop_after, 1)) / STEPS,
            s.finished / np.maximum(stop_after, 1),
            loss_share(s),
            s.accuracy_seen / FULL_ACCURACY,
            (s.required - s.accuracy_seen) / FULL_ACCURACY,
            (then - now) / FULL_ACCURACY,
            self._log_time(remaining),
            self._log_time(work),
            self._log_time(s.now - s.arrival),
            self._log_time(s.executed),
            np.log2(1 + self._jobs) / STEPS,
            per_job(s, demand) / there,
            s.gang,
            np.log2(self._replica_counts()) / STEPS,
            np.log2(1 + per_job(s, s.parameters)) / 48,
            self._log_time(length),
            np.zeros(len(jobs)),
            np.zeros(len(jobs)),
        ]
        return np.stack(columns, axis=1)

    def _room_for_jobs(self, jobs: IntArray) -> FloatArray:
        """Return the room for a job's tasks relative to their demand, at most 1, shape (jobs, 2).

        The columns are the free amounts of the nodes, and those below the limit.
        """
        total = np.zeros((len(self.snapshot.arrival), len(self.snapshot.resources)))
        np.add.at(total, self.snapshot.task_job, self.hosts.demand)
        rooms = []
        for limit in (np.inf, self._limit):
            by_load = np.where((self.hosts.count == 0)[:, None], np.inf, limit - self.hosts.use)
            there = np.maximum(np.minimum(self.hosts.free, by_load), 0).sum(axis=0)
            demand = total[jobs]
            part = np.divide(there[None], demand, out=np.full(demand.shape, np.inf), where=demand > 0)
            rooms.append(np.minimum(part.min(axis=1, initial=2.0) / 2, 1))
        return np.stack(rooms, axis=1)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def _host_columns(self, task: int, nodes: IntArray) -> FloatArray:
        """Return the features of each node as a host of the task, shape (nodes, OF_PLACE)."""
        hosts, snapshot = self.hosts, self.snapshot
        gpu_after = np.zeros(len(nodes))
        if hosts.need[task]:
            able = hosts.gpu_fits(task)[nodes]
            minimal = np.where(able, hosts.gpu_use[nodes], np.iinfo(np.int64).max).min(axis=1)
            parts = max(1, int(hosts.need[task]) // snapshot.gpu_unit)
            gpu_after = minimal + hosts.load[task, hosts.column] / parts
        volume = hosts.volumes(task)
        return self._node_columns(np.full(len(nodes), task), nodes, 1, gpu_after, volume[nodes], volume)

    def _leaving_columns(self, tasks: IntArray) -> FloatArray:
        """Return the features of each task's node without the task, shape (tasks, OF_PLACE)."""
        hosts, nodes = self.hosts, self.snapshot.node[tasks]
        mine = [hosts.where(task)[1] for task in tasks.tolist()]
        gpu = [int(hosts.gpu_use[node, gpus].max(initial=0)) for node, gpus in zip(nodes.tolist(), mine, strict=True)]
        volumes = [hosts.volumes(task) for task in tasks.tolist()]
        here = np.array([volume[node] for volume, node in zip(volumes, nodes.tolist(), strict=True)])
        return self._node_columns(tasks, nodes, -1, np.array(gpu), here, np.array([v.sum() for v in volumes]))

    def _node_columns(
        self,
        tasks: IntArray,
        nodes: IntArray,
        sign: int,
        gpu_after: FloatArray | IntArray,
        here: FloatArray,
        volume: FloatArray,
    ) -> FloatArray:
        """Compute the features of nodes for tasks that come (`sign` 1) or leave (-1), shape (rows, OF_PLACE).

        Args:
            tasks: Task of each row.
            nodes: Node of each row.
            sign: 1 if the task comes to the node, -1 if it leaves it.
            gpu_after: Largest use of a GPU of the task afterwards, of each row.
            here: Volume between the task and the tasks on the node, of each row.
            volume: If the task comes, its volume with each node; if tasks leave, the total volume of each.
        """
        hosts, snapshot = self.hosts, self.snapshot
        use = hosts.use[nodes] / hosts.capacity[nodes]
        after = hosts.use[nodes] + sign * hosts.load[tasks]
        gpu, unit = self._columns[0], max(snapshot.gpu_unit, 1)
        over = (after > self._limit[nodes]) & (hosts.count[nodes] > 0)[:, None]
        job = snapshot.task_job[tasks]
        mates = self._mates_on_nodes(int(job[0])) if sign > 0 else np.bincount(nodes, minlength=len(hosts.count))
        columns = [
            *(use[:, r] if r >= 0 else np.zeros(len(nodes)) for r in self._columns),
            1 - hosts.free[nodes, gpu] / hosts.capacity[nodes, gpu] if gpu >= 0 else np.zeros(len(nodes)),
            np.log2(1 + hosts.count[nodes]) / STEPS,
            self._overload_shares()[nodes],
            (after / hosts.capacity[nodes])[:, self._counts].max(axis=1, initial=0),
            over.any(axis=1),
            gpu_after / unit / 2,
            gpu_after > self._gpu_limit if snapshot.gpu_unit else np.zeros(len(nodes)),
            (hosts.gpu_use[nodes] == 0).mean(axis=1) if snapshot.gpu_unit else np.zeros(len(nodes)),
            here / max(float(np.sum(volume)) if sign > 0 else 1.0, 1.0) if sign > 0 else here / np.maximum(volume, 1),
            here / max(float(np.max(volume, initial=0)), 1.0),
            nodes == hosts.place[tasks],
            mates[nodes] / np.maximum(self._jobs[job], 1),
        ]
        return np.stack(columns, axis=1)

    def _mates_on_nodes(self, job: int) -> IntArray:
        """Return the number of the job's tasks on each node, shape (nodes,)."""
        first, end = np.searchsorted(self.snapshot.task_job, (job, job + 1)).tolist()
        use = [self.hosts.place[task] for task in range(first, end) if self.hosts.holds(task)]
        return np.bincount(np.array(use, dtype=np.int64), minlength=len(self.hosts.count))


def _log_count(n: float, steps: float) -> float:
    """Return a count on a logarithmic scale."""
    return float(np.log2(1 + n)) / steps
