"""FIFO: jobs in order of arrival; the first job has all it can use, then the second, and so on.

Hadoop's FIFO also knows five priorities and starts a map task where its input lies; here arrival alone counts, and
nodes are chosen as by all list rules (`_place.Placer`).
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._measures import by_job
from mlsched.heuristics.taskgraph._place import Placer
from mlsched.instances.taskgraph import Round, Snapshot


@answerer("fifo", problem="taskgraph", asks="decision", warm_start=True, paper="none")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, strict: bool = False, stop: str = "most") -> Round:
    """Start ready tasks in order of their jobs' arrival.

    strict: a task without room blocks all behind it; otherwise later ones may pass, as in Hadoop's and Spark's FIFO.
    stop: when jobs that may stop early do: "most", "least" iterations, or with the "required" accuracy.
    """
    placer = Placer(snapshot, stop)
    placer.start_in_order(by_job(snapshot), strict=strict)
    return placer.round()
