"""Features of task-graph instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

import numpy as np

from mlsched.core.contract import Feature
from mlsched.core.fields import UNLIMITED
from mlsched.instances.taskgraph.instance import Instance

Rng = np.random.Generator


def _with_entries(instance: Instance, at: object, **values: object) -> Instance:
    changed = {name: getattr(instance, name).copy() for name in values}
    for name, value in values.items():
        changed[name][at] = value
    return instance.replace(**changed)


def _random_job(instance: Instance, rng: Rng) -> int:
    return int(rng.integers(len(instance.arrival)))


def _random_task(instance: Instance, rng: Rng) -> int:
    return int(rng.integers(len(instance.task_job)))


def _later_arrival(instance: Instance, rng: Rng) -> Instance:
    """Let a job arrive later, unless part of it is known to have run."""
    job = _random_job(instance, rng)
    return _with_entries(instance, job, arrival=instance.now + int(rng.integers(1, 4)))


def _deadline(instance: Instance, rng: Rng) -> Instance:
    job = _random_job(instance, rng)
    return _with_entries(instance, job, deadline=int(instance.arrival[job]) + int(rng.integers(1, 5)))


def _choice_of_iterations(instance: Instance, rng: Rng) -> Instance:
    job = _random_job(instance, rng)
    return _with_entries(
        instance, job, min_iterations=min(int(instance.finished[job]), int(instance.max_iterations[job]) - 1)
    )


def _add_edge(instance: Instance, rng: Rng, lag: int, delay: int) -> Instance:
    """Add an edge within a job: to a later task, or from an iteration to the next."""
    u = _random_task(instance, rng)
    same = np.flatnonzero(instance.task_job == instance.task_job[u])
    able = same if lag else same[same > u]
    if not len(able):
        return instance
    return instance.replace(
        edge_from=np.append(instance.edge_from, u),
        edge_to=np.append(instance.edge_to, rng.choice(able)),
        edge_lag=np.append(instance.edge_lag, lag),
        edge_volume=np.append(instance.edge_volume, 2),
        edge_delay=np.append(instance.edge_delay, delay),
    )


def _ineligible(instance: Instance, rng: Rng) -> Instance:
    node = int(rng.integers(len(instance.node_capacity)))
    return _with_entries(instance, (_random_task(instance, rng), node), eligible=0)


def _movement(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(movement="between_iterations")


def _zero_duration(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_task(instance, rng), duration=0)


def _needs_nothing(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_task(instance, rng), demand=0)


def _accuracy_at_end(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(accuracy_at="final")


def _later_decision(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(now=instance.now + 2)


def _under_way(instance: Instance, rng: Rng) -> Instance:
    """Start a task just now, of an arrived job without a current run, on an eligible node."""
    free = np.setdiff1d(np.arange(len(instance.task_job)), instance.fixed_task)
    jobs = instance.task_job[free]
    free = free[(instance.arrival[jobs] <= instance.now) & (instance.finished[jobs] < instance.max_iterations[jobs])]
    if not len(free) or len(instance.fixed_task):
        return instance
    task = int(rng.choice(free))
    before = instance.edge_to[(instance.edge_lag == 0)]
    nodes = np.flatnonzero(
        (instance.eligible[task] == 1) & (instance.demand[task] <= instance.node_capacity).all(axis=1)
    )
    if task in before or not len(nodes) or instance.gpu_unit or instance.finished[instance.task_job[task]]:
        return instance
    return instance.replace(
        fixed_task=np.append(instance.fixed_task, task),
        fixed_node=np.append(instance.fixed_node, rng.choice(nodes)),
        fixed_start=np.append(instance.fixed_start, instance.now),
        fixed_gpu=np.append(instance.fixed_gpu, -1),
    )


def _two_resources(instance: Instance, rng: Rng) -> Instance:
    nodes, tasks = len(instance.node_capacity), len(instance.task_job)
    return instance.replace(
        resources=(*instance.resources, "another"),
        node_capacity=np.hstack([instance.node_capacity, rng.integers(1, 4, (nodes, 1))]),
        demand=np.hstack([instance.demand, rng.integers(0, 2, (tasks, 1))]),
    )


def _required(instance: Instance, rng: Rng) -> Instance:
    job = _random_job(instance, rng)
    return _with_entries(instance, job, required=int(instance.accuracy[job].max()))


def _several_iterations(instance: Instance) -> bool:
    return bool((instance.max_iterations > 1).any())


FEATURES = {
    "two jobs": Feature(lambda i: len(i.arrival) >= 2),
    "several iterations": Feature(_several_iterations),
    "later arrival": Feature(lambda i: bool((i.arrival > i.now).any()), _later_arrival),
    "deadline": Feature(lambda i: bool((i.deadline < UNLIMITED).any()), _deadline),
    "choice of iterations": Feature(
        lambda i: bool((np.maximum(i.min_iterations, i.finished) < i.max_iterations).any()), _choice_of_iterations
    ),
    "edge within an iteration": Feature(
        lambda i: bool((i.edge_lag == 0).any()), lambda i, rng: _add_edge(i, rng, 0, 0)
    ),
    "edge to the next iteration": Feature(
        lambda i: bool((i.edge_lag == 1).any()), lambda i, rng: _add_edge(i, rng, 1, 0)
    ),
    "delay between nodes": Feature(lambda i: bool(i.edge_delay.any()), lambda i, rng: _add_edge(i, rng, 1, 2)),
    "ineligible node": Feature(lambda i: bool((i.eligible == 0).any()), _ineligible),
    "movement between iterations": Feature(lambda i: i.movement == "between_iterations", _movement),
    "run that takes no time": Feature(lambda i: bool((i.duration == 0).any()), _zero_duration),
    "task that needs nothing": Feature(lambda i: bool((i.demand == 0).all(axis=1).any()), _needs_nothing),
    "accuracy at the end": Feature(lambda i: i.accuracy_at == "final", _accuracy_at_end),
    "required accuracy": Feature(lambda i: bool((i.required > 0).any()), _required),
    "a later now": Feature(lambda i: i.now > 0, _later_decision),
    "run under way": Feature(lambda i: len(i.fixed_task) > 0, _under_way),
    "two nodes": Feature(lambda i: len(i.node_capacity) >= 2),
    "two resources": Feature(lambda i: len(i.resources) >= 2, _two_resources),
}
