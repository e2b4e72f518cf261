"""Further features if every iteration queues again (`queueing=iteration`): ranks of running and waiting jobs.

The state has all of them (MLFS, Section 3.4); a row has a summary by two orders. These are Eq. 6's priority, and the
estimated remaining time, with the price of a pause counted as in `srpt` with `preempt`. Each gives the demand of the
jobs ahead as a share of the cluster, and whether the job is within the cluster's capacity in that order, without regard
to nodes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import FloatArray, IntArray
from mlsched.heuristics.taskgraph.measures import by_class, per_job, remaining_time, shares
from mlsched.heuristics.taskgraph.preemption import prices_of_pauses, within_capacity
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: Columns of all jobs: `gave way` is the share of preempted jobs that have not returned, `waits` a logarithm.
OF_ALL = ("gave way, of the cluster", "waits, of the cluster")
#: Columns of the choice's job; the demand ahead includes half of its own, at most 1.
OF_JOB = (
    "would go on",
    "a pause, of what is left",
    "ahead by Eq. 6, of the cluster",
    "within the cluster by Eq. 6",
    "ahead by what is left, of the cluster",
    "within the cluster by what is left",
)
#: All columns, after the mark of a preemption choice.
OF_COMPETITION = ("give way", *OF_ALL, *OF_JOB)
#: Waiting jobs of this many clusters, plus 1, as a power of two, count as 1.
MOST_WAITING = 6


class Standing:
    """Ranks of the jobs of a snapshot among each other.

    Attributes:
        priority: Eq. 6 of each task.
        share: Demand of each job as a share of the cluster.
        waits: Second column of OF_ALL.
        of_jobs: Features, shape (jobs, OF_JOB).
    """

    def __init__(self, snapshot: Snapshot, stop_after: IntArray, priority: FloatArray) -> None:
        self.share = per_job(snapshot, shares(snapshot))
        runs = per_job(snapshot, snapshot.state == RUNNING) > 0
        self.waits = float(np.log2(1 + self.share[~runs].sum())) / MOST_WAITING
        highest = np.full(len(runs), -np.inf)
        np.maximum.at(highest, snapshot.task_job, priority)
        ticks_left = remaining_time(snapshot, stop_after)
        columns: list[npt.NDArray[np.generic]] = [
            (snapshot.first_start >= 0) & ~runs,
            snapshot.pause_cost / np.maximum(snapshot.pause_cost + ticks_left, 1),
        ]
        whole = np.zeros((len(runs), len(snapshot.resources)), dtype=np.int64)
        np.add.at(whole, snapshot.task_job, snapshot.demand)
        for key in (-highest, ticks_left + prices_of_pauses(snapshot)):
            order = np.lexsort((snapshot.job_id, snapshot.arrival, ~runs, key, *by_class(snapshot)))
            ahead, within = np.empty(len(order)), np.empty(len(order), dtype=np.bool_)
            ahead[order] = np.cumsum(self.share[order]) - self.share[order]
            within[order] = within_capacity(whole[order], snapshot.node_capacity.sum(axis=0))
            columns += [np.minimum(ahead / 2, 1), within]
        self.of_jobs = np.stack(columns, axis=1).astype(np.float32)
