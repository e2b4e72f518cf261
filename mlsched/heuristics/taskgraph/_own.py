"""What a rule of one's own needs least: an order of the jobs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.arguments import checked
from mlsched.core.errors import InvalidInput
from mlsched.heuristics.taskgraph.measures import by_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Round, Snapshot


@checked
def start_in_order(snapshot: Snapshot, key: Any, *, strict: bool = False) -> Round:
    """A round that starts what may start, jobs of the smallest key first, jobs of equal key in order of arrival.

    A gang starts as a whole or not at all. Nodes are chosen as by all built-in list rules.

    Args:
        snapshot: what is asked now.
        key: a number for each job of the snapshot.
        strict: what finds no room holds up all behind it; otherwise later tasks may pass.

    Examples:
        >>> def few_tasks_first(snapshot, *, rng):
        ...     return mlsched.start_in_order(snapshot, snapshot.tasks_per_job)
        >>> few_tasks_first.called = "online"
    """
    order = np.asarray(key, dtype=np.float64)
    if order.shape != snapshot.arrival.shape or np.isnan(order).any():
        raise InvalidInput(f"key: has shape {order.shape}: must be a number for each of {len(snapshot.arrival)} jobs")
    placer = Placer(snapshot)
    placer.start_in_order(by_job(snapshot, order), strict=strict)
    return placer.round()
