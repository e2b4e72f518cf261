"""Contribution of each job to every objective, by configuration and waiting; the rules are numbered in the judge.

All numbers are Python integers: the products of rules 7 and 8 exceed 2^63.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_rounds.instances import Instance


@dataclasses.dataclass(frozen=True)
class Table:
    """Contributions of the jobs to one objective.

    Attributes:
        running: Contribution in each configuration, shape (jobs, configurations).
        waiting: Contribution of a waiting job, shape (jobs,).
        worst: True if the worst of the jobs that can run decides, False for the sum of all.
        sign: -1 if larger is better.
        base: Constant added to the worst.
        nobody: Value if all jobs are unable to run.
    """

    running: list[list[int]]
    waiting: list[int]
    worst: bool = False
    sign: int = 1
    base: int = 0
    nobody: int = 0


def steps(instance: Instance) -> Any:
    """Return the steps of rule 4 for every job and configuration, as an array of Python integers."""
    configs = np.arange(len(instance.config_type))
    time = np.where(configs == instance.current[:, None], instance.length, max(0, instance.length - instance.pause))
    progress = instance.rate.astype(object) * time.astype(object) // 10**6
    return np.minimum(progress, instance.remaining.astype(object)[:, None]) if progress.size else progress


def _goodput_table(instance: Instance) -> Table:
    return Table(instance.goodput_cost.tolist(), instance.waiting_cost.tolist())


def _steps_table(instance: Instance) -> Table:
    return Table(steps(instance).tolist(), [0] * len(instance.remaining), sign=-1)


def _table_by_steps(instance: Instance, value: Callable[[Any], Any], **settings: Any) -> Table:
    """Return the table of an objective that depends on the steps; `value` takes an array of shape (jobs, anything)."""
    none = np.zeros((len(instance.remaining), 1), dtype=object)
    return Table(value(steps(instance)).tolist(), value(none)[:, 0].tolist(), worst=True, **settings)


def _as_column(values: IntArray) -> Any:
    return values.astype(object)[:, None]


def _served_table(instance: Instance) -> Table:
    share = _as_column(instance.weight) * _as_column(instance.usual) * (_as_column(instance.age) + instance.length)
    return _table_by_steps(instance, lambda did: 10**12 * (_as_column(instance.done) + did) // share, sign=-1)


def _ratio_table(instance: Instance) -> Table:
    fair, remaining = _as_column(instance.fair), _as_column(instance.remaining)
    old = fair * (_as_column(instance.age) + instance.length)
    ought = fair * _as_column(instance.isolated) + 10**6 * remaining
    return _table_by_steps(instance, lambda did: -(-1000 * (old + 10**6 * (remaining - did)) // ought))


def _end_table(instance: Instance) -> Table:
    fastest = np.maximum(instance.rate.max(axis=1, initial=0), 1)
    remaining = _as_column(instance.remaining)
    return _table_by_steps(
        instance, lambda did: -(-(10**6) * (remaining - did) // _as_column(fastest)), base=instance.length
    )


#: Objective -> function that makes its table.
OBJECTIVES: dict[str, Callable[[Instance], Table]] = {
    "goodput_cost": _goodput_table,
    "total_steps": _steps_table,
    "least_served": _served_table,
    "worst_ratio": _ratio_table,
    "last_end": _end_table,
}
