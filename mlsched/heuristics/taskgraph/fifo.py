"""FIFO: jobs in order of arrival; what finds no room holds up all behind it.

With `strict=false`, later jobs may pass what does not fit: so do Hadoop's and Spark's FIFO, which serve the first job
with all it can use, then the second. Kueue calls the two StrictFIFO and BestEffortFIFO; here the second is also named
`best-effort-fifo`. Hadoop's knows five priorities and starts a map task where its input lies; here arrival alone
counts, and nodes are chosen as by all list rules (`_place`).
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

    strict: a task without room blocks all behind it; otherwise later ones may pass. stop: when jobs that may stop early
    do: "most", "least" iterations, or with the "required" accuracy. nodes: where a task goes that has no neighbours
    (tasks it exchanges data with): "best-fit" - the fullest node with room; "least-work" - the one with the least work
    bound to it; "auto" - the second where tasks come back to the node where they first ran, after each run (simulator =
    "tasks") or after a pause (unless movement = "anytime"), otherwise the first.
    """
    return _order.answer(snapshot, order(strict=strict, stop=stop, nodes=nodes))
