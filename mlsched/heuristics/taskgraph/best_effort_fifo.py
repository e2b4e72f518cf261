"""Best-effort FIFO: jobs in order of arrival, and later ones may pass what does not fit (Kueue's name for it).

It is `fifo` with `strict=false`.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import fifo
from mlsched.instances.taskgraph import Round, Snapshot


@solver("best-effort-fifo", problem="taskgraph", called="online", warm_start=True, paper="Kueue: BestEffortFIFO")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, stop: str = "most", nodes: str = "auto") -> Round:
    """Start ready tasks in order of their jobs' arrival; those behind may pass what finds no room.

    stop, nodes: as for fifo.
    """
    found: Round = fifo.answer(snapshot, rng=rng, strict=False, stop=stop, nodes=nodes)
    return found
