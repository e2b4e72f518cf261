"""FIFO: jobs in order of arrival; a job without room blocks all later jobs.

With `strict=false`, later jobs may pass a job that does not fit. Hadoop's and Spark's FIFO do this: they serve the
first job with all it can use, then the second. Kueue calls the two StrictFIFO and BestEffortFIFO; here the second is
also named `best-effort-fifo`. Hadoop's FIFO has five priorities and starts a map task near its input. Here only
arrival counts, and nodes are chosen as in all list rules (`_place`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import _order
from mlsched.heuristics.taskgraph._order import Order
from mlsched.instances.taskgraph import Round, Snapshot


def order(*, strict: bool = True, stop: str = "most", nodes: str = "auto") -> Order:
    """Return the order of arrival."""
    return Order(lambda job: (), strict=strict, stop=stop, nodes=nodes)


@solver("fifo", problem="taskgraph", called="online", order=order, paper="none")
def answer(
    snapshot: Snapshot, *, rng: np.random.Generator, strict: bool = True, stop: str = "most", nodes: str = "auto"
) -> Round:
    """Start ready tasks in order of their jobs' arrival.

    strict: a task without room blocks all later tasks; otherwise later tasks may pass. stop: when jobs that may stop
    early do: "most", "least" iterations, or with the "required" accuracy. nodes: node of a task without neighbours
    (tasks it exchanges data with): "best-fit" - the fullest node with room; "least-work" - the node with the least
    work bound to it; "auto" - the second if tasks come back to the node where they first ran, after each run
    (simulator = "tasks") or after a pause (unless movement = "anytime"), otherwise the first; "balance" - the second,
    also for tasks with neighbours.
    """
    return _order.answer(snapshot, order(strict=strict, stop=stop, nodes=nodes))
