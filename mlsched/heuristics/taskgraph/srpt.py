"""Shortest remaining processing time: the job with the least estimated work left comes first.

SRPT is defined for one machine, where it may interrupt at any time and is optimal (Schrage, 1968). Here jobs are graphs
on many nodes: what is left is estimated work or the longest chain, runs are not interrupted, and what does not fit is
passed by. None of the optimality carries over.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.params import one_of
from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._place import Placer, by_job, per_job, remaining_ticks, shares, tails
from mlsched.instances.taskgraph import Round, Snapshot


@answerer("srpt", problem="taskgraph", asks="decision", warm_start=True, objectives=("total_jct",), paper="none")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, size: str = "work", stop: str = "most") -> Round:
    """Start ready tasks in order of what is left of their jobs, by the estimates: a started run is never interrupted.

    size: "work" - ticks x dominant share of the cluster, over all runs left; "time" - ticks of the runs left on the
    longest chain of the graph. stop: as for fifo.
    """
    one_of("size", size, ("work", "time"))
    placer = Placer(snapshot, stop)
    left = remaining_ticks(snapshot, placer.stop_after)
    if size == "work":
        remaining = per_job(snapshot, left * shares(snapshot))
    else:
        longest = np.zeros(len(snapshot.arrival), dtype=np.int64)
        np.maximum.at(longest, snapshot.task_job, tails(snapshot))
        remaining = ((placer.stop_after - snapshot.finished) * longest).astype(np.float64)
    placer.start_in_order(by_job(snapshot, remaining))
    return placer.round()
