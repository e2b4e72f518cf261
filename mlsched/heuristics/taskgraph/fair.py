"""Fair: equal, work-conserving shares, counted in running tasks as the fair schedulers of Hadoop and Spark do.

Theirs have more: pools with weights and minimum shares, a wait for a node that holds the data (delay scheduling), and
in Hadoop's case the killing of tasks of jobs above their share. Here every job is a pool of weight 1, and what runs is
not interrupted.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._place import Placer, per_job
from mlsched.instances.taskgraph import Round, Snapshot


@answerer("fair", problem="taskgraph", asks="decision", paper="none")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, stop: str = "most") -> Round:
    """Again and again start a ready task of the job with the fewest running tasks.

    stop: as for fifo.
    """
    running = per_job(snapshot, snapshot.state == 1)

    def taken(task: int) -> None:
        running[snapshot.task_job[task]] += 1

    placer = Placer(snapshot, stop)
    placer.start_by_share(lambda jobs: running[jobs], taken)
    return placer.round()
