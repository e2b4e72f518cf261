"""Figures of merit of a run, under the names of the field."""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import FloatArray, IntArray

#: Percentiles that the FitGpp paper reports.
PERCENTILES = (50, 95, 99)


def percentiles(values: FloatArray | IntArray, points: tuple[int, ...] = PERCENTILES) -> dict[str, float] | None:
    """Return `{"p50": ..., ...}` by linear interpolation, or None without values."""
    if not len(values):
        return None
    return {f"p{p}": float(v) for p, v in zip(points, np.percentile(values, points), strict=True)}


def slowdown(wait: IntArray, execution: IntArray) -> FloatArray:
    """Compute 1 + waiting time / execution time (FitGpp, Eq. 5)."""
    return 1 + np.asarray(wait) / np.asarray(execution)


def finish_time_fairness(submit: Array, end: Array, exclusive: Array, gpus: float) -> dict[str, float]:
    """Return the worst finish-time ratio rho and the share of jobs with rho above 1.

    rho of a job is its completion time divided by its time with an equal part of the cluster. The latter is its
    exclusive running time x the contention: the mean number of jobs per GPU during its stay, at least 1 (Shockwave,
    NSDI 2023, Section 2). Rho above 1 is unfair.

    Args:
        submit, end, exclusive: One entry per job, in one unit of time; exclusive above 0.
        gpus: GPUs of the cluster.

    Returns:
        {"worst": ..., "above 1": ...}; empty if there are fewer than two jobs, zero GPUs, or a job that never ran.
    """
    submit, end = np.asarray(submit, dtype=np.float64), np.asarray(end, dtype=np.float64)
    alone, stay = np.asarray(exclusive, dtype=np.float64), end - submit
    if len(stay) < 2 or gpus <= 0 or not ((stay > 0) & (alone > 0)).all():
        return {}
    times = np.concatenate([submit, end])
    order = np.argsort(times, kind="stable")
    there = np.cumsum(np.repeat([1.0, -1.0], len(stay))[order])
    total = np.append(0.0, np.cumsum(there[:-1] * np.diff(times[order])))  # job-time up to each event
    up_to = np.empty(len(times))
    up_to[order] = total
    contention = np.maximum((up_to[len(stay) :] - up_to[: len(stay)]) / stay / gpus, 1.0)
    rho = stay / (alone * contention)
    return {"worst": float(rho.max()), "above 1": float((rho > 1 + 1e-9).mean())}
