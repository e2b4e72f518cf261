"""Gangs, which use their demand from start to end, as `Jobs` of few templates."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import UNLIMITED, FloatArray, IntArray
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Cluster of a workload.

    Attributes:
        capacity: Capacities, shape (nodes, resources).
        gpu_unit: One GPU, in units of its resource; 0: GPUs are one pool.
        tick_ms: Milliseconds of a tick.
    """

    capacity: IntArray
    resources: tuple[str, ...]
    tick_ms: int
    gpu_unit: int = 0


def made_gangs(
    cluster: Cluster,
    *,
    tasks: list[IntArray],
    pause_cost: IntArray,
    movement: str,
    arrival: IntArray,
    ticks: FloatArray,
    iteration: float,
    factor: FloatArray,
    source: str,
    eligible: IntArray | None = None,
    classes: IntArray | None = None,
) -> Jobs:
    """Build jobs of these `tasks`; jobs with equal tasks and class share a template.

    Lengths of iterations are rounded down to 10^-6 ticks, so that integer ticks of running time are reproduced exactly.

    Args:
        cluster: Cluster of the workload.
        tasks: Demands of each job's tasks, shape (tasks, resources).
        pause_cost: Pause cost of each job.
        movement: The simulator's option `movement`.
        arrival: Arrival of each job.
        ticks: Running time of each job.
        iteration: Approximate length of an iteration.
        factor: Estimated running time of each job, divided by the true time.
        source: Description of the workload.
        eligible: 1 if the tasks of a class may run on a node, shape (classes, nodes). None: all on all nodes.
        classes: Class of each job.
    """
    count = len(arrival)
    keys = {number: (len(rows), *rows.ravel().tolist()) for number, rows in {id(rows): rows for rows in tasks}.items()}
    of_class = [0] * count if classes is None else classes.tolist()
    kinds = [(number, *keys[id(rows)]) for number, rows in zip(of_class, tasks, strict=True)]
    alike = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    template = np.array([alike[kind] for kind in kinds], dtype=np.int64)
    first = np.unique(template, return_index=True)[1].tolist()
    owner = np.repeat(np.arange(len(alike)), [len(tasks[job]) for job in first])
    rounds = np.clip(np.rint(ticks / iteration), 1, 10**6).astype(np.int64)
    scale = np.maximum(np.floor(ticks / rounds * WHOLE), 1).astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    return Jobs(
        resources=cluster.resources,
        gpu_unit=cluster.gpu_unit,
        tick_ms=cluster.tick_ms,
        node_capacity=cluster.capacity,
        eligible=np.ones((1, len(cluster.capacity)), dtype=np.int64) if eligible is None else eligible,
        accuracy=np.zeros((1, 1), dtype=np.int64),
        gang=np.ones(len(alike), dtype=np.int64),
        accuracy_table=np.zeros(len(alike), dtype=np.int64),
        task_template=owner,
        duration=np.ones(len(owner), dtype=np.int64),
        estimate=np.ones(len(owner), dtype=np.int64),
        demand=np.concatenate([tasks[job] for job in first]),
        task_class=np.array([kind[0] for kind in sorted(set(kinds))], dtype=np.int64)[owner],
        parameters=np.zeros(len(owner), dtype=np.int64),
        edge_from=none,
        edge_to=none,
        edge_lag=none,
        edge_volume=none,
        edge_delay=none,
        template=template,
        movement=movement,
        pause_cost=pause_cost,
        arrival=arrival,
        scale=scale,
        told=np.maximum(np.rint(scale * factor), 1).astype(np.int64),
        deadline=np.full(count, UNLIMITED),
        urgency=np.zeros(count, dtype=np.int64),
        required=np.zeros(count, dtype=np.int64),
        min_iterations=rounds,
        max_iterations=rounds,
        source=source,
    )
