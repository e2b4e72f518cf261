"""Features of placement instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import Feature
from mlsched.core.fields import UNLIMITED
from mlsched.instances.placement.instance import Instance

Rng = np.random.Generator
JOBS = ("job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")


def _random_index(values: Any, rng: Rng) -> int:
    return int(rng.integers(len(values)))


def _with_entries(instance: Instance, at: object, **values: object) -> Instance:
    changed = {name: getattr(instance, name).copy() for name in values}
    for name, value in values.items():
        changed[name][at] = value
    return instance.replace(**changed)


def _three_jobs(instance: Instance, rng: Rng) -> Instance:
    copies = rng.integers(len(instance.job_type), size=max(0, 3 - len(instance.job_type)))
    return instance.replace(
        **{name: np.concatenate([getattr(instance, name), getattr(instance, name)[copies]]) for name in JOBS}
    )


def _running_job(instance: Instance, rng: Rng) -> Instance:
    """Add a running job with a worker on one server and, with probability 1/2, a worker elsewhere."""
    workers = np.zeros((1, len(instance.server_free)), dtype=np.int64)
    workers[0, rng.integers(len(instance.server_free), size=int(rng.integers(1, 3)))] = 1
    return instance.replace(
        run_type=np.append(instance.run_type, rng.integers(len(instance.types))),
        run_speed=np.append(instance.run_speed, 10_000),
        run_workers=np.vstack([instance.run_workers, workers]),
        run_ps=np.vstack([instance.run_ps, 0 * workers]),
        most_jobs=min(instance.most_jobs + 1, UNLIMITED),
    )


def _separate_types(instance: Instance, rng: Rng) -> Instance:
    """Separate two types, or one type from itself: they never share a server."""
    one, other = rng.integers(len(instance.types), size=2)
    apart = instance.apart.copy()
    apart[one, other] = apart[other, one] = 1
    return instance.replace(apart=apart)


def _all_reduce(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_index(instance.job_type, rng), job_ps=0)


def _several_tasks(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_index(instance.job_type, rng), job_workers=2, job_ps=2)


def _most_jobs(instance: Instance, rng: Rng) -> Instance:
    running, new = len(instance.run_type), len(instance.job_type)
    return instance.replace(most_jobs=running + int(rng.integers(0, max(1, new))))


def _most_new(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(most_new=int(rng.integers(0, max(1, len(instance.job_type)))))


def _two_resources(instance: Instance, rng: Rng) -> Instance:
    servers, jobs = len(instance.server_free), len(instance.job_type)
    free = rng.integers(0, 4, (servers, 1))
    return instance.replace(
        resources=(*instance.resources, "another"),
        server_capacity=np.hstack([instance.server_capacity, free + 1]),
        server_free=np.hstack([instance.server_free, free]),
        worker_demand=np.hstack([instance.worker_demand, rng.integers(0, 3, (jobs, 1))]),
        ps_demand=np.hstack([instance.ps_demand, rng.integers(0, 2, (jobs, 1))]),
    )


def _full_server(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_index(instance.server_free, rng), server_free=0)


def _fits_nowhere(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(
        instance, _random_index(instance.job_type, rng), worker_demand=instance.server_free.max(axis=0) + 1
    )


def _interference(instance: Instance, rng: Rng) -> Instance:
    one, other = rng.integers(len(instance.types), size=2)
    return _with_entries(instance, (one, other), sigma_worker=500_000, sigma_ps=250_000)


def _slow_network(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_index(instance.types, rng), rho_ps=400_000, rho_worker=300_000)


def _at_tasks(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(network_at="tasks")


def _needs_nothing(instance: Instance, rng: Rng) -> Instance:
    return _with_entries(instance, _random_index(instance.job_type, rng), ps_demand=0, job_ps=1)


FEATURES = {
    "three new jobs": Feature(lambda i: len(i.job_type) >= 3, _three_jobs),
    "running job": Feature(lambda i: len(i.run_type) > 0, _running_job),
    "types apart": Feature(lambda i: bool(i.apart.any()), _separate_types),
    "all-reduce job": Feature(lambda i: bool((i.job_ps == 0).any()), _all_reduce),
    "several workers and PSs": Feature(lambda i: bool(((i.job_workers > 1) & (i.job_ps > 1)).any()), _several_tasks),
    "limit of concurrent jobs": Feature(lambda i: i.most_jobs < len(i.run_type) + len(i.job_type), _most_jobs),
    "limit of new jobs": Feature(lambda i: i.most_new < len(i.job_type), _most_new),
    "two resources": Feature(lambda i: len(i.resources) >= 2, _two_resources),
    "full server": Feature(lambda i: bool((i.server_free == 0).any(axis=1).any()), _full_server),
    "job that fits nowhere": Feature(
        lambda i: any((d > i.server_free).any(axis=1).all() for d in i.worker_demand), _fits_nowhere
    ),
    "interference": Feature(lambda i: bool(i.sigma_worker.any() or i.linear.any() or i.quadratic.any()), _interference),
    "cost of being apart": Feature(lambda i: bool(i.rho_ps.any() or i.rho_worker.any()), _slow_network),
    "network cost at all tasks": Feature(lambda i: i.network_at == "tasks", _at_tasks),
    "PS that needs nothing": Feature(
        lambda i: bool(((i.ps_demand == 0).all(axis=1) & (i.job_ps > 0)).any()), _needs_nothing
    ),
}
