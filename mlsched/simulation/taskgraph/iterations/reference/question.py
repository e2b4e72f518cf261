"""What of a workload a schedule without pauses must respect, as plain as searches need it; and a schedule as a log."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import gpu_column
from mlsched.simulation.taskgraph.iterations.devices import Devices
from mlsched.simulation.taskgraph.iterations.log import FINISH, Stretches
from mlsched.simulation.taskgraph.iterations.pace import Paces
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


@dataclasses.dataclass(frozen=True)
class Question:
    """Jobs of tasks that hold nodes from their job's start to its end.

    capacity: nodes x resources; release, length (ticks) and weight: of each job; kind: of each job, the number of what
    it asks for; tasks: of each kind, the rows (demand of each resource) of its tasks, the largest first; nodes: of each
    kind, which nodes may run it (1) or not; order: of each kind, which of the template's tasks each row is.
    Where GPUs of a node are told apart, a task with a part of one counts as if it held the whole.
    """

    jobs: Jobs
    capacity: IntArray
    release: IntArray
    length: IntArray
    weight: IntArray
    kind: IntArray
    tasks: list[IntArray]
    nodes: list[IntArray]
    order: list[list[int]]

    def value(self, start: IntArray) -> int:
        """The weighted sum of completion - arrival."""
        return sum((self.weight * (start + self.length - self.release)).tolist())


def question(jobs: Jobs, weight: IntArray) -> Question:
    """The question that a workload asks; refuses jobs whose pace depends on where they run, or that start in parts."""
    used = np.unique(jobs.template).tolist()
    if len(jobs.edge_from) and jobs.edge_delay.any():
        raise InvalidInput("reference: tasks send to each other with delays; references are for gangs, as logs have")
    if not jobs.gang[used].all():
        raise InvalidInput("reference: some jobs start in parts; references are for gangs, as logs have")
    demand, capacity = jobs.demand * (jobs.duration > 0)[:, None], jobs.node_capacity.copy()
    if jobs.gpu_unit:
        column = gpu_column(jobs.resources)
        demand[:, column] = -(-demand[:, column] // jobs.gpu_unit) * jobs.gpu_unit
    divisor = np.maximum(np.gcd.reduce(np.vstack([demand, capacity]), axis=0), 1)
    demand, capacity = demand // divisor, capacity // divisor
    kept = np.flatnonzero(demand.any(axis=0))
    tasks, nodes, order = list[IntArray](), list[IntArray](), list[list[int]]()
    for first, end in jobs.tasks:
        rows = demand[first:end][:, kept]
        by_size = np.argsort(-rows.max(axis=1, initial=0), kind="stable")
        tasks.append(rows[by_size])
        nodes.append(jobs.eligible[jobs.task_class[first:end]].min(axis=0))
        order.append(by_size.tolist())
    paces = Paces(jobs)
    lengths = [
        -(-(pace.first + (rounds - 1) * pace.cycle) // WHOLE)
        for job, rounds in enumerate(jobs.max_iterations.tolist())
        for pace in [paces.of(job, [0] * (jobs.span(job)[1] - jobs.span(job)[0]))]
    ]
    length = np.array(lengths, dtype=np.int64)
    return Question(jobs, capacity[:, kept], jobs.arrival, length, weight, jobs.template, tasks, nodes, order)


def as_log(asked: Question, start: IntArray, places: list[list[int]]) -> Stretches:
    """The log of the schedule in which jobs start at these ticks, the rows of their kinds' tasks on these nodes."""
    jobs, log, paces = asked.jobs, Stretches(), Paces(asked.jobs)
    devices = Devices(jobs, jobs.demand * (jobs.duration > 0)[:, None])
    end = start + asked.length
    events = sorted([(t, 1, j) for j, t in enumerate(start.tolist())] + [(t, 0, j) for j, t in enumerate(end.tolist())])
    rows: dict[int, tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]] = {}
    for time, begins, job in events:
        of_kind = asked.order[int(asked.kind[job])]
        if begins:
            nodes = [0] * len(of_kind)
            for task, node in zip(of_kind, places[job], strict=True):
                nodes[task] = node
            devices.change([], [(job, task, node, -1) for task, node in enumerate(nodes)])
            rows[job] = (tuple(nodes), devices.of(job, len(nodes)))
        else:
            nodes_of, gpus = rows.pop(job)
            pace = paces.of(job, list(nodes_of))
            log.rows.append((job, int(start[job]), time, 0, 0, pace.first, pace.cycle, 0, 0, FINISH))
            log.places.append(nodes_of)
            if jobs.gpu_unit:
                log.gpus.append(gpus)
                for task in range(len(nodes_of)):
                    devices.leave(job, task)
    return log
