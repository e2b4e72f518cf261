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


def _set(instance: Instance, at: Any, **values: Any) -> Instance:
    changed = {name: getattr(instance, name).copy() for name in values}
    for name, value in values.items():
        changed[name][at] = value
    return instance.replace(**changed)


def _copies(instance: Instance, copies: Any) -> Instance:
    return instance.replace(
        **{name: np.concatenate([getattr(instance, name), getattr(instance, name)[copies]]) for name in JOBS}
    )


def _three_jobs(instance: Instance, rng: Rng) -> Instance:
    return _copies(instance, rng.integers(len(instance.remaining), size=max(0, 3 - len(instance.remaining))))


def _equal_jobs(instance: Instance, rng: Rng) -> Instance:
    return _copies(instance, [_one(instance, rng)])


def _another_type(instance: Instance, rng: Rng) -> Instance:
    """A type with one GPU, on which jobs run at rates of their own."""
    jobs = len(instance.remaining)
    return instance.replace(
        capacity=np.append(instance.capacity, 1),
        config_type=np.append(instance.config_type, len(instance.capacity)),
        config_gpus=np.append(instance.config_gpus, 1),
        rate=np.hstack([instance.rate, rng.integers(0, 4, (jobs, 1)) * 1000]),
        goodput_cost=np.hstack([instance.goodput_cost, rng.integers(1, 4, (jobs, 1)) * 10**6]),
        type_names=(*instance.type_names, "another") if instance.type_names else (),
    )


def _no_gpus(instance: Instance, rng: Rng) -> Instance:
    return _set(instance, int(rng.integers(len(instance.capacity))), capacity=0)


def _pause(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(pause=instance.length // 3)


def _long_pause(instance: Instance, rng: Rng) -> Instance:
    return instance.replace(pause=instance.length + 1)


def _ran(instance: Instance, rng: Rng) -> Instance:
    """A job ran in a configuration in which it can run."""
    job = _one(instance, rng)
    able = np.flatnonzero(instance.rate[job])
    return _set(instance, job, current=rng.choice(able)) if len(able) else instance


def _new(instance: Instance, rng: Rng) -> Instance:
    return _set(instance, _one(instance, rng), current=-1, age=0, done=0)


def _cannot_run_there(instance: Instance, rng: Rng) -> Instance:
    job, config = _one(instance, rng), int(rng.integers(len(instance.config_type)))
    made = _set(instance, job, current=-1) if instance.current[job] == config else instance
    return _set(made, (job, config), rate=0)


def _cannot_run(instance: Instance, rng: Rng) -> Instance:
    return _set(instance, _one(instance, rng), rate=0, current=-1)


def _weighted(instance: Instance, rng: Rng) -> Instance:
    return _set(instance, _one(instance, rng), weight=int(rng.integers(2, 5)))


def _nearly_done(instance: Instance, rng: Rng) -> Instance:
    return _set(instance, _one(instance, rng), remaining=1)


def _two_gpus(instance: Instance, rng: Rng) -> Instance:
    """A configuration takes one GPU more."""
    config = int(rng.integers(len(instance.config_type)))
    return _set(instance, config, config_gpus=instance.config_gpus[config] + 1)


def _scarce(instance: Instance, rng: Rng) -> Instance:
    """Fewer GPUs than jobs."""
    return instance.replace(capacity=np.minimum(instance.capacity, max(1, len(instance.remaining) - 1)))


def _cheap_to_wait(instance: Instance, rng: Rng) -> Instance:
    return _set(instance, _one(instance, rng), waiting_cost=0)


def _has_nearly_done(instance: Instance) -> bool:
    most = instance.rate.max(axis=1, initial=0) * instance.length // 10**6
    return bool((instance.remaining < most).any())


def _has_equal_jobs(instance: Instance) -> bool:
    jobs = len(instance.remaining)
    rows = [getattr(instance, name).reshape(jobs, -1) for name in JOBS] if jobs else []
    return bool(rows) and len(np.unique(np.hstack(rows), axis=0)) < jobs


FEATURES = {
    "three jobs": Feature(lambda i: len(i.remaining) >= 3, _three_jobs),
    "equal jobs": Feature(_has_equal_jobs, _equal_jobs),
    "three types": Feature(lambda i: len(i.capacity) >= 3, _another_type),
    "type without GPUs": Feature(lambda i: bool((i.capacity == 0).any()), _no_gpus),
    "pause": Feature(lambda i: i.pause > 0, _pause),
    "pause longer than the round": Feature(lambda i: i.pause > i.length, _long_pause),
    "job that ran": Feature(lambda i: bool((i.current >= 0).any()), _ran),
    "new job": Feature(lambda i: bool(((i.current < 0) & (i.age == 0)).any()), _new),
    "job that cannot run on a type": Feature(
        lambda i: bool(((i.rate == 0).any(axis=1) & (i.rate > 0).any(axis=1)).any()), _cannot_run_there
    ),
    "job that cannot run": Feature(lambda i: bool((i.rate == 0).all(axis=1).any()), _cannot_run),
    "important job": Feature(lambda i: bool((i.weight > 1).any()), _weighted),
    "job that ends within the round": Feature(_has_nearly_done, _nearly_done),
    "configuration of several GPUs": Feature(lambda i: bool((i.config_gpus > 1).any()), _two_gpus),
    "fewer GPUs than jobs": Feature(lambda i: int(i.capacity.sum()) < len(i.remaining), _scarce),
    "job that waits cheaply": Feature(
        lambda i: bool((i.waiting_cost[:, None] < i.goodput_cost).all(axis=1).any()), _cheap_to_wait
    ),
}
