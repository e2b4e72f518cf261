"""Features of quality instances that rules of the judge distinguish (`Problem.features`)."""

from __future__ import annotations

import numpy as np

from mlsched.core.contract import Feature
from mlsched.instances.quality.instance import Instance

Rng = np.random.Generator
JOBS = ("gain", "loss", "weight", "most", "waiting")


def _random_running_job(instance: Instance, rng: Rng) -> int:
    """Draw a running job."""
    return int(rng.choice(instance.running)) if len(instance.running) else 0


def _with_entry(instance: Instance, name: str, at: object, value: object) -> Instance:
    changed = getattr(instance, name).copy()
    changed[at] = value
    return instance.replace(**{name: changed})


def _four_jobs(instance: Instance, rng: Rng) -> Instance:
    """Add copies of jobs, with cores for each."""
    copies = rng.integers(len(instance.most), size=max(0, 4 - len(instance.most)))
    fields = {name: np.concatenate([getattr(instance, name), getattr(instance, name)[copies]]) for name in JOBS}
    return instance.replace(**fields, cores=instance.cores + instance.least * len(copies))


def _waiting_job(instance: Instance, rng: Rng) -> Instance:
    return _with_entry(instance, "waiting", _random_running_job(instance, rng), 1)


def _reserved(instance: Instance, rng: Rng) -> Instance:
    more = int(rng.integers(1, 3))
    return instance.replace(cores=instance.cores + more, reserved=instance.reserved + more)


def _larger_minimum(instance: Instance, rng: Rng) -> Instance:
    """Raise every job's minimum by one core; caps grow with it up to the width of the tables."""
    least = instance.least + 1
    most = np.minimum(np.maximum(instance.most, least), instance.gain.shape[1] - 1)
    return instance.replace(least=least, most=most, cores=instance.cores + len(instance.running))


def _no_choice(instance: Instance, rng: Rng) -> Instance:
    return _with_entry(instance, "most", _random_running_job(instance, rng), instance.least)


def _weighted(instance: Instance, rng: Rng) -> Instance:
    return _with_entry(instance, "weight", _random_running_job(instance, rng), int(rng.integers(2, 6)))


def _weightless(instance: Instance, rng: Rng) -> Instance:
    return _with_entry(instance, "weight", _random_running_job(instance, rng), 0)


def _gains_nothing(instance: Instance, rng: Rng) -> Instance:
    return _with_entry(instance, "gain", _random_running_job(instance, rng), 0)


def _late_gain(instance: Instance, rng: Rng) -> Instance:
    """Let a job gain only with its last core."""
    job = _random_running_job(instance, rng)
    gain = np.zeros(instance.gain.shape[1], dtype=np.int64)
    gain[int(instance.most[job]) :] = max(1000, int(instance.gain[job].max()))
    return _with_entry(instance, "gain", job, gain)


def _too_few_cores(instance: Instance, rng: Rng) -> Instance:
    cores = int(instance.most[instance.running].sum()) - 1
    return instance.replace(cores=max(cores, instance.least * len(instance.running)) + instance.reserved)


def _beyond_the_cap(instance: Instance, rng: Rng) -> Instance:
    """Extend the tables beyond the caps."""
    gain, loss = (np.hstack([table, table[:, -1:]]) for table in (instance.gain, instance.loss))
    gain[:, -1] += 1000
    return instance.replace(gain=gain, loss=loss)


def _equal_jobs(instance: Instance, rng: Rng) -> Instance:
    job = _random_running_job(instance, rng)
    fields = {n: np.concatenate([getattr(instance, n), getattr(instance, n)[job : job + 1]]) for n in JOBS}
    return instance.replace(**fields, cores=instance.cores + instance.least)


def _has_late_gain(instance: Instance) -> bool:
    """Check for a later core that gains more than an earlier one, up to the cap."""
    return any((np.diff(g[: m + 1], 2) > 0).any() for g, m in zip(instance.gain, instance.most.tolist(), strict=True))


def _has_equal_jobs(instance: Instance) -> bool:
    rows = np.column_stack([instance.gain, instance.loss, instance.weight, instance.most, instance.waiting])
    return len(np.unique(rows, axis=0)) < len(rows)


FEATURES = {
    "four jobs": Feature(lambda i: len(i.most) >= 4, _four_jobs),
    "waiting job": Feature(lambda i: bool(i.waiting.any()), _waiting_job),
    "reserved cores": Feature(lambda i: i.reserved > 0, _reserved),
    "least above one": Feature(lambda i: i.least >= 2, _larger_minimum),
    "job without a choice": Feature(lambda i: bool((i.most[i.running] == i.least).any()), _no_choice),
    "important job": Feature(lambda i: bool((i.weight > 1).any()), _weighted),
    "job without weight": Feature(lambda i: bool((i.weight == 0).any()), _weightless),
    "job that gains nothing": Feature(
        lambda i: bool((i.gain[np.arange(len(i.most)), i.most] == 0).any()), _gains_nothing
    ),
    "job that gains late": Feature(_has_late_gain, _late_gain),
    "scarce cores": Feature(lambda i: int(i.most[i.running].sum()) > i.available, _too_few_cores),
    "table beyond the cap": Feature(lambda i: bool((i.most < i.gain.shape[1] - 1).any()), _beyond_the_cap),
    "equal jobs": Feature(_has_equal_jobs, _equal_jobs),
}
