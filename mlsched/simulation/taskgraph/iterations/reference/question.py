"""Constraints of a schedule, in a simple form for searches; and a schedule as a log."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.gpus import gpu_column, tightest
from mlsched.simulation.taskgraph.iterations.devices import Devices
from mlsched.simulation.taskgraph.iterations.log import FINISH, Segments
from mlsched.simulation.taskgraph.iterations.pace import Paces
from mlsched.simulation.taskgraph.iterations.reference.proof import refuse_types
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


@dataclasses.dataclass(frozen=True)
class Question:
    """Jobs of tasks that use nodes from their job's start to its end.

    With individual GPUs of a node, a task with a part of a GPU counts as if it used all of it.

    Attributes:
        capacity: Capacities, shape (nodes, resources).
        release, length, cycle, weight: Of each job: release and length in ticks, an iteration in 10^-6 ticks, weight.
        kind: Kind of each job, which has its demand.
        tasks: Demand rows of each kind's tasks, the largest first.
        nodes: Nodes that may run each kind (1) or not.
        order: Of each kind, the template's task of each row.
    """

    jobs: Jobs
    capacity: IntArray
    release: IntArray
    length: IntArray
    cycle: IntArray
    weight: IntArray
    kind: IntArray
    tasks: list[IntArray]
    nodes: list[IntArray]
    order: list[list[int]]

    def value(self, start: IntArray) -> int:
        """Return the weighted sum of completion - arrival."""
        return sum((self.weight * (start + self.length - self.release)).tolist())


def question(jobs: Jobs, weight: IntArray) -> Question:
    """Return the question of a workload; reject jobs whose pace depends on their nodes, or that start in parts."""
    refuse_types(jobs)
    templates = np.unique(jobs.template).tolist()
    if len(jobs.edge_from) and jobs.edge_delay.any():
        raise InvalidInput("reference: tasks send to each other with delays; references are for gangs, as logs have")
    if not jobs.gang[templates].all():
        raise InvalidInput("reference: some jobs start in parts; references are for gangs, as logs have")
    demand, capacity = jobs.demand * (jobs.duration > 0)[:, None], jobs.node_capacity.copy()
    if jobs.gpu_unit:
        column = gpu_column(jobs.resources)
        demand[:, column] = -(-demand[:, column] // jobs.gpu_unit) * jobs.gpu_unit
    divisor = np.maximum(np.gcd.reduce(np.vstack([demand, capacity]), axis=0), 1)
    demand, capacity = demand // divisor, capacity // divisor
    columns = np.flatnonzero(demand.any(axis=0))
    tasks, nodes, order = list[IntArray](), list[IntArray](), list[list[int]]()
    for first, end in jobs.tasks:
        rows = demand[first:end][:, columns]
        by_size = np.argsort(-rows.max(axis=1, initial=0), kind="stable")
        tasks.append(rows[by_size])
        nodes.append(jobs.eligible[jobs.task_class[first:end]].min(axis=0))
        order.append(by_size.tolist())
    paces = Paces(jobs)
    cycle = np.array(
        [paces.of(job, [0] * len(tasks[kind])).cycle for job, kind in enumerate(jobs.template.tolist())], dtype=np.int64
    )
    length = np.array([-(-n * c // WHOLE) for n, c in zip(jobs.max_iterations.tolist(), cycle.tolist(), strict=True)])
    return Question(
        jobs,
        capacity[:, columns],
        jobs.arrival,
        length.astype(np.int64),
        cycle,
        weight,
        jobs.template,
        tasks,
        nodes,
        order,
    )


class Held(NamedTuple):
    """Segment of a schedule.

    It has a job's start and end, ppm of its iterations done at the start, the price that it paid (10^-6 ticks), its
    ending (`log`), and the nodes of the rows of its kind's tasks.
    """

    job: int
    start: int
    end: int
    done: int
    paid: int
    outcome: int
    nodes: tuple[int, ...]


def as_log(asked: Question, start: IntArray, places: list[list[int]]) -> Segments:
    """Return the log of a schedule without pauses, by start ticks and nodes of the jobs (as in `Held`)."""
    ends = (start + asked.length).tolist()
    segments_held = [
        Held(j, s, e, 0, 0, FINISH, tuple(places[j])) for j, (s, e) in enumerate(zip(start.tolist(), ends, strict=True))
    ]
    return log_of(asked, segments_held)


def log_of(asked: Question, held: Iterable[Held]) -> Segments:
    """Return the log of a schedule; individual GPUs are assigned as by the world."""
    jobs, log = asked.jobs, Segments()
    devices = Devices(jobs, jobs.demand * (jobs.duration > 0)[:, None])
    segments = list(held)
    events = sorted(
        [(h.start, 1, h.job, k) for k, h in enumerate(segments)]
        + [(h.end, 0, h.job, k) for k, h in enumerate(segments)]
    )
    rows: dict[int, tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]] = {}
    for time, begins, job, number in events:
        segment, of_kind = segments[number], asked.order[int(asked.kind[job])]
        if begins:
            nodes = [0] * len(of_kind)
            for task, node in zip(of_kind, segment.nodes, strict=True):
                nodes[task] = node
            for task, node in enumerate(nodes):
                devices.change([], [(job, task, node, _gpu_of_task(jobs, devices, jobs.span(job)[0] + task, node))])
            rows[number] = (tuple(nodes), devices.of(job, len(nodes)))
        else:
            nodes_of, gpus = rows.pop(number)
            cycle = int(asked.cycle[job])
            log.rows.append(
                (job, segment.start, time, *divmod(segment.done, WHOLE), cycle, cycle, 0, segment.paid, segment.outcome)
            )
            log.places.append(nodes_of)
            if jobs.gpu_unit:
                log.gpus.append(gpus)
                for task in range(len(nodes_of)):
                    devices.leave(job, task)
    return log


def _gpu_of_task(jobs: Jobs, devices: Devices, task: int, node: int) -> int:
    """Return the GPU on which a task takes a fraction; -1 if it needs complete GPUs, or if GPUs are one pool."""
    if not jobs.gpu_unit:
        return -1
    return tightest(devices.free[node], int(jobs.demand[task, gpu_column(jobs.resources)]), jobs.gpu_unit)
