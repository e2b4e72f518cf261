"""Least Interference First: a regression of slowdown on the CPU and network use of others (TRACON; Harmony VI-B).

Profiling: each type is run beside random sets of tasks of random types on one server; the slowdown is measured (here:
the instance's own interference, without its network terms) and the others' use of CPU and network recorded. Least
squares then gives one model a type. A rule never sees the instance's tables otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.heuristics.placement._room import PS, WORKER, Room
from mlsched.instances.placement import Instance

Features = Callable[[Any], Any]


def linear(use: Any) -> Any:
    """Regressors of LIF-Line: the uses."""
    return use


def quadratic(use: Any) -> Any:
    """Regressors of LIF-Quad: the uses, their squares and products."""
    count = use.shape[-1]
    products = [use[..., d] * use[..., e] for d in range(count) for e in range(d, count)]
    return np.concatenate([use, np.stack(products, axis=-1)], axis=-1) if products else use


def profile(
    instance: Instance, rng: np.random.Generator, samples: int, noise: float, most_tasks: int = 6
) -> tuple[Any, Any]:
    """(use by others, slowdown - 1) of `samples` co-locations a type: types x samples (x pressures)."""
    types = len(instance.types)
    counts = np.zeros((2, types, samples, types), dtype=np.int64)
    for t in range(types):
        for k in range(samples):
            for _ in range(int(rng.integers(0, most_tasks + 1))):
                counts[int(rng.integers(2)), t, k, int(rng.integers(types))] += 1
    use = (counts[WORKER] @ instance.use_worker + counts[PS] @ instance.use_ps) / 1000
    extra = np.einsum("tkj,tj->tk", counts[WORKER], instance.sigma_worker).astype(np.float64)
    extra += np.einsum("tkj,tj->tk", counts[PS], instance.sigma_ps)
    extra += np.einsum("tkd,td->tk", use, instance.linear)
    extra += np.einsum("tkd,tke,tde->tk", use, use, instance.quadratic)
    measured = extra / 1e6 * (1 + noise * rng.standard_normal(extra.shape))
    return use, measured


def fit(instance: Instance, rng: np.random.Generator, features: Features, samples: int, noise: float) -> list[Any]:
    """Coefficients of each type's model of slowdown - 1, by least squares."""
    use, measured = profile(instance, rng, samples, noise)
    return [np.linalg.lstsq(features(use[t]), measured[t], rcond=None)[0] for t in range(len(instance.types))]


def least_interference(
    instance: Instance, features: Features, models: list[Any]
) -> Callable[[Room, int, int, IntArray], int]:
    """LIF's choice: the server whose tasks, the new one among them, slow down least in sum by the fitted models."""
    kinds = np.concatenate([instance.run_type, instance.job_type])

    def choose(room: Room, job: int, kind: int, able: IntArray) -> int:
        here = np.concatenate([room.running[:, :, able], room.tasks[:, :, able]], axis=1)  # kind x job x server
        here[kind, len(instance.run_type) + job] += 1
        use_of = here[WORKER][:, :, None] * instance.use_worker[kinds][:, None] / 1000
        use_of = use_of + here[PS][:, :, None] * instance.use_ps[kinds][:, None] / 1000  # job x server x pressure
        others = use_of.sum(axis=0)[None] - use_of
        tasks = here.sum(axis=0)
        score = np.zeros(len(able))
        for j in np.flatnonzero(tasks.any(axis=1)).tolist():
            score += tasks[j] * (1 + np.maximum(features(others[j]) @ models[int(kinds[j])], 0)) * (tasks[j] > 0)
        return int(able[np.argmin(score)])

    return choose
