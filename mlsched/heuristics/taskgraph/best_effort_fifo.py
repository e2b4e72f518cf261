"""Best-effort FIFO: jobs in order of arrival, and later jobs may pass a job that does not fit (Kueue's name for it).

It is `fifo` with `strict=false`.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import _order, fifo
from mlsched.heuristics.taskgraph._order import Order
from mlsched.instances.taskgraph import Round, Snapshot


def order(*, stop: str = "most", nodes: str = "auto") -> Order:
    """Return the order of arrival, in which later jobs may pass."""
    return fifo.order(strict=False, stop=stop, nodes=nodes)


@solver(
    "best-effort-fifo",
    problem="taskgraph",
    called="online",
    order=order,
    warm_start=True,
    paper="Kueue: BestEffortFIFO",
)
def answer(snapshot: Snapshot, *, rng: np.random.Generator, stop: str = "most", nodes: str = "auto") -> Round:
    """Start ready tasks in order of their jobs' arrival; later tasks may pass a task without room.

    stop, nodes: as for fifo.
    """
    return _order.answer(snapshot, order(stop=stop, nodes=nodes))
