"""Features of rounds instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import Feature
from mlsched_rounds.instances.instance import Instance

Rng = np.random.Generator
JOBS = (
    *("rate", "remaining", "done", "age", "current", "usual", "fair", "isolated"),
    *("goodput_cost", "waiting_cost", "weight"),
)


def _one(instance: Instance, rng: Rng) -> int:
    return int(rng.integers(len(instance.remaining)))


def _with_values(instance: Instance, at: Any, **values: Any) -> Instance:
    changed = {name: getattr(instance, name).copy() for name in values}
    for name, value in values.items():
        changed[name][at] = value
    return instance.replace(**changed)


def _copies_of_job(instance: Instance, copies: Any) -> Instance:
    return instance.replace(
        **{name: np.concatenate([getattr(instance, name), getattr(instance, name)[copies]]) for name in JOBS}
    )


def _three_equal_jobs(instance: Instance, rng: Rng) -> Instance:
    return _copies_of_job(instance, rng.integers(len(instance.remaining), size=max(0, 3 - len(instance.remaining))))


def _equal_jobs(instance: Instance, rng: Rng) -> Instance:
    return _copies_of_job(instance, [_one(instance, rng)])


def _another_type(instance: Instance, rng: Rng) -> Instance:
    """Add a type with one GPU, on which jobs run at separate rates."""
    jobs = len(instance.remaining)
    return instance.replace(
        capacity=np.append(instance.capacity, 1),
        config_type=np.append(instance.config_type, len(instance.capacity)),
        config_gpus=np.append(instance.config_gpus, 1),
        rate=np.hstack([instance.rate, rng.integers(0, 4, (jobs, 1)) * 1000]),
        goodput_cost=np.hstack([instance.goodput_cost, rng.integers(1, 4, (jobs, 1)) * 10**6]),
        type_names=(*instance.type_names, "another") if instance.type_names else (),
    )


def _without_gpus(instance: Instance, rng: Rng) -> Instance:
    return _with_values(instance, int(rng.integers(len(instance.capacity))), capacity=0)


def _with_pause(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(pause=instance.length // 3)


def _long_pause(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(pause=instance.length + 1)


def _mark_as_running(instance: Instance, rng: Rng) -> Instance:
    """Mark a job as running in one of its possible configurations."""
    job = _one(instance, rng)
    able = np.flatnonzero(instance.rate[job])
    return _with_values(instance, job, current=rng.choice(able)) if len(able) else instance


def _mark_as_new(instance: Instance, rng: Rng) -> Instance:
    return _with_values(instance, _one(instance, rng), current=-1, age=0, done=0)


def _cannot_run_there(instance: Instance, rng: Rng) -> Instance:
    job, config = _one(instance, rng), int(rng.integers(len(instance.config_type)))
    output = _with_values(instance, job, current=-1) if instance.current[job] == config else instance
    return _with_values(output, (job, config), rate=0)


def _forbid_configuration(instance: Instance, rng: Rng) -> Instance:
    return _with_values(instance, _one(instance, rng), rate=0, current=-1)


def _double_weight(instance: Instance, rng: Rng) -> Instance:
    return _with_values(instance, _one(instance, rng), weight=int(rng.integers(2, 5)))


def _nearly_done(instance: Instance, rng: Rng) -> Instance:
    return _with_values(instance, _one(instance, rng), remaining=1)


def _add_gpu_to_configuration(instance: Instance, rng: Rng) -> Instance:
    """Add one GPU to a configuration."""
    config = int(rng.integers(len(instance.config_type)))
    return _with_values(instance, config, config_gpus=instance.config_gpus[config] + 1)


def _fewer_gpus_than_jobs(instance: Instance, rng: Rng) -> Instance:
    """Leave fewer GPUs than jobs."""
    return instance.replace(capacity=np.minimum(instance.capacity, max(1, len(instance.remaining) - 1)))


def _cheap_to_wait(instance: Instance, rng: Rng) -> Instance:
    return _with_values(instance, _one(instance, rng), waiting_cost=0)


def _has_nearly_done(instance: Instance) -> bool:
    most = instance.rate.max(axis=1, initial=0) * instance.length // 10**6
    return bool((instance.remaining < most).any())


def _has_equal_jobs(instance: Instance) -> bool:
    jobs = len(instance.remaining)
    rows = [getattr(instance, name).reshape(jobs, -1) for name in JOBS] if jobs else []
    return bool(rows) and len(np.unique(np.hstack(rows), axis=0)) < jobs


FEATURES = {
    "three jobs": Feature(lambda i: len(i.remaining) >= 3, _three_equal_jobs),
    "equal jobs": Feature(_has_equal_jobs, _equal_jobs),
    "three types": Feature(lambda i: len(i.capacity) >= 3, _another_type),
    "type without GPUs": Feature(lambda i: bool((i.capacity == 0).any()), _without_gpus),
    "pause": Feature(lambda i: i.pause > 0, _with_pause),
    "pause longer than the round": Feature(lambda i: i.pause > i.length, _long_pause),
    "job that ran": Feature(lambda i: bool((i.current >= 0).any()), _mark_as_running),
    "new job": Feature(lambda i: bool(((i.current < 0) & (i.age == 0)).any()), _mark_as_new),
    "job that cannot run on a type": Feature(
        lambda i: bool(((i.rate == 0).any(axis=1) & (i.rate > 0).any(axis=1)).any()), _cannot_run_there
    ),
    "job that cannot run": Feature(lambda i: bool((i.rate == 0).all(axis=1).any()), _forbid_configuration),
    "important job": Feature(lambda i: bool((i.weight > 1).any()), _double_weight),
    "job that ends within the round": Feature(_has_nearly_done, _nearly_done),
    "configuration of several GPUs": Feature(lambda i: bool((i.config_gpus > 1).any()), _add_gpu_to_configuration),
    "fewer GPUs than jobs": Feature(lambda i: int(i.capacity.sum()) < len(i.remaining), _fewer_gpus_than_jobs),
    "job that waits cheaply": Feature(
        lambda i: bool((i.waiting_cost[:, None] < i.goodput_cost).all(axis=1).any()), _cheap_to_wait
    ),
}
