"""Helpers for user rules that are an order of jobs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.heuristics.taskgraph.measures import by_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import refuse_unless_pausing, serve
from mlsched.instances.taskgraph import Round, Snapshot


@validate_arguments
def start_in_order(snapshot: Snapshot, key: Any, *, strict: bool = False) -> Round:
    """Start the waiting jobs that fit, in increasing order of `key`; ties go to the earlier arrival.

    A gang starts completely or not at all. Nodes are chosen as in the built-in list rules.

    Args:
        snapshot: the jobs and nodes at the decision.
        key: a number for each job of the snapshot, (jobs,).
        strict: stop at the first job that does not fit; otherwise later tasks may pass.

    Returns:
        The round that starts these jobs.

    Examples:
        >>> import numpy
        >>> def few_tasks_first(snapshot, *, rng):
        ...     return mlsched.start_in_order(snapshot, numpy.bincount(snapshot.task_job))
        >>> few_tasks_first.called = "online"
    """
    order = _order(snapshot, key)
    placer = Placer(snapshot)
    placer.start_in_order(by_job(snapshot, order), strict=strict)
    return placer.round()


@validate_arguments
def pause_in_order(snapshot: Snapshot, key: FloatArray) -> Round:
    """Return a round that serves jobs of the smallest key first, and pauses running jobs behind them.

    A running job pauses only if a job with a smaller key takes its place. Of equal keys, running jobs come first, then
    the earlier arrival. It needs a world in which jobs may pause (`options={"pausing": "keep"}`).

    Args:
        snapshot: the jobs and nodes at the decision.
        key: a number for each job of the snapshot.

    Raises:
        InvalidInput: the key has another shape, or jobs may not pause.

    Examples:
        >>> import numpy
        >>> def few_tasks_first(snapshot, *, rng):
        ...     return mlsched.pause_in_order(snapshot, numpy.bincount(snapshot.task_job))
        >>> few_tasks_first.called = "online"
    """
    order = _order(snapshot, key)
    refuse_unless_pausing(snapshot, "pause_in_order", "call start_in_order")
    placer = Placer(snapshot)
    return placer.round(serve(placer, order))


def _order(snapshot: Snapshot, key: Any) -> FloatArray:
    """Return the keys of the jobs, or raise InvalidInput."""
    order: FloatArray = np.asarray(key, dtype=np.float64)
    if order.shape != snapshot.arrival.shape or np.isnan(order).any():
        raise InvalidInput(f"key: has shape {order.shape}, expected a number for each of {len(snapshot.arrival)} jobs")
    return order
