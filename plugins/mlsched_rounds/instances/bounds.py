"""Bounds from the statement of the rounds problem without a search: every job in its best configuration."""

from __future__ import annotations

import functools

import numpy as np

from mlsched_rounds.instances import judge
from mlsched_rounds.instances.instance import Instance, Plan


def _unlimited_value(objective: str, instance: Instance) -> int:
    """Return the value for an unlimited number of GPUs."""
    jobs = range(len(instance.remaining))
    if objective == "goodput_cost":
        best = np.where(instance.rate > 0, instance.goodput_cost, instance.waiting_cost[:, None])
        return int(np.minimum(best.min(axis=1, initial=2**60), instance.waiting_cost).sum())
    most = [max(range(-1, len(instance.config_type)), key=lambda c: judge.steps(instance, j, c)) for j in jobs]
    return judge.evaluate(instance, Plan(config=np.array(most, dtype=np.int64)))[objective]


TRIVIAL_BOUNDS = {o.name: functools.partial(_unlimited_value, o.name) for o in Instance.objectives}
