"""Features of workers instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import Feature
from mlsched.instances.workers.instance import NEVER, Instance

Rng = np.random.Generator
JOBS = (
    *("worker_demand", "ps_demand", "cost", "waiting", "remaining", "model"),
    *("current_workers", "current_ps", "waited"),
)


def _random_job(instance: Instance, rng: Rng) -> int:
    return int(rng.integers(len(instance.waiting)))


def _with_entries(instance: Instance, at: object, **values: object) -> Instance:
    changed = {name: getattr(instance, name).copy() for name in values}
    for name, value in values.items():
        changed[name][at] = value
    return instance.replace(**changed)


def _with_copies(instance: Instance, copies: Any) -> Instance:
    """Append copies of jobs."""
    fields = {name: np.concatenate([getattr(instance, name), getattr(instance, name)[copies]]) for name in JOBS}
    return instance.replace(**{**fields, "waited": np.minimum.accumulate(fields["waited"])})


def _three_jobs(instance: Instance, rng: Rng) -> Instance:
    return _with_copies(instance, rng.integers(len(instance.waiting), size=max(0, 3 - len(instance.waiting))))


def _equal_jobs(instance: Instance, rng: Rng) -> Instance:
    job = _random_job(instance, rng)
    with_copy = _with_copies(instance, [job])
    return _with_entries(with_copy, len(with_copy.waiting) - 1, model=instance.model[job])


def _forbidden_configurations(instance: Instance, rng: Rng) -> Instance:
    """Forbid a job its largest numbers, or one worker and one PS."""
    job = _random_job(instance, rng)
    at = (job, 0, 0) if rng.integers(2) else (job, -1, -1)
    return _with_entries(instance, at, cost=NEVER)


def _cannot_train(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_job(instance, rng), cost=NEVER)


def _larger_is_slower(instance: Instance, rng: Rng) -> Instance:
    job = _random_job(instance, rng)
    cost = instance.cost[job]
    slowest = int(np.where(cost == NEVER, 1, cost).max())
    return _with_entries(instance, (job, -1, -1), cost=slowest + 1000)


def _two_resources(instance: Instance, rng: Rng) -> Instance:
    """Add a second resource, for some of the tasks."""
    jobs = len(instance.waiting)
    return instance.replace(
        resources=(*instance.resources, "another"),
        capacity=np.append(instance.capacity, rng.integers(1, 2 * jobs + 2)),
        worker_demand=np.hstack([instance.worker_demand, rng.integers(0, 3, (jobs, 1))]),
        ps_demand=np.hstack([instance.ps_demand, rng.integers(0, 2, (jobs, 1))]),
    )


def _scarce_resource(instance: Instance, rng: Rng) -> Instance:
    """Leave room for a pair of every job but the smallest, of one resource."""
    pairs = instance.worker_demand + instance.ps_demand
    r = int(pairs.sum(axis=0).argmax())
    capacity = instance.capacity.copy()
    capacity[r] = min(capacity[r], max(1, int(pairs[:, r].sum()) - 1))
    return instance.replace(capacity=capacity)


def _fits_nowhere(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_job(instance, rng), worker_demand=instance.capacity + 1)


def _ps_without_demand(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_job(instance, rng), ps_demand=0)


def _running_job(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_job(instance, rng), current_workers=2, current_ps=1)


def _new_job(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_job(instance, rng), current_workers=0, current_ps=0)


def _waits_cheaply(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_job(instance, rng), waiting=0)


def _larger_backlog(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(backlog=instance.backlog + 2)


def _wider_table(instance: Instance, rng: Rng) -> Instance:
    """Extend the tables to one more worker than PSs, at a cost lower by one."""
    cost = instance.cost
    while cost.shape[1] <= cost.shape[2]:
        cost = np.concatenate([cost, cost[:, -1:]], axis=1)
    return instance.replace(cost=cost)


def _has_larger_is_slower(instance: Instance) -> bool:
    finite_cost = np.where(instance.cost == NEVER, 0, instance.cost)
    return bool((np.diff(finite_cost, axis=1) > 0).any() or (np.diff(finite_cost, axis=2) > 0).any())


def _has_equal_jobs(instance: Instance) -> bool:
    jobs = len(instance.waiting)
    if not jobs:
        return False
    columns = (instance.worker_demand, instance.ps_demand, instance.cost.reshape(jobs, -1), instance.waiting[:, None])
    return len(np.unique(np.hstack(columns), axis=0)) < jobs


def _demand_of_pairs(instance: Instance) -> Any:
    return instance.worker_demand + instance.ps_demand


FEATURES = {
    "three jobs": Feature(lambda i: len(i.waiting) >= 3, _three_jobs),
    "combination that cannot train": Feature(lambda i: bool((i.cost == NEVER).any()), _forbidden_configurations),
    "job that cannot train": Feature(lambda i: bool((i.cost == NEVER).all(axis=(1, 2)).any()), _cannot_train),
    "larger numbers that are slower": Feature(_has_larger_is_slower, _larger_is_slower),
    "two resources": Feature(lambda i: len(i.resources) >= 2, _two_resources),
    "no room for all": Feature(lambda i: bool((_demand_of_pairs(i).sum(axis=0) > i.capacity).any()), _scarce_resource),
    "job that fits nowhere": Feature(lambda i: bool((_demand_of_pairs(i) > i.capacity).any()), _fits_nowhere),
    "PS that needs nothing": Feature(lambda i: bool((i.ps_demand == 0).all(axis=1).any()), _ps_without_demand),
    "running job": Feature(lambda i: bool((i.current_workers > 0).any()), _running_job),
    "new job": Feature(lambda i: bool((i.current_workers == 0).any()), _new_job),
    "job that waits cheaply": Feature(lambda i: bool((i.waiting < i.cost.min(axis=(1, 2))).any()), _waits_cheaply),
    "backlog": Feature(lambda i: i.backlog > 0, _larger_backlog),
    "table with more workers than PSs": Feature(lambda i: i.cost.shape[1] > i.cost.shape[2], _wider_table),
    "equal jobs": Feature(_has_equal_jobs, _equal_jobs),
}
