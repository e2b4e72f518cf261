"""Fair: equal, work-conserving shares, counted in running tasks as the fair schedulers of Hadoop and Spark do.

With `per = user` every user is a pool, as in Hadoop's default, and of a pool the earliest job is served; by default
every job is one. Theirs have more: pools with weights and minimum shares, fair shares between the jobs of a pool, a
wait for a node that holds the data (delay scheduling), and in Hadoop's case the killing of tasks of jobs above their
share. Here all pools weigh 1, and what runs is not interrupted. A gang starts whole.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._measures import owners
from mlsched.heuristics.taskgraph._place import Placer
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING


@answerer("fair", problem="taskgraph", asks="decision", paper="none")
def answer(
    snapshot: Snapshot, *, rng: np.random.Generator, per: str = "job", stop: str = "most", nodes: str = "auto"
) -> Round:
    """Again and again start a ready task of the job with the fewest running tasks.

    per: "job" - its own tasks; "user" - those of all jobs of its user. stop, nodes: as for fifo.
    """
    owner = owners(snapshot, per)
    running = np.bincount(owner[snapshot.task_job[snapshot.state == RUNNING]], minlength=len(owner)).astype(np.float64)

    def taken(task: int) -> None:
        running[owner[snapshot.task_job[task]]] += 1

    placer = Placer(snapshot, stop, nodes)
    placer.start_by_share(lambda jobs: running[owner[jobs]], taken)
    return placer.round()
