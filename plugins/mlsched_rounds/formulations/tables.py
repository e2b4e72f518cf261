"""What each job is worth, by configuration and waiting, for every objective; the rules are numbered in the judge.

All numbers are Python integers: the products of rules 7 and 8 pass 2^63.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched_rounds.instances import Instance


@dataclasses.dataclass(frozen=True)
class Table:
    """running: jobs x configurations; waiting: jobs. worst: whether the worst of the jobs that can run counts, and not
    the sum of all. sign: -1 where larger is better. base: added to the worst; nobody: the value without jobs that can
    run."""

    running: list[list[int]]
    waiting: list[int]
    worst: bool = False
    sign: int = 1
    base: int = 0
    nobody: int = 0


def steps(instance: Instance) -> Any:
    """Rule 4 for every job and configuration, as an array of Python integers."""
    configs = np.arange(len(instance.config_type))
    time = np.where(configs == instance.current[:, None], instance.length, max(0, instance.length - instance.pause))
    done = instance.rate.astype(object) * time.astype(object) // 10**6
    return np.minimum(done, instance.remaining.astype(object)[:, None]) if done.size else done


def _goodput(instance: Instance) -> Table:
    return Table(instance.goodput_cost.tolist(), instance.waiting_cost.tolist())


def _steps(instance: Instance) -> Table:
    return Table(steps(instance).tolist(), [0] * len(instance.remaining), sign=-1)


def _by_steps(instance: Instance, value: Callable[[Any], Any], **settings: Any) -> Table:
    """A table of what is worth so much after so many steps; `value` takes jobs x anything."""
    none = np.zeros((len(instance.remaining), 1), dtype=object)
    return Table(value(steps(instance)).tolist(), value(none)[:, 0].tolist(), worst=True, **settings)


def _column(values: Any) -> Any:
    return values.astype(object)[:, None]


def _served(instance: Instance) -> Table:
    share = _column(instance.weight) * _column(instance.usual) * (_column(instance.age) + instance.length)
    return _by_steps(instance, lambda did: 10**12 * (_column(instance.done) + did) // share, sign=-1)


def _ratio(instance: Instance) -> Table:
    fair, remaining = _column(instance.fair), _column(instance.remaining)
    old = fair * (_column(instance.age) + instance.length)
    ought = fair * _column(instance.isolated) + 10**6 * remaining
    return _by_steps(instance, lambda did: -(-1000 * (old + 10**6 * (remaining - did)) // ought))


def _end(instance: Instance) -> Table:
    fastest = np.maximum(instance.rate.max(axis=1, initial=0), 1)
    remaining = _column(instance.remaining)
    return _by_steps(instance, lambda did: -(-(10**6) * (remaining - did) // _column(fastest)), base=instance.length)


#: Objective -> what makes its table.
OBJECTIVES: dict[str, Callable[[Instance], Table]] = {
    "goodput_cost": _goodput,
    "total_steps": _steps,
    "least_served": _served,
    "worst_ratio": _ratio,
    "last_end": _end,
}
